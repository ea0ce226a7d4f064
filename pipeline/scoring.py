"""The arithmetic of grades: scores, thresholds, results, combined scores. Pure and exact (S1 to S11)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import comb, floor, isqrt
from typing import Literal

Result = Literal["passed", "failed", "errored"]
GradingState = Literal["not_requested", "pending", "running", "complete", "error"]


@lru_cache(typed=True)  # a run has few different scores and thresholds, and many grades
def score(met: int, total: int) -> Fraction:
    """Statements met over statements, exactly (S1). In [0, 1].

    Raises:
        ValueError: if `total` is not positive or `met` is not within it.
    """
    if total < 1 or not 0 <= met <= total:
        raise ValueError(f"a score needs 0 <= met <= total and total >= 1, not {met}/{total}")
    return Fraction(met, total)


@lru_cache(typed=True)
def exact(number: float | str | Decimal) -> Fraction:
    """The exact value of a number's decimal text: `exact(0.7)` is 7/10 (S2)."""
    return Fraction(Decimal(str(number)))


def result(value: Fraction | None, threshold: Fraction, required_met: bool) -> Result:
    """The result of a grade (S3): no score errs, an unmet requirement fails, else the threshold decides."""
    if value is None:
        return "errored"
    return "passed" if required_met and value >= threshold else "failed"


def combined(scores: Sequence[Fraction | None]) -> Fraction | None:
    """Unweighted mean of the selected graders' scores; None unless every one of them is known (S8)."""
    known = [value for value in scores if value is not None]
    if not scores or len(known) < len(scores):
        return None
    return sum(known, Fraction(0)) / len(known)


def grading_state(completed: bool, selected: int, results: Iterable[Result | None]) -> GradingState | None:
    """How far the grading of a conversation is (S9); first match wins.

    Args:
        completed: whether the conversation has a completed trace.
        selected: how many graders were selected for it.
        results: one per selected grader; None where it is not finished. May be shorter than `selected`.
    """
    if not completed:
        return None
    if selected == 0:
        return "not_requested"
    finished = [outcome for outcome in results if outcome is not None]
    if not finished:
        return "pending"
    if len(finished) < selected:
        return "running"
    return "error" if "errored" in finished else "complete"


def half_up(value: Fraction, places: int = 2) -> Decimal:
    """`value` rounded half up to `places` decimals: 1/8 is 0.13 (S11)."""
    return Decimal(floor(value * int(10**places) + Fraction(1, 2))).scaleb(-places)


def half_up_root(square: Fraction, places: int = 2) -> Decimal:
    """The square root of `square`, 0 or more, rounded half up to `places` decimals, once (S11)."""
    return Decimal((isqrt(floor(4 * square * int(100**places))) + 1) // 2).scaleb(-places)


def bounds(known: Sequence[Fraction], missing: int) -> tuple[Fraction, Fraction]:
    """Lowest and highest mean over `known` and `missing` values that lie in [0, 1] (S13).

    Raises:
        ValueError: if there is nothing to take a mean of.
    """
    count = len(known) + missing
    if count == 0:
        raise ValueError("bounds of nothing")
    total = sum(known, Fraction(0))
    return total / count, (total + missing) / count


def pass_at_k(passed: int, n: int, k: int) -> Fraction:
    """Chance that at least one of `k` rollouts drawn from `n` without replacement passed (unbiased, S10)."""
    return 1 - _all_from(n - passed, n, k)


def pass_hat_k(passed: int, n: int, k: int) -> Fraction:
    """Chance that all of `k` rollouts drawn from `n` without replacement passed (pass^k, S10)."""
    return _all_from(passed, n, k)


def _all_from(kind: int, n: int, k: int) -> Fraction:
    if not 1 <= k <= n or not 0 <= kind <= n:
        raise ValueError(f"needs 1 <= k <= n and 0 <= count <= n, not k={k}, n={n}, count={kind}")
    return Fraction(comb(kind, k), comb(n, k))
