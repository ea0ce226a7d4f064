"""The judges of one run, put together: ledger around retry around governor around model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from adjudge.judges.failure import UsageError
from adjudge.judges.governed import GovernedJudge
from adjudge.judges.governor import Governor, GovernorState
from adjudge.judges.ledger import Ledger
from adjudge.judges.ledger_judge import LedgerJudge
from adjudge.judges.model import ModelJudge
from adjudge.judges.price import Price, listed_price
from adjudge.judges.recorded import Recordings
from adjudge.judges.request import Model
from adjudge.judges.retry import RetryingJudge
from adjudge.judges.transport import Transport
from adjudge.judges.wallet import Wallet
from adjudge.pipeline.suite import JudgeSpec

if TYPE_CHECKING:
    from types import TracebackType


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """Where verdicts come from.

    Attributes:
        cache: directory of the verdict cache.
        offline: answer from recordings and the cache alone (C11).
        refresh: ask again what was answered before this run (C8).
    """

    cache: Path
    offline: bool = False
    refresh: bool = False


class Bench:
    """Every judge of a run, by name. They share one HTTP session, one wallet and one ledger.

    An async context manager: leaving it closes the session.
    """

    def __init__(
        self,
        specs: Mapping[str, JudgeSpec],
        ledger: Ledger,
        recordings: Recordings,
        wallet: Wallet,
        *,
        run: str,
        lookup: Lookup,
    ) -> None:
        """Nothing is loaded or opened before the first call."""
        self._specs = specs
        self._transport = Transport(connections=max(self.window, 1))
        self._governors = {
            name: Governor(name, max_concurrency=spec.max_concurrency, patience=spec.deadline)
            for name, spec in specs.items()
        }
        self.judges: dict[str, LedgerJudge] = {
            name: LedgerJudge(
                RetryingJudge(
                    GovernedJudge(self._model(name, spec), self._governors[name], wallet),
                    attempts=spec.attempts,
                    deadline=spec.deadline,
                ),
                ledger,
                recordings,
                run=run,
                offline=lookup.offline,
                refresh=lookup.refresh,
            )
            for name, spec in specs.items()
        }

    @property
    def window(self) -> int:
        """How many questions may be open at once: enough to keep every judge busy, and no more."""
        return 2 * sum(spec.max_concurrency for spec in self._specs.values())

    def states(self) -> Mapping[str, GovernorState]:
        """What each judge is doing."""
        return {name: governor.state() for name, governor in self._governors.items()}

    def stop(self) -> None:
        """Send nothing more; requests on the wire may finish."""
        for governor in self._governors.values():
            governor.stop()

    def require_prices(self) -> None:
        """See that a cost cap can be kept (C10).

        Raises:
            UsageError: naming a judge whose price is not known.
        """
        for name, spec in self._specs.items():
            if price_of(spec) is None:
                raise UsageError(
                    f"a cost cap is set, but no price is known for judge {name!r} ({spec.model}); "
                    "give it `price: {input: ..., output: ...}` or cap calls instead"
                )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._transport.close()

    def _model(self, name: str, spec: JudgeSpec) -> ModelJudge:
        return ModelJudge(
            Model(name=spec.model, api_base=spec.api_base, params=spec.params, output=spec.output),
            self._transport,
            name=name,
            api_key_env=spec.api_key_env,
            price=own_price(spec),
            attempt_timeout=spec.attempt_timeout,
        )


def own_price(spec: JudgeSpec) -> Price | None:
    """The price the suite gives a judge, or None."""
    if spec.price is None:
        return None
    return Price(input=spec.price.input, output=spec.price.output, cached_input=spec.price.cached_input)


def price_of(spec: JudgeSpec) -> Price | None:
    """The suite's price for a judge, else the one listed for its model; None where neither is known."""
    return own_price(spec) or listed_price(spec.model)
