"""Statistics of pairs, beside statsmodels and published examples."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from math import comb
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.pipeline.trust.paired import detectable, fewest, mcnemar, mean_interval

close: Any = partial(pytest.approx, abs=1e-9)
turns = st.lists(st.sampled_from([-1, 0, 1]), min_size=1, max_size=60)


def clusters(values: list[int]) -> list[tuple[int, int]]:
    return [(value, 1) for value in values]


@given(st.integers(0, 80), st.integers(0, 80))
def test_mcnemar_is_that_of_statsmodels(lost: int, gained: int) -> None:
    theirs: Any = import_module("statsmodels.stats.contingency_tables").mcnemar
    if lost + gained:
        assert mcnemar(lost, gained) == close(theirs([[1, lost], [gained, 1]], exact=True).pvalue)
    assert mcnemar(lost, gained) == mcnemar(gained, lost)


def test_mcnemar_on_the_published_example() -> None:
    """Agresti, Categorical Data Analysis: of 1600 asked twice 86 and 150 turned, z^2 = 17.36, p = 3.1e-5."""
    assert mcnemar(86, 150) == pytest.approx(3.1e-5, rel=0.25)  # pyright: ignore[reportUnknownMemberType]
    assert mcnemar(0, 0) == 1.0


@given(st.floats(0.001, 0.5))
def test_fewer_pairs_that_turn_can_never_be_below_alpha(alpha: float) -> None:
    need = fewest(alpha)

    assert mcnemar(need, 0) < alpha
    assert need == 1 or mcnemar(need - 1, 0) >= alpha * (1 - 1e-12)


def test_six_pairs_must_turn_at_95_percent() -> None:
    assert fewest(0.05) == 6


def power(pairs: int, difference: float, share: float, alpha: float = 0.05) -> float:
    """The exact chance that McNemar's test of `pairs` pairs is below `alpha`, summed over all it can see."""
    lose, gain = (share + difference) / 2, (share - difference) / 2
    total = 0.0
    for turned in range(pairs + 1):
        often = comb(pairs, turned) * share**turned * (1 - share) ** (pairs - turned)
        if often < 1e-12:
            continue
        for lost in range(turned + 1):
            if mcnemar(lost, turned - lost) < alpha:
                split = comb(turned, lost) * (lose / share) ** lost * (gain / share) ** (turned - lost)
                total += often * split
    return total


@pytest.mark.parametrize(("pairs", "turned"), [(150, 30), (120, 60), (80, 2)])
def test_the_detectable_difference_is_found_about_four_times_in_five(pairs: int, turned: int) -> None:
    found = detectable(pairs, turned)
    assert found is not None

    assert 0.7 < power(pairs, found, max(turned / pairs, found)) < 0.87  # Connor's is an approximation


@pytest.mark.parametrize(("pairs", "turned"), [(100, 20), (400, 100), (1000, 30), (50, 50)])
def test_connors_formula_gives_back_the_number_of_pairs(pairs: int, turned: int) -> None:
    found, share = detectable(pairs, turned), turned / pairs
    assert found is not None

    needed = (1.959964 * share**0.5 + 0.841621 * (share - found**2) ** 0.5) ** 2 / found**2
    assert needed == pytest.approx(pairs, rel=1e-4)  # pyright: ignore[reportUnknownMemberType]


def test_fewer_pairs_than_the_exact_test_needs_show_no_difference() -> None:
    assert (detectable(5, 5), detectable(0, 0), detectable(6, 0)) == (None, None, 1.0)


@given(st.integers(6, 500), st.data())
def test_the_detectable_difference_shrinks_with_more_pairs(pairs: int, data: st.DataObject) -> None:
    turned = data.draw(st.integers(0, pairs))
    found, more = detectable(pairs, turned), detectable(4 * pairs, 4 * turned)

    assert found is not None
    assert more is not None
    assert 0 < more <= found <= 1


@given(turns, st.randoms(use_true_random=False))
def test_the_order_of_clusters_does_not_move_an_interval_and_negated_values_negate_it(
    values: list[int], random: Any
) -> None:
    interval = mean_interval(clusters(values), 0.95)
    assert interval is not None
    low, high = interval
    random.shuffle(values)

    assert mean_interval(clusters(values), 0.95) == interval
    assert mean_interval(clusters([-value for value in values]), 0.95) == (-high, -low)
    assert -1 <= low <= high <= 1


def test_an_interval_is_that_of_scipys_bootstrap() -> None:
    bootstrap: Any = import_module("scipy.stats").bootstrap
    values = [-1] * 15 + [1] * 5 + [0] * 80
    mean: Any = import_module("numpy").mean
    theirs = bootstrap((values,), mean, method="percentile", n_resamples=10_000, rng=7).confidence_interval

    assert mean_interval(clusters(values), 0.95) == pytest.approx(  # pyright: ignore[reportUnknownMemberType]
        (theirs.low, theirs.high), abs=0.011
    )


def test_values_of_one_cluster_are_drawn_together() -> None:
    apart = mean_interval(clusters([-1, 1] * 50), 0.95)
    together = mean_interval([(0, 2)] * 50, 0.95)

    assert together == (0.0, 0.0)
    assert apart is not None
    assert apart[0] < -0.1


def test_nothing_has_no_interval() -> None:
    assert mean_interval([], 0.95) is None
    assert mean_interval([(0, 0)], 0.95) is None
