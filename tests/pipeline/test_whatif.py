"""Other thresholds and flags over old verdicts (P4)."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.judges.failure import UsageError
from adjudge.pipeline.checks import Check
from adjudge.pipeline.grade import GradeRow, ResultRow
from adjudge.pipeline.grading.checks_grade import checks_grade
from adjudge.pipeline.planning.plan import PlanHead, PlannedGrader
from adjudge.pipeline.whatif import Change, check_labels, flips, parse_change, redecide

if TYPE_CHECKING:
    from tests.pipeline.conftest import NewRun


@pytest.fixture
def head(new_run: NewRun) -> PlanHead:
    return new_run({}, {"name": "second=2"}).plan().head


def graded(checks: list[tuple[str, bool, bool]], threshold: float = 0.5) -> GradeRow:
    """The grade of checks: label, passed, required."""
    grader = PlannedGrader(name="g", type="checks", version="v", threshold=threshold, gating=True)
    return checks_grade(grader, [Check(label=a, passed=b, required=c) for a, b, c in checks])


def row(*grades: GradeRow) -> ResultRow:
    return cast("ResultRow", {"conversation_id": "c1", "grades": list(grades)})


def test_words_of_the_command_line_name_graders_statements_and_numbers(head: PlanHead) -> None:
    change = parse_change(head, ["0.9", "behaves=0.7"], ["behaves:s2", "second=2:A."], ["behaves:B: x"])

    assert change.thresholds == {"*": Fraction(9, 10), "behaves": Fraction(7, 10)}
    assert change.required == {
        ("behaves", "B."): True,
        ("second=2", "A."): True,
        ("behaves", "B: x"): False,
    }


def test_a_threshold_of_a_grader_goes_before_that_of_all(head: PlanHead) -> None:
    change = parse_change(head, ["0.9", "second=2=0.7"], [], [])
    grade: Any = {"grader": "second=2", "threshold": 1.0}

    assert change.threshold(grade) == Fraction(7, 10)
    assert change.threshold(grade | {"grader": "behaves"}) == Fraction(9, 10)
    assert Change().threshold(grade) == 1


@pytest.mark.parametrize(
    "word", ["", "x", "behaves=", "nan", "inf", "1e999999999", "-0.1", "1.01", "nobody=1"]
)
def test_a_threshold_that_is_none_is_refused(head: PlanHead, word: str) -> None:
    with pytest.raises(UsageError):
        parse_change(head, [word], [], [])


@pytest.mark.parametrize("word", ["", "behaves", "behaves:", "nobody:s1", ":s1"])
def test_a_flag_that_names_nothing_is_refused(head: PlanHead, word: str) -> None:
    with pytest.raises(UsageError):
        parse_change(head, [], [word], [])


def test_a_label_that_stands_in_no_grade_is_refused() -> None:
    rows = [row(graded([("a", True, True)])), row(graded([("b", True, True)]))]

    check_labels(rows, Change(required={("g", "a"): False, ("g", "b"): True}))
    with pytest.raises(UsageError, match="no grade of 'g' has a statement or check 'c'"):
        check_labels(rows, Change(required={("g", "c"): True}))


CHECKS = st.lists(
    st.tuples(st.sampled_from("abcd"), st.booleans(), st.booleans()),
    min_size=1,
    max_size=4,
    unique_by=lambda check: check[0],
)


@given(
    checks=CHECKS,
    before=st.sampled_from([0.25, 0.5, 0.75, 1.0]),
    after=st.sampled_from(["0", "0.25", "0.5", "0.67", "1"]),
    flags=st.dictionaries(st.sampled_from("abcd"), st.booleans()),
)
def test_a_grade_decided_anew_is_the_grade_that_would_have_been_made(
    checks: list[tuple[str, bool, bool]], before: float, after: str, flags: dict[str, bool]
) -> None:
    grade = graded(checks, before)
    change = Change(
        thresholds={"g": Fraction(after)}, required={("g", label): flag for label, flag in flags.items()}
    )
    changed = [(label, passed, flags.get(label, required)) for label, passed, required in checks]

    if after == "0" and not any(required for _, _, required in changed):
        with pytest.raises(UsageError, match="nothing could fail"):
            redecide(grade, change)
    else:
        assert redecide(grade, change) == graded(changed, float(after))["result"]


@given(checks=CHECKS, threshold=st.sampled_from([0.25, 0.5, 1.0]))
def test_no_change_turns_no_grade(checks: list[tuple[str, bool, bool]], threshold: float) -> None:
    assert list(flips([row(graded(checks, threshold))], Change())) == []


def test_a_turned_grade_is_told_with_what_it_was() -> None:
    (flip,) = flips(
        [row(graded([("a", True, True), ("b", False, False)]))], Change(thresholds={"*": Fraction(1)})
    )

    assert (flip.conversation_id, flip.grader, flip.before, flip.after) == ("c1", "g", "passed", "failed")
