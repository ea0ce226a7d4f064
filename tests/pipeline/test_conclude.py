"""From journal to results: the latest grade counts, and every planned grade is in one count (P3, S13)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, cast

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adjudge.pipeline.conclude import Latest, conclude
from adjudge.pipeline.grade import ErrorRow, GradeRow
from adjudge.pipeline.rundir import Run
from adjudge.pipeline.spent import spent_nothing

if TYPE_CHECKING:
    from tests.pipeline.conftest import NewRun

MADE = ("passed", "failed", "errored")
PARTS: dict[str, tuple[int | None, float | None]] = {"passed": (4, 1.0), "failed": (1, 0.25)}


def grade(result: str, grader: str = "behaves", *, calls: int = 0, gating: bool = True) -> GradeRow:
    """A grade of 4 statements: 4 are met where it passed, 1 where it failed."""
    met, score = PARTS.get(result, (None, None))
    error: ErrorRow | None = None
    if result == "errored":
        error = {"cause": "timeout", "message": "no reply", "retryable": True}
    row: dict[str, Any] = {
        "grader": grader,
        "grader_version": "v",
        "type": "statements",
        "gating": gating,
        "result": result,
        "score": score,
        "met": met,
        "total": 4,
        "threshold": 1.0,
        "error": error,
        "spent": spent_nothing() | {"calls": calls},
        "statements": [],
    }
    return cast("GradeRow", row)


def journal(run: Run, *grades: tuple[int, GradeRow]) -> None:
    """Append grades to the journal, each with its conversation's number."""
    with run.file("grades.jsonl").open("ab") as file:
        for number, made in grades:
            row = {"conversation_id": f"c{number}", "number": number, "grade": made}
            file.write(orjson.dumps(row) + b"\n")


def test_the_latest_grade_of_a_grader_counts_and_all_their_calls_do(new_run: NewRun) -> None:
    run = new_run()
    journal(run, (0, grade("errored", calls=3)), (0, grade("failed", calls=2)), (0, grade("passed", calls=1)))

    summary = conclude(run, run.plan())

    (row,) = run.results()
    assert [made["result"] for made in row["grades"]] == ["passed"]
    assert (row["combined_score"], row["grading_state"]) == (1, "complete")
    assert (summary["calls"], summary["errors_by_cause"], summary["exit_code"]) == (6, {}, 0)
    assert run.summary() == summary


def test_grades_stand_in_the_order_of_the_plan_whatever_the_order_they_were_made_in(new_run: NewRun) -> None:
    run = new_run({}, {"name": "second"}, conversations=["c0", "c1"])
    journal(run, (1, grade("passed", "second")), (0, grade("failed", "second")), (1, grade("passed")))
    journal(run, (0, grade("passed")))

    conclude(run, run.plan())

    assert [(row["conversation_id"], [g["grader"] for g in row["grades"]]) for row in run.results()] == [
        ("c0", ["behaves", "second"]),
        ("c1", ["behaves", "second"]),
    ]


def test_a_grader_without_a_grade_is_missing_and_leaves_no_combined_score(new_run: NewRun) -> None:
    run = new_run({}, {"name": "second"}, conversations=["c0", "c1"])
    journal(run, (0, grade("passed")))

    summary = conclude(run, run.plan())

    first, second = run.results()
    assert (first["grading_state"], first.get("missing")) == ("running", ["second"])
    assert (second["grading_state"], second.get("missing")) == ("pending", ["behaves", "second"])
    assert first["combined_score"] is second["combined_score"] is None
    assert (summary["counts"]["missing"], summary["exit_code"]) == (3, 3)
    assert summary["combined_score"] == {
        "mean": None,
        "scored": 0,
        "selected": 2,
        "errored": 0,
        "lowest": 0.25,
        "highest": 1.0,
    }


def test_a_torn_last_line_is_no_grade(new_run: NewRun) -> None:
    run = new_run()
    journal(run, (0, grade("failed")), (0, grade("passed")))
    whole = run.file("grades.jsonl").read_bytes()
    run.file("grades.jsonl").write_bytes(whole[:-1])

    conclude(run, run.plan())

    assert [made["result"] for row in run.results() for made in row["grades"]] == ["failed"]


def test_a_run_nobody_began_has_every_grade_missing(new_run: NewRun) -> None:
    run = new_run(conversations=["c0", "c1"])

    summary = conclude(run, run.plan())

    assert (summary["counts"]["missing"], summary["exit_code"]) == (2, 3)
    assert [row["grading_state"] for row in run.results()] == ["pending", "pending"]


def test_a_signals_exit_code_takes_the_place_of_the_policys(new_run: NewRun) -> None:
    run = new_run()
    journal(run, (0, grade("failed")))

    assert conclude(run, run.plan(), exit_code=130)["exit_code"] == 130
    assert conclude(run, run.plan())["exit_code"] == 1


def test_what_earlier_legs_spent_is_known_to_the_next(new_run: NewRun) -> None:
    run = new_run(conversations=["c0", "c1"])
    journal(run, (0, grade("errored", calls=3)), (1, grade("passed", calls=4)))

    assert Latest(run, run.plan()).spent["calls"] == 7


@pytest.mark.parametrize("bad", ["c0", "c1", "c2"])
def test_a_grade_errored_is_no_grade_of_0(new_run: NewRun, bad: str) -> None:
    run = new_run(conversations=["c0", "c1", "c2"])
    for number in range(3):
        journal(run, (number, grade("errored" if f"c{number}" == bad else "failed")))

    summary = conclude(run, run.plan())

    assert summary["graders"]["behaves"] == {
        "mean": 0.25,
        "scored": 2,
        "selected": 3,
        "errored": 1,
        "lowest": pytest.approx(0.5 / 3),
        "highest": 0.5,
    }
    assert summary["errors_by_cause"] == {"timeout": 1}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50)
@given(
    grades=st.lists(
        st.tuples(st.integers(0, 2), st.sampled_from(["behaves", "second"]), st.sampled_from(MADE)),
        max_size=12,
    )
)
def test_every_planned_grade_is_in_exactly_one_count(
    new_run: NewRun, grades: list[tuple[int, str, str]]
) -> None:
    run = new_run({}, {"name": "second", "gating": False}, conversations=["c0", "c1", "c2"])
    latest: dict[tuple[int, str], str] = {}
    for number, grader, result in grades:
        journal(run, (number, grade(result, grader, gating=grader == "behaves")))
        latest[number, grader] = result
    expected = Counter(latest.values())

    counts = conclude(run, run.plan())["counts"]

    assert {word: counts[word] for word in MADE} == {word: expected[word] for word in MADE}
    assert counts["missing"] == 6 - len(latest)
    assert counts["grades"] == 6 == expected.total() + counts["missing"]
