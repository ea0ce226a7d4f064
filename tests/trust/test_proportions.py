"""Intervals of proportions, beside those of statsmodels."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.pipeline.trust.proportions import clopper_pearson, wilson

close: Any = partial(pytest.approx, abs=1e-9)
counts = st.integers(0, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts, st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_intervals_are_those_of_statsmodels(count: tuple[int, int], confidence: float) -> None:
    theirs_of: Any = import_module("statsmodels.stats.proportion").proportion_confint
    successes, n = count
    if n == 0:
        assert wilson(0, 0) == clopper_pearson(0, 0) == (0.0, 1.0)
        return
    for ours, method in ((wilson, "wilson"), (clopper_pearson, "beta")):
        theirs = theirs_of(successes, n, 1 - confidence, method)
        assert ours(successes, n, confidence) == close(theirs)


@given(counts, st.sampled_from([0.8, 0.95]))
def test_intervals_hold_the_rate_and_mirror_with_what_is_counted(
    count: tuple[int, int], confidence: float
) -> None:
    successes, n = count
    for interval in (wilson, clopper_pearson):
        low, high = interval(successes, n, confidence)
        assert 0 <= low <= (successes / n if n else 0.5) <= high <= 1
        mirrored = interval(n - successes, n, confidence)
        assert (1 - high, 1 - low) == close(mirrored)


def test_wilson_on_the_published_example() -> None:
    """Newcombe 1998, Statistics in Medicine 17:857, table I: 81 of 263 gives 0.2553 to 0.3662."""
    assert [round(end, 4) for end in wilson(81, 263)] == [0.2553, 0.3662]


def test_clopper_and_pearson_on_the_published_example() -> None:
    """Newcombe 1998, Statistics in Medicine 17:857, table I: 15 of 148 gives 0.0578 to 0.1617."""
    assert [round(end, 4) for end in clopper_pearson(15, 148)] == [0.0578, 0.1617]


@pytest.mark.parametrize("wrong", [(2, 1, 0.95), (-1, 1, 0.95), (1, 1, 1.0), (1, 1, 0.0)])
def test_what_is_no_proportion_has_no_interval(wrong: tuple[int, int, float]) -> None:
    for interval in (wilson, clopper_pearson):
        with pytest.raises(ValueError, match="no interval"):
            interval(*wrong)
