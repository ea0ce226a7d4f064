"""A judge that gets wrong what is known can't decide a run; what it is asked for that enters no score."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from adjudge.testing import Reply, Request

if TYPE_CHECKING:
    from tests.end_to_end.conftest import Desk

TRUE, FALSE = "The conversation has a turn.", "The conversation is about the weather on Mars."
CANARY = [{"statement": TRUE, "expect": "met"}, {"statement": FALSE, "expect": "not_met"}]
RIGHT = {FALSE: "not_met"}


def prepared(desk: Desk, **more: Any) -> None:
    desk.conversations("c1", "c2", "c3")
    desk.suite(desk.grader("A."), judges={"main": desk.judge(canary=CANARY)}, **more)


def test_a_reliable_judge_is_asked_its_canary_once_a_run_and_the_run_is_as_without(desk: Desk) -> None:
    prepared(desk)
    desk.decide(RIGHT)

    done = desk.run("--junit", "junit.xml")

    assert done.code == 0
    assert desk.server.calls == {"A.": 3, TRUE: 1, FALSE: 1}
    assert desk.server.count == desk.summary()["calls"] == 4
    for row in desk.results():
        assert [grade["grader"] for grade in row["grades"]] == ["behaves"]
        assert (row["missing"], row["combined_score"]) == ([], 1.0)
    assert desk.summary()["counts"]["grades"] == 3
    assert list(desk.summary()["graders"]) == ["behaves"]
    assert "canary" not in done.out
    assert "canary" not in (desk.path / "junit.xml").read_text()
    for command in ("export --format csv", "rollouts", "whatif --threshold behaves=0.5", "show latest c1"):
        assert "canary" not in desk.adjudge(*command.split()).out


@pytest.mark.parametrize(
    ("decisions", "reason"),
    [
        ({}, f"judge 'main' says met of {FALSE!r}, which is not_met"),
        (RIGHT | {TRUE: "not_met"}, f"judge 'main' says not_met of {TRUE!r}, which is met"),
        (RIGHT | {TRUE: "undetermined"}, f"judge 'main' says undetermined of {TRUE!r}, which is met"),
    ],
)
def test_a_judge_that_gets_its_canary_wrong_leaves_the_run_undecided(
    desk: Desk, decisions: dict[str, str], reason: str
) -> None:
    prepared(desk)
    desk.decide(decisions)

    done = desk.run()

    assert done.code == desk.summary()["exit_code"] == 3
    assert desk.summary()["policy"]["result"] == "undecided"
    assert f"judge_unreliable: {reason}" in desk.summary()["policy"]["reasons"]
    assert f"judge_unreliable: {reason}" in done.out
    assert [grade["result"] for grade in desk.grades()] == ["passed"] * 3
    assert desk.summary()["counts"]["passed"] == 3
    assert desk.summary()["errors_by_cause"] == {}


def test_a_canary_that_was_not_answered_leaves_the_run_undecided_until_it_is(desk: Desk) -> None:
    prepared(desk)
    desk.answer = lambda request: Reply(status=500 if TRUE in request.statements.values() else 200)

    assert desk.run().code == 3
    reason = "judge_unreliable: the canary of judge 'main' was not answered: unavailable"
    assert reason in desk.summary()["policy"]["reasons"]
    desk.decide(RIGHT)

    assert desk.adjudge("resume").code == 0
    assert desk.server.calls == {"A.": 3, TRUE: 2, FALSE: 2}
    assert desk.summary()["calls"] == 5


def test_a_canary_is_answered_from_the_cache(desk: Desk) -> None:
    prepared(desk)
    desk.decide(RIGHT)
    desk.run()

    assert desk.run("--offline").code == 0
    assert desk.server.count == 4
    assert desk.summary()["cached"] == 4


def test_a_wrong_answer_stays_known_and_is_not_asked_for_again(desk: Desk) -> None:
    prepared(desk)
    desk.run()

    assert desk.run().code == 3
    assert desk.adjudge("resume").code == 3
    assert desk.server.count == 4


def test_a_failed_grade_outranks_an_unreliable_judge_and_both_are_said(desk: Desk) -> None:
    prepared(desk)
    desk.decide({"A.": "not_met"})

    done = desk.run()

    assert done.code == 1
    assert "3 of 3 gating grades failed" in done.out
    assert "judge_unreliable" in done.out


def test_a_judge_that_is_not_asked_has_no_canary(desk: Desk) -> None:
    judges = {"main": desk.judge(), "other": desk.judge(model="openai/other", canary=CANARY)}
    desk.suite(desk.grader("A."), judges=judges)

    assert desk.run().code == 0
    assert desk.server.calls == {"A.": 1}


def test_each_juror_has_its_own_canary_and_shares_no_blame(desk: Desk) -> None:
    judges = {name: desk.judge(model=f"openai/{name}", canary=CANARY) for name in ("one", "two")}
    desk.suite(desk.grader("A.", judge=None, jury=["one", "two"]), judges=judges)

    def answer(request: Request) -> Reply:
        return Reply(decision=RIGHT if request.json["model"] == "one" else {})

    desk.answer = answer

    assert desk.run().code == 3
    (_, reason) = desk.summary()["policy"]["reasons"]
    assert reason.startswith("judge_unreliable: judge 'two' says met")


def test_a_canary_is_asked_of_the_first_conversation_that_its_judge_judges(desk: Desk) -> None:
    prepared(desk)
    desk.conversations(
        desk.conversation("c1", status="failed"), desk.conversation("c2", graders=[]), "c3", "c4"
    )
    desk.decide(RIGHT)

    desk.run()

    (asked,) = [request for request in desk.server.requests if TRUE in request.statements.values()]
    assert "This is c3." in asked.json["messages"][-1]["content"]


def test_nothing_to_judge_is_nothing_to_judge_whatever_the_canary(desk: Desk) -> None:
    prepared(desk)
    desk.conversations(desk.conversation("c1", graders=[]))

    assert desk.run().code == 5
    assert desk.server.count == 0


def test_a_dry_run_counts_the_canary(desk: Desk) -> None:
    prepared(desk)

    found = json.loads(desk.run("--dry-run", "--json").out)

    assert (found["grades"], found["questions"], found["calls"]) == (3, 4, 4)


def test_a_canary_is_part_of_the_plan_and_of_no_version_of_a_grader(desk: Desk) -> None:
    prepared(desk)
    desk.decide(RIGHT)
    desk.run()
    desk.suite(desk.grader("A."), judges={"main": desk.judge()})
    desk.run()
    plans = [json.loads((run / "plan.json").read_text()) for run in desk.runs]

    assert [len(plan["canaries"]) for plan in plans] == [1, 0]
    assert plans[0]["judges"]["main"]["canary"] == CANARY
    assert plans[0]["graders"][0]["version"] == plans[1]["graders"][0]["version"]
    assert desk.server.count == 4


@pytest.mark.parametrize(
    ("canary", "words"),
    [
        ([{"statement": TRUE}], "'expect' is missing"),
        ([{"statement": TRUE, "expect": "undetermined"}], "'met' or 'not_met'"),
        ([{"statement": " ", "expect": "met"}], "must not be empty"),
        ([CANARY[0], CANARY[0]], "the same statement is there already"),
        ([{"statement": TRUE, "expect": "met", "required": True}], "unknown key 'required'"),
        ("The sky is blue.", "a list"),
    ],
)
def test_a_canary_that_is_none_is_refused(desk: Desk, canary: object, words: str) -> None:
    desk.suite(desk.grader("A."), judges={"main": desk.judge(canary=canary)})

    done = desk.run()

    assert done.code == 2
    assert words in done.err


def test_the_canary_of_the_documentation_loads(desk: Desk) -> None:
    text = (Path(__file__).parents[2] / "docs" / "canary.md").read_text()
    judges = text.split("```yaml\n")[1].split("```")[0]
    graders = '{name: g, type: statements, judge: main, statements: ["A."]}'
    (desk.path / "suite.yaml").write_text(
        f"{judges}conversations: [conversations.jsonl]\ngraders: [{graders}]\n"
    )

    found = json.loads(desk.run("--dry-run", "--json").out)

    assert found["calls"] == 2


def test_a_grader_that_has_the_name_of_a_canary_is_refused(desk: Desk) -> None:
    desk.suite(desk.grader("A.", name="canary of 'main'"), judges={"main": desk.judge(canary=CANARY)})

    done = desk.run()

    assert done.code == 2
    assert "rename it" in done.err
    assert desk.runs == []
