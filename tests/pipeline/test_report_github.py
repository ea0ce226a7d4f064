"""A run for GitHub Actions: commands that nothing from outside can forge, and a summary that fits."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from adjudge.pipeline.grade import ResultRow, SummaryRow
from adjudge.pipeline.reports.github import commands, step_summary

REPORTS = Path(__file__).parents[1] / "data/reports"
COMMAND = re.compile(r"::([a-z]+) title=([^,:]*)::(.*)\n")


def stored(name: str) -> list[ResultRow]:
    return [json.loads(line) for line in (REPORTS / name).read_text().split("\n") if line]


def summary(name: str = "summary.json") -> SummaryRow:
    return json.loads((REPORTS / name).read_text())


def parsed(line: str) -> tuple[str, str, str]:
    """As GitHub's runner reads a line: command, title, message."""
    found = COMMAND.fullmatch(line)
    assert found is not None, line
    level, *texts = found.groups()
    title, message = (_unescaped(text) for text in texts)
    return level, title, message


def _unescaped(text: str) -> str:
    for code, character in (("%0A", "\n"), ("%0D", "\r"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, character)
    return text


def row(result: str, *, conversation: str = "c", grader: str = "g", gating: bool = True) -> ResultRow:
    error = {"cause": "timeout", "message": "no reply", "retryable": True} if result == "errored" else None
    grade: dict[str, Any] = {"grader": grader, "type": "checks", "gating": gating, "result": result}
    failed = {"label": "pays", "passed": False, "detail": "", "required": False}
    met = None if error else 0
    grade |= {"error": error, "threshold": 1.0, "score": met, "met": met, "total": 1, "checks": [failed]}
    made = {"conversation_id": conversation, "status": "completed", "error": None, "grades": [grade]}
    return cast("ResultRow", made)


def test_failures_and_errors_are_told_apart_and_what_does_not_gate_is_a_warning() -> None:
    rows = [row("failed"), row("errored"), row("failed", gating=False), row("passed")]

    found = [parsed(line) for line in commands(summary(), rows)]

    assert [(level, title) for level, title, _ in found[:-1]] == [
        ("error", "failed: g, c"),
        ("error", "errored: g, c"),
        ("warning", "failed: g, c"),
    ]
    assert "score 0.00, threshold 1; not met:\npays" in found[0][2]
    assert found[1][2] == "timeout: no reply"
    assert found[-1][0] == "notice"
    assert found[-1][1].startswith("policy ")


def test_of_more_than_github_shows_the_last_says_how_many() -> None:
    for count, last in ((10, "failed: g, c9"), (11, "and more"), (500, "and more")):
        rows = [row("failed", conversation=f"c{number}") for number in range(count)]

        errors = [parsed(line) for line in commands(summary(), rows)][:-1]

        assert len(errors) == 10
        assert errors[-1][1] == last
    assert errors[-1][2].startswith("491 more")


@given(st.text(), st.text())
def test_no_text_ends_its_command_or_begins_another(conversation: str, grader: str) -> None:
    line, _ = commands(summary(), [row("failed", conversation=conversation, grader=grader)])

    assert line.count("\n") == 1
    assert parsed(line)[0] == "error"
    assert "\r" not in line


def test_hostile_rows_are_commands_of_ours_alone() -> None:
    for line in commands(summary("hostile-summary.json"), stored("hostile.jsonl")):
        assert parsed(line)[0] in {"error", "warning", "notice"}


def test_a_step_summary_is_markdown_that_renders_as_the_report() -> None:
    text = step_summary(summary(), lambda: stored("results.jsonl"))

    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    assert "<table>" in html
    assert text == (REPORTS.parents[1] / "golden/reports/run.md").read_text()


def test_a_step_summary_too_large_is_cut_between_conversations() -> None:
    whole = step_summary(summary(), lambda: stored("results.jsonl"))
    heads = [place.start() for place in re.finditer("\n## ", whole)]

    cut = step_summary(summary(), lambda: stored("results.jsonl"), limit=heads[1] + 20)

    assert cut.startswith(whole[: heads[1]])
    assert cut.rstrip().endswith("`adjudge show` has all.")
