"""The arithmetic of grades (S1 to S11)."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.pipeline.scoring import (
    bounds,
    combined,
    exact,
    grading_state,
    half_up,
    pass_at_k,
    pass_hat_k,
    result,
    score,
)

scores = st.fractions(min_value=0, max_value=1, max_denominator=1000)


@pytest.mark.parametrize(
    ("met", "total", "threshold", "expected"),
    [
        (3, 4, "1", "failed"),
        (3, 4, "0.75", "passed"),
        (3, 4, "0.76", "failed"),
        (0, 4, "1", "failed"),
        (7, 10, "0.7", "passed"),
        (2, 3, "0.67", "failed"),
        (4, 4, "1", "passed"),
    ],
)
def test_a_score_passes_exactly_from_its_threshold_on(
    met: int, total: int, threshold: str, expected: str
) -> None:
    assert result(score(met, total), exact(threshold), required_met=True) == expected


@pytest.mark.parametrize("threshold", ["0", "0.5", "1"])
def test_no_score_is_errored_at_any_threshold(threshold: str) -> None:
    assert result(None, exact(threshold), required_met=False) == "errored"


def test_an_unmet_required_statement_fails_whatever_the_score() -> None:
    assert result(score(9, 10), exact(0), required_met=False) == "failed"


def test_one_of_three_required_and_two_of_two_optional_is_a_fail_with_reward_three_fifths() -> None:
    value = score(1 + 2, 3 + 2)

    assert result(value, exact(0), required_met=False) == "failed"
    assert half_up(value) == Decimal("0.60")


def test_a_float_stands_for_its_decimal_text() -> None:
    assert exact(0.7) == Fraction(7, 10)
    assert sum([exact(0.7)] * 3) / 3 >= exact(0.7)


@pytest.mark.parametrize(("met", "total"), [(0, 0), (2, 1), (-1, 3)])
def test_a_score_of_nothing_or_beyond_its_total_is_refused(met: int, total: int) -> None:
    with pytest.raises(ValueError, match="a score needs"):
        score(met, total)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([Fraction(1), Fraction(1, 2)], Fraction(3, 4)),
        ([Fraction(1), Fraction(0, 4)], Fraction(1, 2)),
        ([Fraction(1), None], None),
        ([], None),
    ],
)
def test_the_combined_score_is_the_plain_mean_or_nothing(
    values: list[Fraction | None], expected: Fraction | None
) -> None:
    assert combined(values) == expected


@given(st.lists(scores, min_size=1))
def test_a_combined_score_lies_between_the_lowest_and_the_highest(values: list[Fraction]) -> None:
    value = combined(values)

    assert value is not None
    assert min(values) <= value <= max(values)


@pytest.mark.parametrize(
    ("completed", "selected", "results", "expected"),
    [
        (False, 2, ["passed", "passed"], None),
        (False, 0, [], None),
        (True, 0, [], "not_requested"),
        (True, 2, [], "pending"),
        (True, 2, [None, None], "pending"),
        (True, 2, ["passed"], "running"),
        (True, 2, ["errored", None], "running"),
        (True, 2, ["passed", "errored"], "error"),
        (True, 2, ["passed", "failed"], "complete"),
    ],
)
def test_the_grading_state_is_the_first_that_matches(
    completed: bool, selected: int, results: list[str | None], expected: str | None
) -> None:
    assert grading_state(completed, selected, results) == expected  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(1, 8), "0.13"),
        (Fraction(1), "1.00"),
        (Fraction(0), "0.00"),
        (Fraction(2, 3), "0.67"),
        (sum([Fraction(1)] * 3, Fraction(1, 2) + Fraction(1, 5)) / 5, "0.74"),
    ],
)
def test_rounding_is_half_up_on_exact_values(value: Fraction, text: str) -> None:
    assert str(half_up(value)) == text


@given(scores)
def test_rounding_is_never_off_by_more_than_half_a_hundredth(value: Fraction) -> None:
    off = Fraction(half_up(value)) - value

    assert Fraction(-1, 200) < off <= Fraction(1, 200)


@given(st.lists(scores, max_size=6), st.integers(0, 6), st.data())
def test_bounds_hold_whatever_the_missing_values_turn_out_to_be(
    known: list[Fraction], missing: int, data: st.DataObject
) -> None:
    if not known and not missing:
        return
    found = data.draw(st.lists(scores, min_size=missing, max_size=missing))
    lowest, highest = bounds(known, missing)

    assert lowest <= sum([*known, *found], Fraction(0)) / (len(known) + missing) <= highest


@given(st.integers(1, 8), st.data())
def test_pass_hat_k_never_exceeds_pass_at_k(n: int, data: st.DataObject) -> None:
    passed = data.draw(st.integers(0, n))
    k = data.draw(st.integers(1, n))

    assert 0 <= pass_hat_k(passed, n, k) <= pass_at_k(passed, n, k) <= 1


def test_pass_at_one_is_the_pass_rate() -> None:
    assert pass_at_k(2, 5, 1) == pass_hat_k(2, 5, 1) == Fraction(2, 5)
