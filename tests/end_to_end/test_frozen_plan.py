"""What was planned decides a run: no edit changes it, `resume` goes on, `whatif` only looks (P1 to P4)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from adjudge.testing import Reply, says

if TYPE_CHECKING:
    from tests.end_to_end.conftest import Desk


def contents(desk: Desk) -> dict[str, bytes]:
    """Every file of every run, by path."""
    return {str(path): path.read_bytes() for run in desk.runs for path in run.iterdir()}


@pytest.fixture
def failed(desk: Desk) -> Desk:
    """A desk with a run that failed: 3 of 4 at threshold 0.8."""
    desk.suite(desk.grader("A.", "B.", "C.", "D.", threshold=0.8))
    desk.decide({"D.": "not_met"})
    assert desk.run().code == 1
    return desk


def test_a_threshold_edited_afterwards_changes_nothing_of_an_old_run(failed: Desk) -> None:
    commands = (["show"], ["show", "latest", "c1"], ["export"], ["rollouts"], ["export", "-f", "result-json"])
    before = [failed.adjudge(*command) for command in commands]
    files = contents(failed)
    failed.suite(failed.grader("A.", "B.", "C.", "D.", threshold=0.75))

    assert [failed.adjudge(*command) for command in commands] == before
    assert failed.adjudge("resume").code == 1
    assert contents(failed) == files
    assert failed.grades()[0]["threshold"] == 0.8


def test_a_run_needs_its_suite_no_more(failed: Desk) -> None:
    for name in ("suite.yaml", "conversations.jsonl"):
        (failed.path / name).unlink()

    assert failed.adjudge("show").code == 0
    assert failed.adjudge("resume").code == 1
    assert failed.adjudge("whatif", "--threshold", "0.75").code == 0


def test_a_plan_holds_everything_that_decides(failed: Desk) -> None:
    plan = json.loads((failed.runs[0] / "plan.json").read_text())

    assert json.loads(plan["suite_text"])["graders"][0]["threshold"] == 0.8
    assert len(plan["suite_digest"]) == 64
    (grader,) = plan["graders"]
    assert (grader["threshold"], grader["gating"], grader["version"]) == (
        0.8,
        True,
        failed.grades()[0]["grader_version"],
    )
    assert [statement["text"] for statement in grader["statements"]] == ["A.", "B.", "C.", "D."]
    assert plan["judges"]["main"]["model"] == "openai/any"
    assert plan["prompts"][grader["prompt"]]["system"].startswith("You judge a finished conversation")
    assert len(plan["conversations"][0]["evidence"]) == 64
    assert plan["policy"]["require"] == "all_passed"
    assert {"adjudge", "litellm", "pydantic", "python"} <= plan["packages"].keys()
    assert "sk-test" not in (failed.runs[0] / "plan.json").read_text()


def test_the_version_of_a_grader_changes_with_its_question_and_not_with_its_threshold(failed: Desk) -> None:
    (first,) = failed.grades()
    failed.suite(failed.grader("A.", "B.", "C.", "D.", threshold=0.5))
    failed.run()
    (second,) = failed.grades()
    failed.suite(failed.grader("A.", "B.", "C.", threshold=0.5))
    failed.run()
    (third,) = failed.grades()

    assert first["grader_version"] == second["grader_version"] != third["grader_version"]


def test_resume_judges_what_errored_and_keeps_the_older_grade_as_history(desk: Desk) -> None:
    desk.suite(desk.grader("A."), desk.verifier("return [check('a', True)]"))
    desk.conversations("c1", "c2")
    desk.answer = lambda request: Reply(status=500 if b"This is c2." in request.body else 200)
    assert desk.run().code == 3
    desk.answer = lambda _: Reply()

    resumed = desk.adjudge("resume")

    assert (resumed.code, resumed.err) == (0, "")
    assert desk.server.count == 3
    assert [grade["result"] for grade in desk.grades()] == ["passed", "passed"]
    rows = [json.loads(line) for line in (desk.runs[0] / "grades.jsonl").read_text().splitlines()]
    history = [row["grade"]["result"] for row in rows if row["grade"]["grader"] == "behaves"]
    assert sorted(history) == ["errored", "passed", "passed"]
    assert len([row for row in rows if row["grade"]["grader"] == "checked"]) == 2
    assert desk.summary()["calls"] == 3
    assert desk.summary()["errors_by_cause"] == {}


def test_resume_of_a_finished_run_asks_nothing_and_changes_nothing(failed: Desk) -> None:
    files = contents(failed)

    done = failed.adjudge("resume", "--offline")

    assert (done.code, done.err) == (1, "")
    assert contents(failed) == files


def test_resume_does_not_take_up_an_edited_verifier(desk: Desk) -> None:
    desk.suite(desk.verifier("raise ValueError('not yet')"))
    desk.run()
    desk.verifier("return [check('a', True)]")

    done = desk.adjudge("resume")

    assert (done.code, done.out) == (2, "")
    assert "checked.py" in done.err
    assert "start a new run" in done.err


def test_resume_does_not_take_up_an_edited_recording(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.run()
    desk.adjudge("cache", "export", "recorded.jsonl")
    desk.suite(desk.grader("A."), recorded=["recorded.jsonl"])
    desk.run()
    (desk.path / "recorded.jsonl").write_text("")

    done = desk.adjudge("resume")

    assert (done.code, done.out) == (2, "")
    assert "recorded.jsonl" in done.err


def test_a_run_is_found_by_path_by_id_by_its_beginning_and_as_the_latest(failed: Desk) -> None:
    failed.run()
    first, second = failed.runs
    beginning = first.name[: len(first.name) - 2]

    shown = [failed.adjudge("show", word).out for word in (str(first), first.name, beginning)]

    assert shown[0] == shown[1] == shown[2]
    assert first.name in shown[0]
    assert second.name in failed.adjudge("show", "latest").out


def whatif(desk: Desk, *options: str) -> dict[str, Any]:
    """What `whatif --json` says."""
    done = desk.adjudge("whatif", *options, "--json")
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out)


def test_what_if_decides_anew_makes_no_call_and_writes_nothing(failed: Desk) -> None:
    files = contents(failed)

    found = whatif(failed, "--threshold", "0.75")

    assert found["what_if"] is True
    assert (found["before"], found["after"]) == ({"behaves": {"failed": 1}}, {"behaves": {"passed": 1}})
    assert found["flips"] == [
        {"conversation_id": "c1", "grader": "behaves", "before": "failed", "after": "passed"}
    ]
    assert contents(failed) == files
    assert failed.server.count == 4


def test_what_if_says_that_it_is_no_run(failed: Desk) -> None:
    done = failed.adjudge("whatif", "--threshold", "behaves=0.75")

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"What if, over the verdicts of run {failed.runs[0].name}: no calls")
    assert "behaves: passed 0 -> 1, failed 1 -> 0, errored 0 -> 0" in done.out
    assert "c1  behaves: failed -> passed" in done.out


def test_what_if_says_what_becomes_of_the_policy_and_the_exit_code(failed: Desk) -> None:
    done = failed.adjudge("whatif", "--threshold", "0.75")
    policy = whatif(failed, "--threshold", "0.75")["policy"]

    assert done.out.endswith("\npolicy all_passed: not met -> met (exit 1 -> 0)\n")
    assert [(policy[when]["result"], policy[when]["exit_code"]) for when in ("before", "after")] == [
        ("not_met", 1),
        ("met", 0),
    ]
    assert policy["before"]["reasons"] == failed.summary()["policy"]["reasons"]


def test_what_if_another_statement_were_required(failed: Desk) -> None:
    options = ["--threshold", "0.5", "--require"]

    assert whatif(failed, *options, "behaves:s4")["after"] == {"behaves": {"failed": 1}}
    assert whatif(failed, *options, "behaves:D.")["after"] == {"behaves": {"failed": 1}}
    assert whatif(failed, *options, "behaves:s1")["after"] == {"behaves": {"passed": 1}}


def test_what_if_a_check_were_optional(desk: Desk) -> None:
    desk.suite(desk.verifier("return [check('a', True), check('b', False)]", threshold=0.5))
    assert desk.run().code == 1

    assert whatif(desk, "--optional", "checked:b")["after"] == {"checked": {"passed": 1}}


def test_what_if_leaves_errored_grades_errored(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.answer = lambda _: says("What?")
    desk.run()

    assert whatif(desk, "--threshold", "0.1")["after"] == {"behaves": {"errored": 1}}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--threshold", "0"], "nothing could fail"),
        (["--threshold", "behaves=0"], "nothing could fail"),
        (["--threshold", "1.5"], "[0, 1]"),
        (["--threshold", "nan"], "number"),
        (["--threshold", "high"], "'high' is not a number"),
        (["--threshold", "behavs=1"], "'behavs'"),
        (["--require", "behaves:s9"], "s9"),
        (["--require", "behaves:E."], "'E.'"),
        (["--require", "behavs:s1"], "'behavs'"),
    ],
)
def test_what_if_refuses_what_a_suite_would_refuse(failed: Desk, options: list[str], words: str) -> None:
    done = failed.adjudge("whatif", *options)

    assert (done.code, done.out) == (2, "")
    assert words in done.err
    assert len(done.err.splitlines()) == 1


def test_what_if_takes_threshold_0_where_something_is_required(failed: Desk) -> None:
    options = ["--threshold", "0", "--require"]

    assert whatif(failed, *options, "behaves:s1")["after"] == {"behaves": {"passed": 1}}
    assert whatif(failed, *options, "behaves:s4")["after"] == {"behaves": {"failed": 1}}


def test_a_refreshing_run_that_is_resumed_asks_again_what_it_has_not_asked_itself(desk: Desk) -> None:
    desk.suite(desk.grader("A.", "B.", "C."))
    desk.run()
    desk.answer = lambda request: Reply(status=500 if "C." in request.statements.values() else 200)
    assert desk.run("--refresh").code == 3
    desk.answer = lambda _: Reply(decision="not_met")

    assert desk.adjudge("resume").code == 1
    assert [row["decision"] for row in desk.grades()[0]["statements"]] == ["met", "met", "not_met"]
    assert desk.server.calls == {"A.": 2, "B.": 2, "C.": 3}
