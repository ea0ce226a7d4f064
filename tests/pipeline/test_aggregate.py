"""What grades add up to, exactly."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge.pipeline.aggregate import (
    Aggregate,
    combined_bounds,
    failing,
    items,
    missing_graders,
    results_by_grader,
    score_of,
)
from adjudge.pipeline.checks import check, optional
from adjudge.pipeline.grade import GradeRow, ResultRow
from adjudge.pipeline.grading.checks_grade import checks_grade
from adjudge.pipeline.planning.plan import PlannedGrader
from adjudge.pipeline.scoring import score

ROWS = Path(__file__).parents[1] / "data/reports/results.jsonl"


def stored() -> dict[str, ResultRow]:
    rows: list[ResultRow] = [json.loads(line) for line in ROWS.read_text().split("\n") if line]
    return {row["conversation_id"]: row for row in rows}


def checked(threshold: float, *required: bool, optionally: tuple[bool, ...] = ()) -> GradeRow:
    grader = PlannedGrader(name="g", type="checks", version="v", threshold=threshold, gating=True)
    checks = [check(f"r{place}", passed) for place, passed in enumerate(required)]
    return checks_grade(
        grader, [*checks, *(optional(f"o{n}", passed) for n, passed in enumerate(optionally))]
    )


scores = st.integers(1, 9).flatmap(lambda total: st.integers(0, total).map(lambda met: score(met, total)))


@settings(deadline=None)
@given(st.lists(scores, min_size=1), st.lists(st.booleans()))
def test_an_aggregate_lies_within_its_bounds_and_reaches_them_when_all_the_missing_are_0_or_1(
    known: list[Fraction], missing: list[bool]
) -> None:
    aggregate, zeros, ones = Aggregate(), Aggregate(), Aggregate()
    for value in known:
        for each in (aggregate, zeros, ones):
            each.add(value)
    for errored in missing:
        aggregate.add_missing(errored=errored)
        zeros.add(Fraction(0))
        ones.add(Fraction(1))

    row = aggregate.row()

    assert (row["scored"], row["selected"]) == (len(known), len(known) + len(missing))
    assert row["errored"] == sum(missing)
    if missing:
        assert (row["lowest"], row["highest"]) == (zeros.row()["mean"], ones.row()["mean"])
    else:
        assert (row["lowest"], row["highest"]) == (None, None)


@settings(deadline=None)
@given(st.lists(scores, min_size=1))
def test_a_mean_is_exact_whatever_the_order(values: list[Fraction]) -> None:
    aggregate = Aggregate()
    for value in reversed(values):
        aggregate.add(value)

    assert aggregate.mean == sum(values, Fraction(0)) / len(values)


def test_an_aggregate_of_nothing_scored_has_no_mean_and_the_widest_bounds() -> None:
    aggregate = Aggregate()
    aggregate.add_missing(errored=True)

    assert aggregate.row() == {
        "mean": None, "scored": 0, "selected": 1, "errored": 1, "lowest": 0.0, "highest": 1.0,
    }  # fmt: skip


def test_an_aggregate_of_no_selection_is_empty() -> None:
    assert Aggregate().row() == {
        "mean": None, "scored": 0, "selected": 0, "errored": 0, "lowest": None, "highest": None,
    }  # fmt: skip


def test_a_grade_a_conversation_misses_leaves_its_combined_score_within_bounds() -> None:
    assert combined_bounds(stored()["desk-3"]) == (Fraction(1, 8), Fraction(5, 8))
    assert combined_bounds(stored()["desk-5"]) == (Fraction(0), Fraction(1))


def test_an_errored_grade_has_no_score() -> None:
    assert [score_of(grade) for grade in stored()["desk-3"]["grades"]] == [Fraction(1, 4), None]


def test_below_its_threshold_a_grade_fails_by_everything_that_is_not_met() -> None:
    grade = checked(0.75, True, True, optionally=(False, False))

    assert [item.label for item in failing(grade)] == ["o0", "o1"]


def test_at_its_threshold_a_grade_fails_by_what_is_required() -> None:
    grade = checked(0.0, True, False, optionally=(False,))

    assert [item.label for item in failing(grade)] == ["r1"]


def test_a_grade_that_passed_fails_by_nothing() -> None:
    assert failing(checked(0.7, *[True] * 7, optionally=(False,) * 3)) == []


def test_an_undetermined_statement_that_counts_as_not_met_is_not_met() -> None:
    grade = stored()["desk-1"]["grades"][0]
    for statement in grade.get("statements", []):
        statement["decision"] = "undetermined"

    assert [item.passed for item in items(grade)] == [False] * 4


def test_graders_without_a_grade_are_known() -> None:
    assert missing_graders(stored()["chat-1"]) == ["expected-behaviors"]


def test_results_are_counted_by_grader() -> None:
    counted = results_by_grader(stored().values())

    assert {name: dict(results) for name, results in counted.items()} == {
        "expected-behaviors": {"passed": 1, "failed": 2, "errored": 1},
        "books-balance": {"passed": 2, "failed": 1, "errored": 1},
        "tone": {"passed": 1},
    }
