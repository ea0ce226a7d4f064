"""The final table of a run."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import threading
import unicodedata
from pathlib import Path
from typing import cast, get_args

import pytest

from adjudge.judges.failure import Cause
from adjudge.pipeline.aggregate import results_by_grader
from adjudge.pipeline.grade import CountsRow, ResultRow, SummaryRow
from adjudge.pipeline.reports.run import NEXT_STEPS, RESUMABLE, print_run, run_text

HERE = Path(__file__).parents[1]
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def stored(name: str) -> list[ResultRow]:
    return [json.loads(line) for line in (HERE / "data/reports" / name).read_text().split("\n") if line]


def summary(name: str = "summary.json") -> SummaryRow:
    return json.loads((HERE / "data/reports" / name).read_text())


def text_of(changed: SummaryRow) -> str:
    return run_text(changed, results_by_grader(stored("results.jsonl")))


def drawn(changed: SummaryRow, rows: str) -> str:
    """What a terminal is sent."""
    master, slave = os.openpty()
    sent: list[bytes] = []
    reader = threading.Thread(target=_read_all, args=(master, sent))
    reader.start()
    with open(slave, "w", encoding="utf-8") as terminal:  # noqa: PTH123 - a descriptor has no path
        print_run(changed, results_by_grader(stored(rows)), terminal)
    reader.join()
    os.close(master)
    return b"".join(sent).decode().replace("\r\n", "\n")


def _read_all(descriptor: int, into: list[bytes]) -> None:
    """Read until the other end is closed, which Linux reports as an error."""
    while True:
        try:
            data = os.read(descriptor, 1 << 16)
        except OSError:
            return
        if not data:
            return
        into.append(data)


def test_every_number_stands_beside_its_denominator() -> None:
    assert text_of(summary()) == (HERE / "golden/reports/run.txt").read_text()


def test_a_file_gets_plain_text() -> None:
    stream = io.StringIO()
    print_run(summary(), results_by_grader(stored("results.jsonl")), stream)

    assert stream.getvalue() == text_of(summary())


def test_a_terminal_gets_the_same_text_in_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)

    sent = drawn(summary(), "results.jsonl")

    lines = [line.rstrip() for line in COLOUR.sub("", sent).split("\n")]
    assert lines == text_of(summary()).split("\n")
    assert "\x1b[1;35m2 errored\x1b[0m" in sent


def test_a_terminal_gets_no_command_from_a_conversation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")

    shown = COLOUR.sub("", drawn(summary("hostile-summary.json"), "hostile.jsonl"))

    assert not [c for c in shown if c != "\n" and unicodedata.category(c) in {"Cc", "Cf", "Zl", "Zp"}]


def test_unknown_cost_is_unknown_and_not_0() -> None:
    changed = summary()
    changed["cost_usd"], changed["cost_unknown_calls"] = 0.0, 1

    assert "Cost          cost unknown for 1 call\n" in text_of(changed)


def test_unknown_tokens_are_unknown_and_not_0() -> None:
    changed = summary()
    changed["usage"] = {"input_tokens": None, "output_tokens": None, "cached_input_tokens": None}
    changed["usage_unknown_calls"] = 15

    assert "Tokens        tokens unknown for 15 calls\n" in text_of(changed)


def test_a_run_with_every_score_shows_no_bounds() -> None:
    changed = summary()
    tone = changed["graders"]["tone"]
    changed["graders"], changed["combined_score"] = {"tone": tone}, tone

    assert " to " not in text_of(changed).split("\n\n")[1]


def test_there_is_something_to_do_about_every_cause() -> None:
    assert set(NEXT_STEPS) == set(get_args(Cause))
    assert all(NEXT_STEPS.values())


def next_steps(counts: dict[str, int], causes: dict[str, int]) -> str:
    """What a run says to do next that has these counts and errors, and nothing else to mend."""
    changed = summary()
    nothing = {"missing": 0, "ungradable": 0, "not_gradable": 0, "unreadable": 0, "evidence_incomplete": 0}
    changed["counts"] = cast("CountsRow", {**changed["counts"], **nothing, **counts})
    changed["errors_by_cause"] = causes
    return text_of(changed).partition("\nNext ")[2].strip()


@pytest.mark.parametrize("cause", ["rate_limited", "auth", "canceled", "not_cached", "malformed_output"])
def test_resume_is_offered_where_it_may_help(cause: str) -> None:
    assert next_steps({}, {cause: 2}) == f"adjudge resume {summary()['run_id']}"


@pytest.mark.parametrize("cause", ["verifier_error", "undetermined", "input_too_long", "bad_request"])
def test_resume_is_not_offered_where_only_a_new_run_helps(cause: str) -> None:
    assert next_steps({}, {cause: 2}) == ""


def test_every_cause_that_speaks_of_resuming_is_resumable_and_no_other() -> None:
    assert {cause for cause, step in NEXT_STEPS.items() if "resume" in step} == RESUMABLE


def test_grades_that_were_not_begun_can_be_resumed_and_those_of_no_conversation_can_not() -> None:
    assert next_steps({"missing": 3, "ungradable": 1}, {}).startswith("adjudge resume")
    said = next_steps({"missing": 1, "ungradable": 1, "not_gradable": 1}, {})
    assert said == "a new run, with the failed or canceled conversations recorded again or taken out"


def test_an_unreadable_record_is_to_be_mended_and_not_resumed() -> None:
    said = next_steps({"unreadable": 1}, {})

    assert said == "mend the unreadable records (`adjudge conversations FILE` names them), then a new run"


def test_a_cap_that_was_reached_is_to_be_raised_by_resume() -> None:
    said = next_steps({}, {"budget_exhausted": 2})

    assert said.startswith(f"adjudge resume {summary()['run_id']} --max-calls N  (more than the 15 made")


def test_plain_text_needs_no_rich() -> None:
    program = (
        "import io, sys\n"
        "from adjudge.pipeline.reports import csv, junit, markdown, progress, result, run\n"
        "with progress.Progress(io.StringIO()) as bar: bar.advance(calls=1)\n"
        "sys.exit('rich' in sys.modules)\n"
    )

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
