"""How many statements are really met, given what a judge says and how often it errs. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

from adjudge.pipeline.trust.figures import Figure
from adjudge.pipeline.trust.proportions import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrected:
    """A pass rate corrected for a judge's error rates, or why it can't be.

    Attributes:
        value: in [0, 1]; None where the correction isn't usable.
        interval: it carries the uncertainty of the rate and of both error rates; in [0, 1].
        unusable: why not, in words; None where it is usable.
    """

    value: float | None
    interval: Interval | None
    unusable: str | None = None


def corrected(rate: float, n: float, tpr: Figure, tnr: Figure, confidence: float = 0.95) -> Corrected:
    """The share of statements that are met, from the share that a judge calls met (Rogan and Gladen 1978).

    (rate + tnr - 1) / (tpr + tnr - 1). The interval is Lang and Reiczigel's (2014), with effective sample
    sizes in the place of plain ones. It is for statements like the labelled ones: the error rates must hold.

    Args:
        rate: share that the judge calls met, in [0, 1].
        n: what the statements behind it are worth as independent ones; above 0.
        tpr: of what people call met, how much the judge does.
        tnr: of what people call not met, how much the judge does.
        confidence: within 0 and 1.
    """
    for figure, word in ((tpr, "met"), (tnr, "not met")):
        if figure.value is None:
            return _unusable(f"people call no labelled statement {word}, so that error rate is unknown")
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    found, sensitive, specific = _added(rate, n, z * z), _added_to(tpr, 2), _added_to(tnr, 2)
    better = sensitive.rate + specific.rate - 1
    if better - z * sqrt(sensitive.variance + specific.variance) <= 0:
        return _unusable("the judge can't be told from one that guesses (tpr + tnr is not clearly above 1)")
    share = (found.rate + specific.rate - 1) / better
    shift = 2 * z * z * (share * sensitive.variance - (1 - share) * specific.variance)
    spread = sqrt(found.variance + share * share * sensitive.variance + (1 - share) ** 2 * specific.variance)
    low, high = ((share + shift) + sign * z * spread / better for sign in (-1, 1))
    plain = (rate + float(tnr.value or 0) - 1) / (float(tpr.value or 0) + float(tnr.value or 0) - 1)
    return Corrected(value=_within(plain), interval=(_within(low), _within(high)))


@dataclass(frozen=True, slots=True)
class _Share:
    rate: float
    size: float

    @property
    def variance(self) -> float:
        return self.rate * (1 - self.rate) / self.size


def _added(rate: float, n: float, more: float) -> _Share:
    """A rate with `more` made-up observations, half of them hits, so that 0 and 1 are not certain."""
    return _Share((rate * n + more / 2) / (n + more), n + more)


def _added_to(figure: Figure, more: float) -> _Share:
    return _added(float(figure.value or 0), figure.effective, more)


def _within(value: float) -> float:
    return min(1.0, max(0.0, value))


def _unusable(why: str) -> Corrected:
    return Corrected(value=None, interval=None, unusable=why)
