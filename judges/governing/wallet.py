"""The wallet: what a run's judges may spend together, and what they spent (C10)."""

from __future__ import annotations

from collections.abc import Iterable

from adjudge.judges.failure import Failure
from adjudge.judges.verdict import Attempt


class Wallet:
    """Counts calls and dollars of one run, over all its judges and all its legs.

    Calls are exact: one is reserved before it is made. Dollars are known after a call, so calls in flight
    when a cap is reached still finish. A call of unknown cost is counted as one, never as 0 dollars; against
    a cost cap it weighs as much as the dearest call whose cost is known.

    Attributes:
        max_cost_usd: the cost cap, or None.
        calls: requests made or under way.
        cost_usd: US dollars of the calls whose cost is known.
        cost_unknown_calls: calls whose cost is not known. A request refused with an HTTP error is free.
    """

    def __init__(
        self,
        max_calls: int | None = None,
        max_cost_usd: float | None = None,
        *,
        calls: int = 0,
        cost_usd: float = 0.0,
        cost_unknown_calls: int = 0,
    ) -> None:
        """Caps are None for none. `calls`, `cost_usd` and `cost_unknown_calls`: spent by earlier legs."""
        self._max_calls, self.max_cost_usd = max_calls, max_cost_usd
        self.calls, self.cost_usd, self.cost_unknown_calls = calls, cost_usd, cost_unknown_calls
        known = calls - cost_unknown_calls
        self._dearest = cost_usd / known if known > 0 else None
        self._unpriced_answers = False

    def exhausted(self) -> Failure | None:
        """Why no further call may be made (`budget_exhausted`), or None."""
        if self._max_calls is not None and self.calls >= self._max_calls:
            return _exhausted(f"max_calls {self._max_calls} is reached", "--max-calls")
        if self.max_cost_usd is None:
            return None
        if self._unpriced_answers and self._dearest is None:
            why = f"max_cost_usd {self.max_cost_usd:g} can't be kept: the judge's answers come without a cost"
            return Failure(cause="budget_exhausted", message=f"{why}; drop --max-cost and cap --max-calls")
        if self.cost_usd + self.cost_unknown_calls * (self._dearest or 0.0) < self.max_cost_usd:
            return None
        spent = f"${self.cost_usd:.4f} spent, calls of unknown cost: {self.cost_unknown_calls}"
        reached = f"max_cost_usd {self.max_cost_usd:g} is reached ({spent})"
        return _exhausted(reached, "--max-cost")

    def reserve(self) -> Failure | None:
        """Take one call out of the budget before it is made, or say why not (`budget_exhausted`)."""
        if (failure := self.exhausted()) is None:
            self.calls += 1
        return failure

    def settle(self, attempts: Iterable[Attempt]) -> None:
        """Account a reserved call by the requests it really made; none at all gives the call back."""
        self.calls -= 1
        for attempt in attempts:
            self.calls += 1
            if attempt.cost_usd is not None:
                self.cost_usd += attempt.cost_usd
                self._dearest = max(self._dearest or 0.0, attempt.cost_usd)
            elif attempt.status is None or attempt.status < 300:
                self.cost_unknown_calls += 1
                self._unpriced_answers = self._unpriced_answers or attempt.cause is None


def _exhausted(reached: str, option: str) -> Failure:
    message = f"{reached}; raise {option} and resume the run"
    return Failure(cause="budget_exhausted", message=message, retryable=True)
