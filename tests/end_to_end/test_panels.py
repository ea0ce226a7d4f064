"""Several judges, several samples, and what can't be decided (S7, J8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest

from adjudge.testing import Reply, Request

if TYPE_CHECKING:
    from tests.end_to_end.conftest import Desk

JURORS = ("one", "two", "three")


def jury_suite(desk: Desk, *jurors: str, **more: Any) -> None:
    """A grader of one statement whose jurors are models of those names."""
    grader = desk.grader("A.", jury=list(jurors), **more)
    del grader["judge"]
    desk.suite(grader, judges={name: desk.judge(model=f"openai/{name}") for name in jurors})


def vote(desk: Desk, votes: Mapping[str, str]) -> None:
    """Let each model decide so, or fail where it is told `fail`."""

    def answer(request: Request) -> Reply:
        decision = votes[request.json["model"]]
        return Reply(status=500) if decision == "fail" else Reply(decision=decision)

    desk.answer = answer


@pytest.mark.parametrize(
    ("votes", "decision", "code"),
    [
        (("met", "met", "met"), "met", 0),
        (("not_met", "met", "met"), "met", 0),
        (("not_met", "met", "not_met"), "not_met", 1),
        (("not_met", "undetermined", "not_met"), "not_met", 1),
    ],
)
def test_a_jury_decides_by_majority_and_its_votes_are_kept(
    desk: Desk, votes: tuple[str, ...], decision: str, code: int
) -> None:
    jury_suite(desk, *JURORS)
    vote(desk, dict(zip(JURORS, votes, strict=True)))

    assert desk.run().code == code
    (statement,) = desk.grades()[0]["statements"]
    assert (statement["decision"], statement["error"]) == (decision, None)
    assert [(v["judge"], v["decision"]) for v in statement["votes"]] == list(zip(JURORS, votes, strict=True))
    assert [v["model"] for v in statement["votes"]] == [f"openai/{name}" for name in JURORS]
    assert len({v["verdict_key"] for v in statement["votes"]}) == 3
    assert desk.server.count == 3


@pytest.mark.parametrize(
    ("votes", "cause"),
    [
        (("met", "not_met", "undetermined"), "no_majority"),
        (("met", "undetermined", "undetermined"), "undetermined"),
        (("met", "met", "fail"), "unavailable"),
    ],
)
def test_a_jury_that_is_split_undecided_or_incomplete_errs_and_its_votes_are_kept(
    desk: Desk, votes: tuple[str, ...], cause: str
) -> None:
    jury_suite(desk, *JURORS)
    vote(desk, dict(zip(JURORS, votes, strict=True)))

    assert desk.run().code == 3
    (grade,) = desk.grades()
    (statement,) = grade["statements"]
    assert (grade["score"], grade["error"]["cause"]) == (None, cause)
    assert statement["error"]["cause"] == cause
    assert [v["decision"] or "fail" for v in statement["votes"]] == list(votes)


def test_the_vote_that_failed_is_asked_again_by_resume_and_no_other(desk: Desk) -> None:
    jury_suite(desk, *JURORS)
    vote(desk, {"one": "met", "two": "met", "three": "fail"})
    desk.run()
    vote(desk, dict.fromkeys(JURORS, "met"))

    assert desk.adjudge("resume").code == 0
    assert desk.server.count == desk.summary()["calls"] == 4


def test_two_against_two_is_no_majority(desk: Desk) -> None:
    jurors = (*JURORS, "four")
    jury_suite(desk, *jurors)
    vote(desk, {"one": "met", "two": "met", "three": "not_met", "four": "not_met"})

    assert desk.run().code == 3
    assert desk.summary()["errors_by_cause"] == {"no_majority": 1}


def test_several_samples_of_one_judge_decide_by_majority(desk: Desk) -> None:
    desk.suite(desk.grader("A.", samples=3), judges={"main": desk.judge(max_concurrency=1)})
    desk.answer = lambda _: Reply(decision="not_met" if desk.server.count == 2 else "met")

    assert desk.run().code == 0
    (statement,) = desk.grades()[0]["statements"]
    assert [(v["sample"], v["decision"]) for v in statement["votes"]] == [
        (0, "met"),
        (1, "not_met"),
        (2, "met"),
    ]
    assert desk.run().code == 0
    assert desk.server.count == 3


def test_a_further_sample_asks_only_for_itself(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.run()
    desk.suite(desk.grader("A.", samples=3))

    assert desk.run().code == 0
    assert desk.server.count == 3


def test_samples_of_the_command_line_are_planned_asked_and_kept_by_resume(desk: Desk) -> None:
    desk.suite(desk.grader("A."), desk.verifier('return [check("c", True)]'))

    assert desk.run("--samples", "3", "--max-calls", "2").code == 3
    assert desk.adjudge("resume", "latest", "--max-calls", "3").code == 0
    (statement,) = desk.grades()[0]["statements"]
    assert [v["sample"] for v in statement["votes"]] == [0, 1, 2]
    assert desk.server.count == 3


def test_an_undetermined_statement_errs_its_grade(desk: Desk) -> None:
    desk.suite(desk.grader("A.", "B.", threshold=0.5))
    desk.decide({"B.": "undetermined"})

    assert desk.run().code == 3
    (grade,) = desk.grades()
    assert (grade["result"], grade["score"], grade["error"]["cause"]) == ("errored", None, "undetermined")
    undecided = grade["statements"][1]
    assert (undecided["decision"], undecided["error"]["cause"]) == ("undetermined", "undetermined")


def test_an_undetermined_statement_may_count_as_not_met_and_stays_in_the_denominator(desk: Desk) -> None:
    desk.suite(desk.grader("A.", "B.", threshold=0.5, undetermined="not_met"))
    desk.decide({"B.": "undetermined"})

    assert desk.run().code == 0
    (grade,) = desk.grades()
    assert (grade["met"], grade["total"], grade["score"], grade["error"]) == (1, 2, 0.5, None)
    undecided = grade["statements"][1]
    assert (undecided["decision"], undecided["error"]) == ("undetermined", None)


def test_a_required_statement_that_is_undetermined_may_fail_its_grade(desk: Desk) -> None:
    statement = {"text": "B.", "required": True}
    desk.suite(desk.grader("A.", statement, threshold=0.5, undetermined="not_met"))
    desk.decide({"B.": "undetermined"})

    assert desk.run().code == 1


def test_undetermined_counts_one_way_or_the_other_without_a_call(desk: Desk) -> None:
    desk.suite(desk.grader("A.", "B.", threshold=0.5))
    desk.decide({"B.": "undetermined"})
    desk.run()
    desk.suite(desk.grader("A.", "B.", threshold=0.5, undetermined="not_met"))

    assert desk.run().code == 0
    assert desk.server.count == 2
