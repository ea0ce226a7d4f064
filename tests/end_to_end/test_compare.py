"""Two runs compared, from the command line: agents, judges and prompts, what turned, what is missing."""

from __future__ import annotations

import json
import re
from collections.abc import Container
from typing import TYPE_CHECKING, Any

import pytest

from adjudge.testing import Reply, Request

if TYPE_CHECKING:
    from tests.end_to_end.conftest import Desk

NOBODY: Container[str] = ()
MANY = 12


def answering(desk: Desk, *, not_met: Container[str] = NOBODY, undecided: Container[str] = NOBODY) -> None:
    """Let statements be met, but of conversations of those ids not, and undetermined of others."""

    def answer(request: Request) -> Reply:
        said = re.search(r"This is (\w+)\.", request.body.decode())
        assert said is not None
        decision = "undetermined" if said[1] in undecided else "not_met" if said[1] in not_met else "met"
        return Reply(decision=decision)

    desk.answer = answer


def ran(desk: Desk, agent: str, *graders: dict[str, Any], many: int = MANY, **suite: Any) -> None:
    """Run one agent's conversations: `c0`, `c1`, ... of which each says whose it is."""
    rows: list[str | dict[str, Any]] = []
    for number in range(many):
        row = desk.conversation(f"c{number}", test=f"t{number // 2}")
        row["messages"].append({"role": "user", "content": f"Thanks, {agent}."})
        rows.append(row)
    desk.conversations(*rows)
    desk.suite(*(graders or [desk.grader("A.", "B.")]), **suite)
    desk.run("--quiet")


def ids(*numbers: int) -> set[str]:
    return {f"c{number}" for number in numbers}


def compared(desk: Desk, *options: str) -> dict[str, Any]:
    first, second = (str(run) for run in desk.runs[:2])
    return json.loads(desk.adjudge("compare", first, second, "--json", *options).out)


def said(desk: Desk, code: int, *options: str) -> str:
    first, second = (str(run) for run in desk.runs[:2])
    done = desk.adjudge("compare", first, second, *options)
    assert (done.code, done.err) == (code, "")
    return done.out


def test_an_agent_that_got_worse_is_a_regression_and_what_it_lost_and_gained_is_listed(desk: Desk) -> None:
    answering(desk, not_met=ids(11))
    ran(desk, "first")
    answering(desk, not_met=ids(*range(9)))
    ran(desk, "second")

    text = said(desk, 1)

    assert text.startswith("B is worse than A: of 24 statements decided in both, 18 are lost and 2 gained\n")
    assert "12 conversations paired by id: other conversations, judged the same way" in text
    assert "Lost: met in A, not in B (18)\n    c0  behaves: A.\n" in text
    assert "Gained: met in B, not in A (2)\n    c11  behaves: A.\n    c11  behaves: B.\n" in text
    assert "Of 12 conversations 9 lost more than they gained and 1 gained more: p = 0.0215" in text
    found = compared(desk)
    assert (found["outcome"], found["exit_code"], found["about"]) == ("regression", 1, "agents")
    assert (found["statements"]["lost"], found["statements"]["gained"]) == (18, 2)
    assert [flip["b"] for flip in found["flips"]] == ["not_met"] * 18 + ["met"] * 2
    assert found["statements"]["clusters_mcnemar_p"] == pytest.approx(2 * 11 / 1024)  # pyright: ignore[reportUnknownMemberType]
    assert found["grades"]["lost"] == 9


def test_an_agent_that_got_better_is_no_regression(desk: Desk) -> None:
    answering(desk, not_met=ids(*range(8)))
    ran(desk, "first")
    answering(desk)
    ran(desk, "second")

    assert said(desk, 0).startswith("B is better than A: ")


def test_a_judge_that_says_otherwise_is_not_called_a_worse_agent(desk: Desk) -> None:
    answering(desk)
    ran(desk, "agent")
    answering(desk, not_met=ids(*range(8)))
    ran(desk, "agent", judges={"main": desk.judge(model="openai/other")})

    text = said(desk, 1)

    assert text.startswith("B finds less met than A: ")
    assert "the same conversations, judged another way" in text
    assert "behaves: judge: openai/any (at http://127.0.0.1" in text


def test_another_prompt_is_said_to_be_what_differs(desk: Desk) -> None:
    answering(desk)
    ran(desk, "agent")
    prompt = "# system\n\nDecide. {reply_format}\n\n# user\n\n{evidence}\n\n{statements}\n"
    (desk.path / "mine.md").write_text(prompt)
    ran(desk, "agent", desk.grader("A.", "B.", prompt="mine.md"))

    found = compared(desk)

    assert (found["about"], found["outcome"]) == ("judging", "no difference")
    assert [one["what"] for one in found["differences"]] == ["prompt"]


def test_agents_and_judges_that_both_differ_are_not_compared(desk: Desk) -> None:
    answering(desk)
    ran(desk, "first")
    answering(desk, not_met=ids(*range(8)))
    ran(desk, "second", judges={"main": desk.judge(model="openai/other")})

    assert said(desk, 3).startswith(
        "Undecided: the conversations and how they are judged (judge) both differ"
    )


def test_the_same_run_twice_shows_no_difference_and_what_it_could_have_shown(desk: Desk) -> None:
    answering(desk, not_met=ids(1, 2))
    ran(desk, "agent")
    ran(desk, "agent")

    text = said(desk, 0)

    assert text.startswith("No difference is shown between A and B: of 24 statements")
    assert "the same, judged the same way" in text
    assert "A net change in 7 of 12 conversations or more would be found four times in five" in text


def test_no_winner_is_named_where_one_run_lacks_more_decisions_and_these_are_listed(desk: Desk) -> None:
    answering(desk)
    ran(desk, "first")
    answering(desk, not_met=ids(*range(9)), undecided=ids(11))
    ran(desk, "second")

    text = said(desk, 3)

    assert text.startswith("Undecided: A lacks 0 decisions and B lacks 2: ")
    assert "Not decided in both (2)\n    c11  behaves: A.\n      A: met\n      B: undetermined: " in text
    found = compared(desk)
    assert found["statements"]["b"] == {"met": 4, "decided": 22, "missing": 2}
    assert found["missing"][0]["b"] is None


def test_a_few_missing_decisions_that_could_turn_nothing_are_no_hindrance(desk: Desk) -> None:
    answering(desk)
    ran(desk, "first")
    answering(desk, undecided=ids(11))
    ran(desk, "second")

    assert said(desk, 0).startswith("No difference is shown")


def test_many_missing_decisions_could_turn_the_answer(desk: Desk) -> None:
    answering(desk)
    ran(desk, "first")
    answering(desk, undecided=ids(*range(6)))
    ran(desk, "second")

    assert said(desk, 3).startswith("Undecided: the 12 statements not decided in both runs could turn")


def test_conversations_of_one_run_alone_are_listed_and_counted_as_missing(desk: Desk) -> None:
    answering(desk)
    ran(desk, "first")
    answering(desk, not_met=ids(*range(8)))
    ran(desk, "second", many=11)

    assert said(desk, 3).startswith("Undecided: A lacks 0 decisions and B lacks 2: ")
    assert compared(desk)["missing"][1] == {
        "conversation": "c11",
        "grader": "behaves",
        "statement": "B.",
        "a": "met",
        "b": None,
        "a_missing": None,
        "b_missing": "the run has no such conversation",
    }


def test_conversations_that_failed_are_missing_and_not_dropped(desk: Desk) -> None:
    answering(desk)
    ran(desk, "first")
    rows: list[str | dict[str, Any]] = [
        desk.conversation(f"c{n}", **({"status": "failed"} if n < 6 else {})) for n in range(MANY)
    ]
    desk.conversations(*rows)
    desk.run("--quiet")

    found = compared(desk)

    assert (found["outcome"], found["statements"]["b"]["missing"]) == ("undecided", 12)
    assert found["missing"][0]["b_missing"] == "the conversation failed"


def test_a_few_conversations_that_turned_are_too_few_to_tell(desk: Desk) -> None:
    answering(desk)
    ran(desk, "first", many=4)
    answering(desk, not_met=ids(*range(4)))
    ran(desk, "second", many=4)

    text = said(desk, 3)
    assert text.startswith(
        "Undecided: fewer than 6 conversations can't show a difference, and 4 are compared"
    )
    assert "4 conversations are too few to show any difference" in text


def test_rollouts_of_a_test_pair_where_ids_differ_and_are_no_independent_evidence(desk: Desk) -> None:
    def rollouts(agent: str) -> None:
        rows = [
            desk.conversation(f"{agent}{test}{n}", test=f"t{test}", rollout=n)
            for test in range(7)
            for n in range(2)
        ]
        desk.conversations(*rows)
        desk.suite(desk.grader("A."))
        desk.run("--quiet")

    rollouts("first")
    desk.decide({"A.": "not_met"})
    rollouts("second")

    text = said(desk, 3)
    assert text.startswith("Undecided: no statement was decided in both runs")
    assert "compare them with --by test" in text
    found = compared(desk, "--by", "test")
    assert (found["outcome"], found["statements"]["lost"], found["statements"]["clusters"]) == (
        "regression",
        14,
        7,
    )
    assert found["flips"][1]["conversation"] == "t0 #2"


def test_checks_are_compared_like_statements(desk: Desk) -> None:
    ran(desk, "first", desk.verifier('return [check("short", True), check("named", True)]'), judges={})
    ran(desk, "second", desk.verifier('return [check("short", False), check("named", True)]'), judges={})

    found = compared(desk)

    assert (found["statements"]["lost"], found["flips"][0]["statement"]) == (12, "short")
    assert "verifier" in found["reasons"][0]  # the conversations and the verifier differ


def test_a_statement_edited_in_between_is_missing_in_both(desk: Desk) -> None:
    answering(desk)
    ran(desk, "agent", desk.grader("A.", "B."))
    ran(desk, "agent", desk.grader("A.", "B, as edited."))

    found = compared(desk)

    assert (found["statements"]["a"]["missing"], found["statements"]["b"]["missing"]) == (12, 12)
    assert (found["outcome"], found["statements"]["decided_in_both"]) == ("undecided", 12)
    assert [one["what"] for one in found["differences"]] == ["statements"]


def test_what_conversations_are_called_can_not_act_on_a_terminal(desk: Desk) -> None:
    desk.conversations(*(f"c\x1b[2J{n}" for n in range(7)))
    desk.suite(desk.grader("A.\x1b[2J"))
    desk.run("--quiet")
    desk.answer = lambda _: Reply(decision="not_met")
    desk.run("--quiet", "--refresh")

    assert "\x1b" not in said(desk, 1)


def test_a_run_that_is_not_there_is_a_mistake_of_the_user(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.run()

    done = desk.adjudge("compare", "latest", "nothing")

    assert (done.code, done.out) == (2, "")
    assert "'nothing' names no run" in done.err
