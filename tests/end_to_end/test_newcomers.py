"""What somebody new to the program stumbles over: names that match nothing, and where to look next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import adjudge
from adjudge.pipeline.planning.overrides import Overrides

if TYPE_CHECKING:
    from tests.end_to_end.conftest import Desk


def test_a_test_that_no_conversation_ran_is_warned_of(desk: Desk) -> None:
    desk.suite(desk.grader("A."), tests={"late-parcl": {"statements": {"behaves": ["B."]}}})
    desk.conversations(desk.conversation("c1", test="late-parcel"))

    done = desk.run()

    assert "no conversation ran the test 'late-parcl'" in done.err


def test_a_limit_that_leaves_conversations_unread_accuses_no_test(desk: Desk) -> None:
    desk.suite(desk.grader("A."), tests={"second": {"statements": {"behaves": ["B."]}}})
    desk.conversations(desk.conversation("c1"), desk.conversation("c2", test="second"))

    assert desk.run("--limit", "1").err == ""


def test_a_run_names_the_conversations_that_did_not_pass(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.conversations(desk.conversation("good"), desk.conversation("bad", statements={"behaves": ["B."]}))
    desk.decide({"A.": "met", "B.": "not_met"})

    said = desk.run().out

    assert "Not passed\n  bad: failed\n" in said
    assert "adjudge show RUN CONVERSATION" in said


def test_one_conversation_is_shown_verdict_by_verdict(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.conversations(desk.conversation("c1"))
    desk.run()

    said = desk.adjudge("show", "latest", "c1").out

    assert "  s1  met: A.\n      As told.\n" in said


@pytest.mark.parametrize(
    ("name", "value"),
    [("limit", 0), ("concurrency", 0), ("samples", 0), ("max_calls", -1), ("max_cost_usd", -0.5)],
)
def test_a_number_that_no_command_line_takes_is_refused_from_a_program_too(name: str, value: float) -> None:
    with pytest.raises(adjudge.UsageError, match=name):
        Overrides(**{name: value})  # pyright: ignore[reportArgumentType]


def test_a_run_that_can_not_go_on_offers_no_resume(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.conversations(desk.conversation("c1"), desk.conversation("c2", status="failed"))

    done = desk.run()

    assert done.code == 3
    assert "adjudge resume" not in done.out
    assert "Next          a new run, with the failed or canceled conversations" in done.out


def test_a_capped_run_says_what_to_raise_and_that_is_what_helps(desk: Desk) -> None:
    desk.suite(desk.grader("A.", "B."))

    said = desk.run("--max-calls", "1").out

    command = f"resume {desk.runs[-1].name} --max-calls"
    assert f"Next          adjudge {command} N  (more than the 1 made so far" in said
    assert desk.adjudge(*command.split(), "2").code == 0
