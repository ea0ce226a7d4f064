"""What judges and verifiers decide, through a whole run, down to the numbers in its files (S1 to S13)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from adjudge.testing import Reply, Request, says, verdicts

if TYPE_CHECKING:
    from tests.end_to_end.conftest import Desk

FOUR = ("A.", "B.", "C.", "D.")
TEN = tuple(f"{letter}." for letter in "ABCDEFGHIJ")


def result_json(desk: Desk, *options: str) -> dict[str, Any]:
    """`result.json` of the last run's only grade, as exported."""
    done = desk.adjudge("export", "--format", "result-json", *options)
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out)


@pytest.mark.parametrize(
    ("threshold", "result", "code"), [(1, "failed", 1), (0.75, "passed", 0), (0.76, "failed", 1)]
)
def test_three_of_four_is_held_against_the_threshold_exactly(
    desk: Desk, threshold: float, result: str, code: int
) -> None:
    desk.suite(desk.grader(*FOUR, threshold=threshold))
    desk.decide({"D.": "not_met"})

    done = desk.run()

    (grade,) = desk.grades()
    assert (done.code, done.err) == (code, "")
    assert (grade["met"], grade["total"], grade["score"]) == (3, 4, 0.75)
    assert (grade["threshold"], grade["result"], grade["error"]) == (threshold, result, None)
    assert desk.summary()["exit_code"] == code


def test_two_of_three_fail_a_threshold_of_67_hundredths(desk: Desk) -> None:
    desk.suite(desk.grader("A.", "B.", "C.", threshold=0.67))
    desk.decide({"A.": "not_met"})

    assert desk.run().code == 1
    assert desk.grades()[0]["result"] == "failed"


def test_none_of_four_is_a_failed_grade_with_score_0_and_no_error(desk: Desk) -> None:
    desk.suite(desk.grader(*FOUR, threshold=0.01))
    desk.decide(dict.fromkeys(FOUR, "not_met"))

    assert desk.run().code == 1
    (grade,) = desk.grades()
    assert (grade["met"], grade["score"], grade["result"], grade["error"]) == (0, 0, "failed", None)
    assert (result_json(desk)["passed"], result_json(desk)["reward"]) == (False, 0)


@pytest.mark.parametrize("threshold", [0, 0.5, 1])
def test_a_judge_that_can_not_be_reached_errs_at_any_threshold(desk: Desk, threshold: float) -> None:
    desk.suite(desk.grader({"text": "A.", "required": True}, threshold=threshold))
    desk.answer = lambda _: Reply(status=503)

    done = desk.run()

    (grade,) = desk.grades()
    assert done.code == 3
    assert (grade["result"], grade["score"], grade["met"]) == ("errored", None, None)
    assert grade["error"]["cause"] == "unavailable"
    assert grade["error"]["retryable"] is True
    assert desk.summary()["errors_by_cause"] == {"unavailable": 1}
    exported = result_json(desk)
    assert (exported["passed"], exported["reward"]) == (None, None)
    assert exported["error"].startswith("unavailable: ")


def test_scores_of_1_and_a_half_combine_to_three_quarters(desk: Desk) -> None:
    desk.suite(desk.grader("A."), desk.grader("B.", "C.", name="second", threshold=0.5))
    desk.decide({"C.": "not_met"})

    assert desk.run().code == 0
    (row,) = desk.results()
    assert [grade["score"] for grade in row["grades"]] == [1, 0.5]
    assert (row["combined_score"], row["grading_state"]) == (0.75, "complete")


def test_one_errored_grader_leaves_no_combined_score_and_the_other_passed(desk: Desk) -> None:
    desk.suite(desk.grader("A."), desk.grader("B.", name="second"))
    desk.answer = lambda request: Reply(status=500 if "B." in request.statements.values() else 200)

    assert desk.run().code == 3
    (row,) = desk.results()
    assert [grade["result"] for grade in row["grades"]] == ["passed", "errored"]
    assert (row["combined_score"], row["grading_state"]) == (None, "error")
    assert desk.summary()["combined_score"] == {
        "mean": None,
        "scored": 0,
        "selected": 1,
        "errored": 1,
        "lowest": 0.5,
        "highest": 1.0,
    }


def test_the_verdicts_of_an_errored_grade_are_kept_and_not_counted(desk: Desk) -> None:
    desk.suite(desk.grader("A.", "B."))
    desk.answer = lambda request: Reply(status=500 if "B." in request.statements.values() else 200)

    assert desk.run().code == 3
    first, second = desk.grades()[0]["statements"]
    assert (first["decision"], first["error"], first["counted"]) == ("met", None, False)
    assert (second["decision"], second["error"]["cause"], second["counted"]) == (None, "unavailable", False)


def test_one_grader_of_one_and_another_of_four_count_the_same_in_the_combined_score(desk: Desk) -> None:
    desk.suite(desk.grader("A."), desk.grader(*TEN[1:5], name="second"))
    desk.decide(dict.fromkeys(TEN[1:5], "not_met"))

    assert desk.run().code == 1
    assert desk.results()[0]["combined_score"] == 0.5


def test_a_conversation_without_a_selected_grader_is_not_requested(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.conversations(desk.conversation("c1", graders=[]))

    done = desk.run()

    (row,) = desk.results()
    assert done.code == 5
    assert (row["grading_state"], row["combined_score"], row["grades"]) == ("not_requested", None, [])
    assert desk.summary()["counts"]["not_requested"] == 1
    assert desk.server.count == 0


@pytest.mark.parametrize("status", ["failed", "canceled"])
def test_a_conversation_without_a_completed_trace_has_no_grading_state(desk: Desk, status: str) -> None:
    desk.suite(desk.grader("A."))
    desk.conversations("c1", desk.conversation("c2", status=status, error="the line broke"))

    done = desk.run()

    row = desk.results()[1]
    assert done.code == 3
    assert (row["status"], row["grading_state"], row["combined_score"]) == (status, None, None)
    assert row["grades"] == []
    assert desk.summary()["counts"]["not_gradable"] == 1
    assert desk.server.count == 1


@pytest.mark.parametrize("reason", ["timeout", "max_tool_calls", "max_turns"])
def test_a_conversation_that_hit_a_limit_is_graded(desk: Desk, reason: str) -> None:
    desk.suite(desk.grader("A."))
    desk.conversations(desk.conversation("c1", termination_reason=reason))

    assert desk.run().code == 0
    (row,) = desk.results()
    assert (row["termination_reason"], row["grading_state"]) == (reason, "complete")


def test_incomplete_evidence_is_graded_and_can_not_pass(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.conversations(desk.conversation("c1", agent_pov_incomplete=True))

    assert desk.run().code == 3
    (row,) = desk.results()
    assert (row["agent_pov_incomplete"], row["grading_state"]) == (True, "complete")
    assert row["grades"][0]["result"] == "passed"


def test_an_eighth_is_rounded_half_up(desk: Desk) -> None:
    desk.suite(desk.grader(*TEN[:8], threshold=0.125))
    desk.decide(dict.fromkeys(TEN[1:8], "not_met"))

    assert desk.run().code == 0
    assert desk.grades()[0]["score"] == 0.125
    assert result_json(desk)["reward"] == 0.13
    assert "  Reward        0.13\n" in desk.adjudge("show", "latest", "c1").out


def test_required_checks_decide_and_all_checks_make_the_reward(desk: Desk) -> None:
    checks = "check('a', True), check('b', False, 'why'), check('c', False)"
    optionals = "optional('d', True), optional('e', True)"
    desk.suite(desk.verifier(f"return [{checks}, {optionals}]", threshold=0))

    done = desk.run()

    assert (done.code, done.err) == (1, "")
    assert desk.grades("checked")[0]["checks"][1] == {
        "label": "b",
        "passed": False,
        "detail": "why",
        "required": True,
    }
    assert result_json(desk) == {
        "passed": False,
        "reward": 0.6,
        "requiredPassed": 1,
        "requiredTotal": 3,
        "failedRequired": ["b", "c"],
        "checksPassed": 3,
        "checksFailed": 2,
        "toolCalls": 0,
        "toolErrors": 0,
        "terminationReason": None,
        "error": None,
        "agentOutput": "Hello, what is your order number?",
        "checks": desk.grades("checked")[0]["checks"],
    }
    shown = desk.adjudge("show", "latest", "c1").out
    for line in ("Result        FAIL", "Reward        0.60", "Checks        3 / 5", "Required      1 / 3"):
        assert f"  {line}\n" in shown
    assert "  Failed\n  ✗ b\n  ✗ c\n" in shown


def test_a_verifier_without_a_required_check_errs(desk: Desk) -> None:
    desk.suite(desk.verifier("return [optional('a', True)]", threshold=0), desk.grader("A."))

    assert desk.run().code == 3
    (grade,) = desk.grades("checked")
    assert (grade["result"], grade["score"], grade["error"]["cause"]) == (
        "errored",
        None,
        "no_required_checks",
    )
    assert desk.grades()[0]["result"] == "passed"


def test_a_reply_about_three_of_four_statements_errs(desk: Desk) -> None:
    desk.suite(desk.grader(*FOUR, calls="per_grader"))
    desk.answer = lambda _: says(verdicts(dict.fromkeys(("s1", "s2", "s3"), "met")))

    assert desk.run().code == 3
    (grade,) = desk.grades()
    assert (grade["result"], grade["error"]["cause"]) == ("errored", "malformed_output")
    assert "s4" in grade["error"]["message"]
    assert desk.server.count == 2  # J3: asked once more, told what was wrong
    assert desk.adjudge("cache", "stats").out.startswith("0 entries")


def test_the_rollouts_of_a_test_have_the_mean_of_their_rewards(desk: Desk) -> None:
    met = {"c1": 10, "c2": 10, "c3": 10, "c4": 5, "c5": 2}

    def answer(request: Request) -> Reply:
        (count,) = [count for id_, count in met.items() if f"This is {id_}." in request.body.decode()]
        return Reply(decision=dict.fromkeys(TEN[count:], "not_met"))

    desk.answer = answer
    desk.suite(desk.grader(*TEN, calls="per_grader"), tests={"refund": {"title": "A refund"}})
    desk.conversations(
        *(desk.conversation(id_, test="refund", rollout=n) for n, id_ in enumerate(met, start=1))
    )

    assert desk.run().code == 1
    shown = desk.adjudge("rollouts")
    assert (shown.code, shown.err) == (0, "")
    assert (
        "  behaves\n\n"
        "  Task          refund — A refund\n"
        "  Rollouts      5\n"
        "  Passed        3 / 5\n"
        "  Mean reward   0.74\n"
        "  Best          1.00\n"
        "  Worst         0.20\n"
    ) in shown.out
    assert "Errored" not in shown.out


def test_rollouts_without_a_score_are_counted_as_errored_and_enter_no_mean(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.answer = lambda request: Reply(status=500 if b"This is c2." in request.body else 200)
    desk.conversations(*(desk.conversation(id_, test="refund") for id_ in ("c1", "c2")))

    assert desk.run().code == 3
    shown = desk.adjudge("rollouts").out
    for line in ("Rollouts      2", "Passed        1 / 2", "Mean reward   1.00", "Errored       1"):
        assert f"  {line}\n" in shown


def test_tool_calls_and_errors_are_counted_and_move_no_score(desk: Desk) -> None:
    messages = [
        {"role": "user", "content": "Refund me."},
        {"role": "assistant", "tool_calls": [{"id": "t1", "name": "refund", "arguments": {"order": 7}}]},
        {"role": "tool", "tool_call_id": "t1", "error": "no such order"},
        {"role": "assistant", "content": "That failed."},
    ]
    desk.suite(desk.grader("A."))
    desk.conversations({"id": "c1", "messages": messages})

    assert desk.run().code == 0
    (row,) = desk.results()
    assert (row["tool_calls"], row["tool_errors"], row["combined_score"]) == (1, 1, 1)
    exported = result_json(desk)
    assert (exported["toolCalls"], exported["toolErrors"]) == (1, 1)
    assert b"no such order" in desk.server.requests[0].body


def test_the_files_of_a_run_have_the_shapes_that_programs_rely_on(desk: Desk) -> None:
    desk.suite(desk.grader("A."), desk.verifier("return [check('a', True)]"))
    desk.answer = lambda request: says(
        json.dumps(
            {
                "verdicts": [
                    {
                        "id": "s1",
                        "rationale": "It asks.",
                        "citations": [{"turn": 2, "quote": "your order number"}],
                        "decision": "met",
                    }
                ]
            }
        )
    )

    assert desk.run().code == 0
    (row,) = desk.results()
    judged, checked = row["grades"]
    (statement,) = judged["statements"]
    assert list(row) == [
        *("conversation_id", "test", "title", "rollout", "status", "termination_reason", "grading_state"),
        *("combined_score", "agent_pov_incomplete", "tool_calls", "tool_errors", "agent_output", "error"),
        *("left_out", "grades", "missing"),
    ]
    common = ["grader", "grader_version", "type", "gating", "result", "score", "met", "total", "threshold"]
    assert list(judged) == [*common, "error", "spent", "statements"]
    assert list(checked) == [*common, "error", "spent", "checks"]
    assert list(statement) == [
        *("id", "text", "required", "decision", "counted", "rationale", "citations", "error", "cached"),
        *("source", "verdict_key", "judge", "model", "served_model", "attempts", "usage", "cost_usd"),
    ]
    assert statement["citations"] == [{"turn": 2, "quote": "your order number", "verified": True}]
    assert (statement["id"], statement["judge"], statement["model"]) == ("s1", "main", "openai/any")
    assert statement["usage"] == {"input_tokens": 100, "output_tokens": 20, "cached_input_tokens": 0}
    summary = desk.summary()
    assert list(summary) == [
        *("run_id", "suite", "counts", "policy", "exit_code", "graders", "combined_score", "calls", "cached"),
        *("usage", "usage_unknown_calls", "cost_usd", "cost_unknown_calls", "errors_by_cause"),
    ]
    assert summary["run_id"] == desk.runs[-1].name
    assert (summary["calls"], summary["cached"], summary["cost_unknown_calls"]) == (1, 0, 1)
    assert list(summary["policy"]) == ["name", "result", "reasons"]
    assert {"conversations", "grades", "passed", "failed", "errored", "not_requested", "not_gradable"} <= (
        summary["counts"].keys()
    )
