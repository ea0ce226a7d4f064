"""The Python interface: a mistake is a message, a judge's failure a cause, an unknown cost null."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import adjudge
from adjudge.testing import FaultServer

CONVERSATION: dict[str, Any] = {"id": "c", "messages": [{"role": "assistant", "content": "Done."}]}


class BreakingJudge:
    """A judge of a user's own with a mistake in it."""

    async def judge(self, request: adjudge.JudgeRequest, /) -> adjudge.Answer | adjudge.Failure:
        """Divide by nothing."""
        raise ZeroDivisionError(len(request.statements))


def suite(folder: Path, **judge: str) -> Path:
    """A suite of one statement about one conversation."""
    path = folder / "suite.yaml"
    (folder / "c.jsonl").write_text('{"id":"c","messages":[{"role":"assistant","content":"Done."}]}\n')
    named = "".join(f", {key}: {value!r}" for key, value in judge.items())
    path.write_text(
        "name: s\nconversations: [c.jsonl]\njudges:\n  main: {model: openai/m" + named + "}\n"
        "graders:\n  - {name: g, type: statements, judge: main, statements: [It is done.]}\n"
    )
    return path


def test_a_judge_that_raises_makes_an_errored_grade_and_not_a_score() -> None:
    grade = adjudge.grade(CONVERSATION, statements=["It is done."], judge=BreakingJudge())

    assert (grade["result"], grade["score"]) == ("errored", None)
    assert grade["error"] is not None
    assert grade["error"]["cause"] == "internal"
    assert "ZeroDivisionError" in grade["error"]["message"]


def test_a_run_that_turns_out_unusable_leaves_no_run_behind(tmp_path: Path) -> None:
    with pytest.raises(adjudge.UsageError, match="OPENAI_API_KEY"):
        adjudge.run(suite(tmp_path), out=tmp_path / "out")

    assert list((tmp_path / "out" / "runs").glob("*")) == []


@pytest.mark.parametrize("name", ["conversations", "graders"])
def test_one_text_where_a_list_is_meant_is_refused_by_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(adjudge.UsageError, match=rf"{name} is a list"):
        adjudge.run(suite(tmp_path), out=tmp_path / "out", **{name: "text"})  # pyright: ignore[reportArgumentType]


def test_one_sentence_where_statements_are_meant_is_refused() -> None:
    with pytest.raises(adjudge.UsageError, match="statements is a list"):
        adjudge.grade(CONVERSATION, statements="It is done.", judge=adjudge.ScriptedJudge({}))


def test_a_cost_that_is_unknown_is_null_in_the_summary_and_not_zero(tmp_path: Path) -> None:
    with FaultServer() as server:
        summary = adjudge.run(suite(tmp_path, api_base=server.url), out=tmp_path / "out").summary()

    assert summary is not None
    assert (summary["calls"], summary["cost_usd"], summary["cost_unknown_calls"]) == (1, None, 1)


def test_a_run_without_calls_costs_nothing(tmp_path: Path) -> None:
    with FaultServer() as server:
        path = suite(tmp_path, api_base=server.url)
        adjudge.run(path, out=tmp_path / "out")
        summary = adjudge.run(path, out=tmp_path / "out").summary()

    assert summary is not None
    assert (summary["calls"], summary["cost_usd"]) == (0, 0.0)


def test_a_program_may_ask_for_more_samples(tmp_path: Path) -> None:
    with FaultServer() as server:
        run = adjudge.run(suite(tmp_path, api_base=server.url), out=tmp_path / "out", samples=3)

    assert (run.plan().head.graders[0].samples, server.count) == (3, 3)
