"""Intervals of a proportion: how far `successes` of `n` pin down the rate behind them."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist
from typing import TypedDict

Interval = tuple[float, float]
"""Lower and upper end."""


def wilson(successes: int, n: int, confidence: float = 0.95) -> Interval:
    """Wilson's score interval (Wilson 1927), in [0, 1]; all of it where `n` is 0. Closest on average.

    Raises:
        ValueError: `successes` is not within 0 and `n`, or `confidence` not within 0 and 1.
    """
    _check(successes, n, confidence)
    return (0.0, 1.0) if n == 0 else wilson_at(successes / n, n, confidence)


def wilson_at(rate: float, n: float, confidence: float = 0.95) -> Interval:
    """Wilson's interval of a rate found among what is worth `n` independent ones; `n` need not be whole.

    Args:
        rate: in [0, 1].
        n: above 0.
        confidence: within 0 and 1.
    """
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    middle = rate + z * z / (2 * n)
    half = z * sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    low, high = (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)
    return (0.0 if rate == 0 else low), (1.0 if rate == 1 else high)


def clopper_pearson(successes: int, n: int, confidence: float = 0.95) -> Interval:
    """The exact interval (Clopper and Pearson 1934), in [0, 1]; all of it where `n` is 0. Never too short.

    Raises:
        ValueError: see `wilson`.
    """
    from scipy.special import betaincinv  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

    _check(successes, n, confidence)
    tail = (1 - confidence) / 2
    low = 0.0 if successes == 0 else float(betaincinv(successes, n - successes + 1, tail))
    high = 1.0 if successes == n else float(betaincinv(successes + 1, n - successes, 1 - tail))
    return low, high


class Ends(TypedDict):
    """An interval in what programs read; null where there is none."""

    lower: float | None
    upper: float | None


def ends(interval: Interval | None) -> Ends:
    """The ends of an interval, or of none."""
    lower, upper = interval or (None, None)
    return {"lower": lower, "upper": upper}


def _check(successes: int, n: int, confidence: float) -> None:
    if not 0 <= successes <= n or not 0 < confidence < 1:
        raise ValueError(f"no interval of {successes}/{n} at confidence {confidence}")
