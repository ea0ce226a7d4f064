"""What a `statements` grader asks, and the grade that answers make (S1, S3, S6, S7, J4, J8)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.judges.failure import Failure
from adjudge.judges.request import Evidence, Model, Prompt
from adjudge.judges.verdict import Answer, Attempt, Decision, Source, Usage, Verdict
from adjudge.pipeline.grade import GradeRow
from adjudge.pipeline.grading.questions import Question, questions
from adjudge.pipeline.grading.statements import Outcome, answered, statements_grade
from adjudge.pipeline.planning.plan import PlannedGrader, PlannedStatement

EVIDENCE = Evidence(text="", digest="e" * 64, turns=())
PROMPT = Prompt(name="judge", system="", user="", digest="p" * 64)
MODELS = {name: Model(name=f"openai/{name}") for name in ("one", "two", "three")}
FAILURE = Failure(cause="timeout", message="no reply", retryable=True, attempts=(Attempt(cause="timeout"),))


def grader(**more: Any) -> PlannedGrader:
    plain: dict[str, Any] = {"name": "g", "type": "statements", "version": "v", "threshold": 1.0}
    return PlannedGrader.model_validate(plain | {"gating": True, "judges": ["one"]} | more)


def statements(count: int, *required: int) -> list[PlannedStatement]:
    return [PlannedStatement(text=f"S{place}.", required=place in required) for place in range(count)]


def asked(grader: PlannedGrader, statements: Sequence[PlannedStatement]) -> list[Question]:
    return list(
        questions(
            grader,
            statements,
            dict.fromkeys(MODELS, EVIDENCE),
            models=MODELS,
            limits={},
            prompt=PROMPT,
            conversation="c",
        )
    )


def answer(*decisions: Decision, source: Source = "live", cost: float | None = 0.5) -> Answer:
    attempt = Attempt(status=200, usage=Usage(input_tokens=10, output_tokens=2), cost_usd=cost)
    verdicts = tuple(Verdict(decision=decision, rationale=decision) for decision in decisions)
    return Answer(verdicts=verdicts, attempts=(attempt,), source=source)


def grade(grader: PlannedGrader, statements: list[PlannedStatement], *outcomes: Outcome) -> GradeRow:
    return statements_grade(grader, statements, asked(grader, statements), outcomes)


def rows(grade: GradeRow) -> list[dict[str, Any]]:
    return [dict(row) for row in grade.get("statements", [])]


def test_each_statement_is_a_question_of_each_judge_and_sample() -> None:
    found = asked(grader(judges=["one", "two"], samples=2), statements(2))

    assert [(q.places, q.judge, q.request.sample, q.request.unit) for q in found] == [
        ((0,), "one", 0, "c/g/s1/one/0"),
        ((0,), "one", 1, "c/g/s1/one/1"),
        ((0,), "two", 0, "c/g/s1/two/0"),
        ((0,), "two", 1, "c/g/s1/two/1"),
        ((1,), "one", 0, "c/g/s2/one/0"),
        ((1,), "one", 1, "c/g/s2/one/1"),
        ((1,), "two", 0, "c/g/s2/two/0"),
        ((1,), "two", 1, "c/g/s2/two/1"),
    ]
    assert len({q.request.key for q in found}) == 8


def test_all_statements_are_one_question_where_a_grader_calls_once() -> None:
    (found,) = asked(grader(calls="per_grader"), statements(3))

    assert (found.places, found.request.unit) == ((0, 1, 2), "c/g/all/one/0")
    assert found.request.statements == ("S0.", "S1.", "S2.")


def test_nothing_is_asked_where_no_statement_applies() -> None:
    made = grade(grader(), [])

    assert asked(grader(), []) == []
    assert (made["result"], made["score"], made["total"]) == ("errored", None, None)
    assert made["error"] == {
        "cause": "no_statements",
        "message": "no statement applies to this conversation",
        "retryable": False,
    }


@given(
    outcomes=st.lists(
        st.sampled_from([answer("met"), answer("not_met"), answer("undetermined"), FAILURE]),
        min_size=1,
        max_size=6,
    ),
    required=st.sets(st.integers(0, 5)),
    threshold=st.sampled_from([0.0, 0.25, 0.5, 0.67, 1.0]),
    undetermined=st.sampled_from(["errored", "not_met"]),
)
def test_a_grade_follows_the_rules_whatever_the_answers(
    outcomes: list[Outcome], required: set[int], threshold: float, undetermined: str
) -> None:
    planned = statements(len(outcomes), *required)
    subject = grader(threshold=threshold, undetermined=undetermined)
    decisions = [o.verdicts[0].decision if isinstance(o, Answer) else None for o in outcomes]
    toothless = threshold == 0 and not any(statement.required for statement in planned)
    errs = None in decisions or (undetermined == "errored" and "undetermined" in decisions) or toothless

    made = grade(subject, planned, *outcomes)

    assert (made["error"] is not None) == (made["result"] == "errored") == (made["score"] is None) == errs
    assert [row["counted"] for row in rows(made)] == [not errs] * len(outcomes)
    assert [row["decision"] for row in rows(made)] == decisions
    assert made["total"] == len(outcomes)
    if not errs:
        met = decisions.count("met")
        unmet = any(s.required and d != "met" for s, d in zip(planned, decisions, strict=True))
        above = Fraction(met, len(outcomes)) >= Fraction(str(threshold))
        assert (made["met"], made["score"]) == (met, met / len(outcomes))
        assert made["result"] == ("passed" if above and not unmet else "failed")


def test_the_first_errors_cause_is_the_grades_and_any_retryable_makes_it_so() -> None:
    made = grade(grader(), statements(3), answer("met"), answer("undetermined"), FAILURE)

    assert made["error"] == {
        "cause": "undetermined",
        "message": "2 of 3 statements errored; s2: the judge could not decide from the evidence",
        "retryable": True,
    }


def test_one_reply_gives_each_statement_its_verdict_and_is_spent_once() -> None:
    subject = grader(calls="per_grader", threshold=0.5)

    made = grade(subject, statements(2), answer("met", "not_met"))

    assert [row["decision"] for row in rows(made)] == ["met", "not_met"]
    assert made["spent"]["calls"] == 1
    assert len({row["verdict_key"] for row in rows(made)}) == 1


def test_a_panel_keeps_every_vote_and_speaks_for_the_majority() -> None:
    subject = grader(judges=["one", "two", "three"])

    made = grade(subject, statements(1), answer("not_met"), answer("met"), answer("met"))

    (row,) = rows(made)
    assert (row["decision"], row["judge"], row["verdict_key"]) == ("met", "one+two+three", None)
    assert [(vote["judge"], vote["decision"]) for vote in row["votes"]] == [
        ("one", "not_met"),
        ("two", "met"),
        ("three", "met"),
    ]
    assert (row["attempts"], row["usage"]["input_tokens"], row["cost_usd"]) == (3, 30, 1.5)


def test_what_was_not_asked_now_costs_nothing_now() -> None:
    made = grade(grader(), statements(2), answer("met"), answer("met", source="cache"))

    assert (made["spent"]["calls"], made["spent"]["cached"], made["spent"]["cost_usd"]) == (1, 1, 0.5)
    assert [(row["cached"], row["source"]) for row in rows(made)] == [(False, "live"), (True, "cache")]


def test_what_an_earlier_grade_has_counted_is_not_counted_again() -> None:
    subject, planned = grader(), statements(3)
    before = grade(subject, planned, answer("met"), FAILURE, answer("undetermined"))
    counted = set(answered(before))

    made = statements_grade(
        subject,
        planned,
        asked(subject, planned),
        [answer("met"), answer("met"), answer("undetermined")],
        counted=counted,
    )

    keys = [question.request.key for question in asked(subject, planned)]
    assert counted == {keys[0], keys[2]}
    assert before["spent"]["calls"] == 3
    assert (made["spent"]["calls"], made["spent"]["cached"]) == (1, 0)


def test_the_answers_of_a_panel_are_those_of_its_votes() -> None:
    subject, planned = grader(judges=["one", "two"]), statements(1)
    made = grade(subject, planned, answer("met"), FAILURE)

    assert list(answered(made)) == [asked(subject, planned)[0].request.key]


def test_a_call_of_unknown_cost_makes_the_cost_of_its_statement_unknown() -> None:
    made = grade(grader(), statements(1), answer("met", cost=None))

    assert rows(made)[0]["cost_usd"] is None
    assert (made["spent"]["cost_usd"], made["spent"]["cost_unknown_calls"]) == (0, 1)


@pytest.mark.parametrize("threshold", [0.0, 1.0])
def test_threshold_0_takes_a_required_statement(threshold: float) -> None:
    made = grade(grader(threshold=threshold), statements(1, 0), answer("met"))

    assert made["result"] == "passed"
    assert grade(grader(threshold=threshold), statements(1, 0), answer("not_met"))["result"] == "failed"
