"""A run of a thousand questions: each is asked once, and again only where it changed (J4, C6, P2)."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.end_to_end.conftest import Desk, NewDesk

STATEMENTS = ("A.", "B.", "C.", "D.", "E.")
CONVERSATIONS = 200


def write_suite(desk: Desk, *statements: str, threshold: float = 0.8) -> None:
    desk.suite(desk.grader(*statements, threshold=threshold), judges={"main": desk.judge(max_concurrency=32)})


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory, new_desk: NewDesk) -> Generator[Desk]:
    """A desk with a finished run, in which E. is met by nobody."""
    with new_desk(tmp_path_factory.mktemp("large") / "desk") as desk:
        desk.conversations(*(f"c{n}" for n in range(CONVERSATIONS)))
        desk.decide({"E.": "not_met"})
        write_suite(desk, *STATEMENTS)
        assert desk.run().code == 0
        yield desk


def outcome(desk: Desk) -> list[Any]:
    """What the last run says of each grade, whatever it took."""
    return [(grade["result"], grade["score"], grade["met"]) for grade in desk.grades()]


def calls_of(desk: Desk, *options: str) -> int:
    """How many calls one more run makes."""
    before = desk.server.count
    assert desk.run(*options).code in (0, 1)
    calls = desk.server.count - before
    assert desk.summary()["calls"] == calls
    assert desk.summary()["cached"] == CONVERSATIONS * len(STATEMENTS) - calls
    return calls


def test_each_question_is_asked_once_and_every_conversation_graded(graded: Desk) -> None:
    first = graded.runs[0]
    summary = graded.summary(first)

    assert {graded.server.calls[text] for text in STATEMENTS} == {CONVERSATIONS}
    assert (summary["calls"], summary["cached"]) == (1000, 0)
    assert summary["counts"]["passed"] == CONVERSATIONS
    assert [row["conversation_id"] for row in graded.results(first)] == [f"c{n}" for n in range(200)]
    assert {row["combined_score"] for row in graded.results(first)} == {0.8}


def test_the_same_again_makes_no_call_and_comes_out_the_same(graded: Desk) -> None:
    write_suite(graded, *STATEMENTS)

    assert calls_of(graded) == 0
    assert outcome(graded) == [("passed", 0.8, 4)] * CONVERSATIONS


def test_another_threshold_makes_no_call(graded: Desk) -> None:
    write_suite(graded, *STATEMENTS, threshold=0.81)

    assert calls_of(graded) == 0
    assert outcome(graded) == [("failed", 0.8, 4)] * CONVERSATIONS


def test_one_edited_statement_is_asked_again_of_each_conversation_and_no_other_is(graded: Desk) -> None:
    write_suite(graded, "A, edited.", *STATEMENTS[1:])

    assert calls_of(graded) == CONVERSATIONS
    assert graded.server.calls["A, edited."] == CONVERSATIONS
    assert graded.server.calls["B."] == CONVERSATIONS


def test_statements_in_another_order_make_no_call(graded: Desk) -> None:
    write_suite(graded, *reversed(STATEMENTS))

    assert calls_of(graded) == 0
    assert outcome(graded) == [("passed", 0.8, 4)] * CONVERSATIONS
