"""The one place where judges are put together: ledger around retry around governor around model."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from adjudge.judges.calling.model import ModelJudge
from adjudge.judges.calling.price import Price
from adjudge.judges.calling.transport import Transport
from adjudge.judges.failure import UsageError
from adjudge.judges.governing.governed import GovernedJudge
from adjudge.judges.governing.governor import Governor
from adjudge.judges.governing.retry import RetryingJudge
from adjudge.judges.governing.wallet import Wallet
from adjudge.judges.ledger.judge import LedgerJudge
from adjudge.judges.ledger.ledger import Ledger
from adjudge.judges.ledger.recorded import Recordings
from adjudge.judges.protocol import Judge
from adjudge.judges.request import Model

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What all judges of one run share. Opened and closed by whoever runs it.

    Attributes:
        run: id of the run.
        ledger: where verdicts are found and kept.
        recordings: consulted before the ledger.
        transport: the process's HTTP session.
        wallet: what the run may spend.
        offline: never ask a model (C11).
        refresh: ask again what was answered before this run (C8).
        warn: told of a judge that can't be reached, and that it answers again, a line each.
    """

    run: str
    ledger: Ledger
    recordings: Recordings
    transport: Transport
    wallet: Wallet
    offline: bool = False
    refresh: bool = False
    warn: Callable[[str], None] = _log.warning


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltJudge:
    """A judge put together.

    Attributes:
        judge: asks each question once, in one request or several.
        governor: what it is doing now (`governor.state()`).
    """

    judge: LedgerJudge
    governor: Governor


def build_judge(
    name: str,
    model: Model,
    surroundings: Surroundings,
    *,
    api_key_env: str | None = None,
    headers_env: Mapping[str, str] | None = None,
    price: Price | None = None,
    attempts: int = 4,
    attempt_timeout: float = 60.0,
    require_model: bool = False,
    deadline: float = 300.0,
    max_concurrency: int = 32,
    asked: Judge | None = None,
) -> BuiltJudge:
    """The judge called `name`, as a suite describes it. Nothing is loaded, checked or sent yet.

    Before its first request it raises `UsageError` where the model can't be asked, or where the run has a
    cost cap and what the model costs is not known (C10).

    Args:
        api_key_env: the variable that holds the key; None is the provider's usual one.
        headers_env: headers added to each request, and the variables that hold their values.
        price: used instead of litellm's.
        attempts: requests for one verdict while failures are transient.
        attempt_timeout: seconds for one whole attempt.
        require_model: whether an answer of another model is a failure.
        deadline: seconds for one verdict with its retries and waits.
        max_concurrency: requests in flight at once, at most.
        asked: what is asked in place of the model, such as a `ScriptedJudge`.
    """
    around = surroundings
    prepare = None
    if asked is None:
        asked = ModelJudge(
            model,
            around.transport,
            name=name,
            api_key_env=api_key_env,
            headers_env=headers_env,
            price=price,
            attempt_timeout=attempt_timeout,
            require_model=require_model,
        )
        prepare = partial(_prepare, name, asked, around.wallet)
    governor = Governor(
        name, max_concurrency=max_concurrency, patience=deadline, storing=True, warn=around.warn
    )
    governed = GovernedJudge(asked, governor, around.wallet, prepare=prepare)
    retrying = RetryingJudge(governed, attempts=attempts, deadline=deadline)
    judge = LedgerJudge(
        retrying,
        around.ledger,
        around.recordings,
        run=around.run,
        offline=around.offline,
        refresh=around.refresh,
        stored=governor.stored,
    )
    return BuiltJudge(judge=judge, governor=governor)


async def _prepare(name: str, model: ModelJudge, wallet: Wallet) -> None:
    await model.ready()
    if wallet.max_cost_usd is not None and model.price is None:
        raise UsageError(
            f"judge {name!r} has no known price, so max_cost_usd can't be kept: "
            "give its `price` in the suite, or drop the cap"
        )
