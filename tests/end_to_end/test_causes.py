"""Every cause of an error: in the statement, in its grade, in the summary and in the journal (S5, S6)."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from adjudge.testing import Reply, Request, says

if TYPE_CHECKING:
    from tests.end_to_end.conftest import Desk

QUOTA = {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}
TOO_LONG = {
    "error": {"message": "This model's maximum context length is 10", "code": "context_length_exceeded"}
}
FROM_THE_WIRE: list[tuple[str, Reply, int, bool]] = [
    ("rate_limited", Reply(status=429), 1, True),
    ("timeout", Reply(fault="hang"), 1, True),
    ("timeout", Reply(status=408), 1, True),
    ("unavailable", Reply(status=503), 1, True),
    ("unavailable", Reply(fault="reset"), 1, True),
    ("auth", Reply(status=401), 1, False),
    ("quota", Reply(status=429, body=QUOTA), 1, False),
    ("not_found", Reply(status=404), 1, False),
    ("bad_request", Reply(status=400, body={"error": {"message": "no such parameter"}}), 1, False),
    ("input_too_long", Reply(status=400, body=TOO_LONG), 1, False),
    ("content_filter", Reply(finish="content_filter"), 1, False),
    ("refusal", Reply(refusal="I would rather not."), 1, False),
    ("truncated", Reply(finish="length"), 2, False),
    ("malformed_output", says("Everything is met."), 2, True),
    ("malformed_output", says('{"verdicts": [], "verdicts": []}'), 2, True),
    ("malformed_output", Reply(finish="weird_reason"), 2, True),
    ("malformed_output", Reply(body=b"<html>"), 2, True),
]


@pytest.mark.parametrize(
    ("cause", "reply", "calls", "retryable"),
    FROM_THE_WIRE,
    ids=[f"{place}-{row[0]}" for place, row in enumerate(FROM_THE_WIRE)],
)
def test_what_goes_wrong_with_a_call_errs_and_never_scores(
    desk: Desk, cause: str, reply: Reply, calls: int, retryable: bool
) -> None:
    judge = desk.judge(attempt_timeout=0.5 if cause == "timeout" else 60)
    desk.suite(desk.grader("A.", "B.", calls="per_grader"), judges={"main": judge})
    desk.answer = lambda _: reply

    done = desk.run()

    (grade,) = desk.grades()
    assert done.code == 3
    assert (grade["result"], grade["score"], grade["met"]) == ("errored", None, None)
    assert (grade["error"]["cause"], grade["error"]["retryable"]) == (cause, retryable)
    assert [row["error"]["cause"] for row in grade["statements"]] == [cause, cause]
    assert desk.summary()["errors_by_cause"] == {cause: 1}
    assert desk.summary()["calls"] == desk.server.count == calls
    journal = [json.loads(line) for line in (desk.runs[0] / "errors.jsonl").read_text().splitlines()]
    assert [row["cause"] for row in journal] == [cause] * calls
    assert {row["conversation_id"] for row in journal} == {"c1"}
    assert f"  {cause}" in done.out
    assert desk.adjudge("cache", "stats").out.startswith("0 entries")


def no_statement_applies(desk: Desk) -> None:
    desk.suite(desk.grader() | {"statements": None})


def undetermined(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.decide({"A.": "undetermined"})


def split_jury(desk: Desk) -> None:
    judges = {"main": desk.judge(), "other": desk.judge(model="openai/other")}
    grader = desk.grader("A.", jury=["main", "other"])
    del grader["judge"]
    desk.suite(grader, judges=judges)
    desk.answer = lambda request: Reply(decision="met" if request.json["model"] == "any" else "not_met")


def breaking_verifier(desk: Desk) -> None:
    desk.suite(desk.verifier("raise ValueError('what is this')", name="behaves"))


def toothless_verifier(desk: Desk) -> None:
    desk.suite(desk.verifier("return []", name="behaves"))


def toothless_statements(desk: Desk) -> None:
    grader = desk.grader(threshold=0) | {"statements": None}
    tests = {"strict": {"statements": {"behaves": [{"text": "A.", "required": True}]}}}
    desk.suite(grader, tests=tests)
    desk.conversations(desk.conversation("c1", statements={"behaves": ["B."]}))


def no_budget(desk: Desk) -> None:
    desk.suite(desk.grader("A."), budget={"max_calls": 0})


@pytest.mark.parametrize(
    ("cause", "prepare"),
    [
        ("no_statements", no_statement_applies),
        ("undetermined", undetermined),
        ("no_majority", split_jury),
        ("verifier_error", breaking_verifier),
        ("no_required_checks", toothless_verifier),
        ("no_required_checks", toothless_statements),
        ("budget_exhausted", no_budget),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_what_goes_wrong_beside_calls_errs_and_never_scores(
    desk: Desk, cause: str, prepare: Callable[[Desk], None]
) -> None:
    prepare(desk)

    done = desk.run()

    (grade,) = desk.grades()
    assert done.code == 3
    assert all(line.startswith("adjudge: warning: ") for line in done.err.splitlines())
    assert (grade["result"], grade["score"], grade["met"]) == ("errored", None, None)
    assert grade["error"]["cause"] == cause
    assert desk.results()[0]["combined_score"] is None
    assert desk.summary()["errors_by_cause"] == {cause: 1}


def test_a_question_without_a_stored_verdict_errs_offline_without_a_call(desk: Desk) -> None:
    desk.suite(desk.grader("A."))

    assert desk.run("--offline").code == 3
    assert desk.grades()[0]["error"]["cause"] == "not_cached"
    assert desk.server.count == 0


def test_an_outage_opens_the_breaker_and_the_rest_is_not_asked(desk: Desk) -> None:
    desk.conversations(*(f"c{n}" for n in range(40)))
    desk.suite(desk.grader("A."), judges={"main": desk.judge(deadline=0.3, max_concurrency=4)})
    desk.answer = lambda _: Reply(status=503)

    assert desk.run().code == 3
    causes = desk.summary()["errors_by_cause"]
    assert causes.keys() == {"unavailable", "circuit_open"}
    assert sum(causes.values()) == 40
    assert desk.server.count == causes["unavailable"] < 30


def test_what_was_not_begun_when_a_run_was_stopped_is_missing_and_not_errored(desk: Desk) -> None:
    desk.conversations(*(f"c{n}" for n in range(20)))
    desk.suite(desk.grader("A."), judges={"main": desk.judge(max_concurrency=1)})
    running: list[Any] = []
    started = threading.Event()

    def answer(request: Request) -> Reply:
        if desk.server.count == 3:
            started.wait()
            running[0].signal(2)
            running[0].wait_until_said("stopping: ")
        return Reply()

    desk.answer = answer
    running.append(desk.start("run", "suite.yaml"))
    started.set()

    assert running[0].wait().code == 130
    counts = desk.summary()["counts"]
    assert (counts["passed"], counts["errored"], counts["missing"]) == (3, 0, 17)
    assert desk.results()[0]["grading_state"] == "complete"
    assert desk.results()[-1]["grading_state"] == "pending"
    assert desk.results()[-1]["missing"] == ["behaves"]


def test_a_transient_fault_is_retried_and_leaves_a_line_in_the_journal(desk: Desk) -> None:
    judge = desk.judge(attempts=2)
    desk.suite(desk.grader("A."), judges={"main": judge})
    desk.answer = lambda _: Reply(status=503 if desk.server.count == 1 else 200)

    assert desk.run().code == 0
    (statement,) = desk.grades()[0]["statements"]
    assert (statement["attempts"], statement["decision"]) == (2, "met")
    (line,) = (desk.runs[0] / "errors.jsonl").read_text().splitlines()
    assert json.loads(line)["cause"] == "unavailable"
    assert desk.summary()["calls"] == 2


def test_a_reply_that_is_mended_after_it_was_told_what_was_wrong_counts(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.answer = lambda _: says("Met, of course.") if desk.server.count == 1 else Reply()

    assert desk.run().code == 0
    assert b"can't be used" in desk.server.requests[1].body
    assert desk.grades()[0]["statements"][0]["attempts"] == 2


def quoting(quote: str, turn: int = 2) -> Reply:
    """The model cites that."""
    citation = {"turn": turn, "quote": quote}
    verdict = {"id": "s1", "rationale": "r", "citations": [citation], "decision": "met"}
    return says(json.dumps({"verdicts": [verdict]}))


@pytest.mark.parametrize(
    ("quote", "verified"), [("what is  your ORDER", False), ("what is\nyour order", True), ("Goodbye", False)]
)
def test_a_quote_is_looked_for_in_its_turn_and_marked(desk: Desk, quote: str, verified: bool) -> None:
    desk.suite(desk.grader("A."))
    desk.answer = lambda _: quoting(quote)

    assert desk.run().code == 0
    (citation,) = desk.grades()[0]["statements"][0]["citations"]
    assert citation == {"turn": 2, "quote": quote, "verified": verified}


def test_a_quote_that_is_not_there_is_malformed_where_citations_are_required(desk: Desk) -> None:
    desk.suite(desk.grader("A.", citations="require"))
    desk.answer = lambda _: quoting("Goodbye")

    assert desk.run().code == 3
    assert desk.summary()["errors_by_cause"] == {"malformed_output": 1}
    assert desk.server.count == 2


def test_a_cited_turn_that_does_not_exist_is_malformed(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.answer = lambda _: quoting("Hello", turn=3)

    assert desk.run().code == 3
    assert desk.summary()["errors_by_cause"] == {"malformed_output": 1}
