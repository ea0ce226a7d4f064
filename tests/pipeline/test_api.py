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


@pytest.mark.parametrize("given", [None, 7, {"text": "It is done."}, Path("s.txt")], ids=repr)
def test_what_is_no_list_of_statements_is_refused(given: Any) -> None:
    with pytest.raises(adjudge.UsageError, match="statements is a list"):
        adjudge.grade(CONVERSATION, statements=given, judge=adjudge.ScriptedJudge({}))


def test_a_statement_may_be_written_as_in_a_suite() -> None:
    judge = adjudge.ScriptedJudge({"It is done.": "met", "It is fun.": "not_met"})
    statements = [{"text": "It is fun.", "required": True}, "It is done."]

    grade = adjudge.grade(CONVERSATION, statements=statements, judge=judge, threshold=0.5)

    assert (grade["result"], grade["score"]) == ("failed", 0.5)
    with pytest.raises(adjudge.UsageError, match=r"not a statement: .*'requird'"):
        adjudge.grade(CONVERSATION, statements=[{"text": "A.", "requird": True}], judge=judge)


@pytest.mark.parametrize("given", [None, 7, len, adjudge.ScriptedJudge], ids=repr)
def test_what_can_not_judge_is_refused_with_what_a_judge_needs(given: Any) -> None:
    with pytest.raises(adjudge.UsageError, match=r"a judge is .*async def judge\(self, request\)"):
        adjudge.grade(CONVERSATION, statements=["It is done."], judge=given)


async def test_inside_an_event_loop_the_message_names_what_to_await() -> None:
    with pytest.raises(RuntimeError, match=r"`await adjudge.agrade\(\.\.\.\)`"):
        adjudge.grade(CONVERSATION, statements=["It is done."], judge=adjudge.ScriptedJudge({}))
    with pytest.raises(RuntimeError, match=r"`await adjudge.arun\(\.\.\.\)`"):
        adjudge.run("suite.yaml")


def test_what_is_shown_is_chosen_as_in_a_suite(tmp_path: Path) -> None:
    said = {"id": "c", "messages": [{"role": "system", "content": "Be kind."}, *CONVERSATION["messages"]]}
    with FaultServer() as server:
        for evidence in (None, {"system_prompt": False}):
            adjudge.grade(
                said,
                statements=["It is done."],
                judge="openai/any",
                api_base=server.url,
                evidence=evidence,
                cache=tmp_path,
            )

    assert [b"Be kind." in request.body for request in server.requests] == [True, False]


def test_an_option_of_evidence_that_is_none_is_refused() -> None:
    judge = adjudge.ScriptedJudge({})
    with pytest.raises(adjudge.UsageError, match=r"not evidence: unknown key 'timestamp'"):
        adjudge.grade(CONVERSATION, statements=["A."], judge=judge, evidence={"timestamp": True})


def test_a_program_can_not_ask_again_where_nobody_may_be_asked(tmp_path: Path) -> None:
    with pytest.raises(adjudge.UsageError, match="--refresh asks again and --offline asks nobody"):
        adjudge.run(suite(tmp_path), out=tmp_path / "out", offline=True, refresh=True)


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
