"""The judges of one run, put together: ledger around retry around governor around model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from adjudge.judges.calling.price import Price, listed_price
from adjudge.judges.calling.transport import Transport
from adjudge.judges.factory import BuiltJudge, Surroundings, build_judge
from adjudge.judges.governing.governor import GovernorState
from adjudge.judges.governing.wallet import Wallet
from adjudge.judges.ledger.ledger import Ledger
from adjudge.judges.ledger.recorded import Recordings
from adjudge.judges.request import Model
from adjudge.pipeline.suite.load import JudgeSpec

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
        warn: Callable[[str], None],
    ) -> None:
        """Nothing is loaded or opened before the first call. `warn` is told of judges that don't answer."""
        self._specs = specs
        self._transport = Transport(
            connections=2 * max(1, sum(spec.max_concurrency for spec in specs.values()))
        )
        around = Surroundings(
            run=run,
            ledger=ledger,
            recordings=recordings,
            transport=self._transport,
            wallet=wallet,
            offline=lookup.offline,
            refresh=lookup.refresh,
            warn=warn,
        )
        built = {name: _build(name, spec, around) for name, spec in specs.items()}
        self.judges = {name: judge.judge for name, judge in built.items()}
        self._governors = {name: judge.governor for name, judge in built.items()}

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

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._transport.close()


def _build(name: str, spec: JudgeSpec, around: Surroundings) -> BuiltJudge:
    return build_judge(
        name,
        Model(name=spec.model, api_base=spec.api_base, params=spec.params, output=spec.output),
        around,
        api_key_env=spec.api_key_env,
        headers_env=spec.headers_env,
        price=own_price(spec),
        attempts=spec.attempts,
        attempt_timeout=spec.attempt_timeout,
        require_model=spec.served_model == "require",
        deadline=spec.deadline,
        max_concurrency=spec.max_concurrency,
    )


def own_price(spec: JudgeSpec) -> Price | None:
    """The price the suite gives a judge, or None."""
    if spec.price is None:
        return None
    return Price(input=spec.price.input, output=spec.price.output, cached_input=spec.price.cached_input)


def price_of(spec: JudgeSpec) -> Price | None:
    """The suite's price for a judge, else the one listed for its model; None where neither is known."""
    return own_price(spec) or listed_price(spec.model)
