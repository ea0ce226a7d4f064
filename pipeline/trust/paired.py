"""Statistics of pairs: the same thing decided twice. Counts go in, chances and intervals come out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import count
from math import sqrt
from statistics import NormalDist

from adjudge.pipeline.trust.proportions import Interval

RESAMPLES = 10_000
SEED = 20_260_101
POWER = 0.8


def mcnemar(lost: int, gained: int) -> float:
    """The chance of a split at least as uneven as this if turning either way were equally likely.

    McNemar's test in its exact, two-sided form: a binomial test of the pairs that turned, at 1/2. Of
    clusters that lost or gained on the whole it is the sign test.
    """
    from scipy.special import bdtr  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

    return min(1.0, 2 * float(bdtr(min(lost, gained), lost + gained, 0.5)))


def fewest(alpha: float) -> int:
    """How many pairs must turn, all of them one way, before `mcnemar` is below `alpha`: 6 at 0.05."""
    return next(pairs for pairs in count(1) if 2.0 ** (1 - pairs) < alpha)


def detectable(pairs: int, turned: int, alpha: float = 0.05, power: float = POWER) -> float | None:
    """The smallest difference of two pass rates that `pairs` pairs show with that `power`, in (0, 1].

    Connor's formula (Biometrics 43, 1987: `n = (z_a sqrt(d) + z_b sqrt(d - x^2))^2 / x^2`), solved for the
    difference `x`, with the share `d = turned / pairs` of pairs that turn as seen. If even `x = d`, all of
    them turning one way, is too little, then more would have to turn: the smallest `x = d` that is enough.
    Never less than what the exact test needs, `fewest` pairs. None where no difference would be enough.
    """
    need = fewest(alpha)
    if pairs < need:
        return None
    z_a, z_b = NormalDist().inv_cdf(1 - alpha / 2), NormalDist().inv_cdf(power)
    share, whole = turned / pairs, pairs + z_b**2
    found = sqrt(share) * (z_a * sqrt(pairs) + z_b * sqrt(max(0.0, whole - z_a**2))) / whole
    if found >= share:
        root = sqrt(max(0.0, (z_a * z_b) ** 2 + whole * (pairs - z_a**2)))
        found = 1 - ((root - z_a * z_b) / whole) ** 2
    return min(1.0, max(found, need / pairs))


def mean_interval(clusters: Iterable[tuple[int, int]], confidence: float) -> Interval | None:
    """Where the mean of values lies that come in clusters; None where there is none.

    The bootstrap: whole clusters are drawn anew, with replacement, `RESAMPLES` times, from a fixed seed; of
    differences of pairs, the paired bootstrap. Equal clusters are drawn together (a multinomial), so neither
    their order nor their names matter, and negated values give the negated interval.

    Args:
        clusters: of each, the sum of its values and how many they are.
        confidence: how sure, in (0, 1).
    """
    kinds = Counter(cluster for cluster in clusters if cluster[1])
    if not kinds:
        return None
    negated = Counter({(-total, size): times for (total, size), times in kinds.items()})
    if sorted(negated.items()) < sorted(kinds.items()):
        low, high = _percentiles(negated, confidence)
        return -high, -low
    low, high = _percentiles(kinds, confidence)
    return ((low - high) / 2, (high - low) / 2) if kinds == negated else (low, high)


def _percentiles(kinds: Mapping[tuple[int, int], int], confidence: float) -> Interval:
    import numpy as np

    totals, counts = np.array(sorted(kinds), dtype=float).T
    times = np.array([kinds[kind] for kind in sorted(kinds)], dtype=float)
    drawing, many = np.random.default_rng(SEED), int(times.sum())
    at_once = max(1, 1_000_000 // len(kinds))
    means: list[float] = []
    while len(means) < RESAMPLES:
        now = min(at_once, RESAMPLES - len(means))
        drawn = drawing.multinomial(many, times / times.sum(), size=now)
        means += ((drawn @ totals) / (drawn @ counts)).tolist()
    tail = (1 - confidence) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)
