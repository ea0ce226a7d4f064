"""Carry out a run: open what it needs, grade what is missing, conclude. For the command line and the API."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from adjudge.judges.failure import UsageError
from adjudge.judges.governing.wallet import Wallet
from adjudge.judges.ledger.directory import DATABASE
from adjudge.judges.ledger.ledger import Ledger
from adjudge.judges.ledger.recorded import Recordings
from adjudge.judges.request import digest
from adjudge.pipeline.conclude import Latest, conclude
from adjudge.pipeline.files import storage, whole_file
from adjudge.pipeline.grade import SpentRow, SummaryRow
from adjudge.pipeline.grading.bench import Bench, Lookup
from adjudge.pipeline.grading.leg import Leg, Watch
from adjudge.pipeline.planning.plan import Plan, PlannedFile
from adjudge.pipeline.rundir import JUDGES, Run
from adjudge.pipeline.suite.load import Budget

if TYPE_CHECKING:
    from adjudge.judges.governing.governor import GovernorState

GRACE_SECONDS = 10.0
"""How long calls in flight may take to finish after the first SIGINT or SIGTERM."""


JudgeStates = Callable[[], "Mapping[str, GovernorState]"]
"""Says what each judge is doing, by its name."""


async def carry_out(
    run: Run,
    plan: Plan,
    lookup: Lookup,
    watch: Callable[[JudgeStates], Watch],
    *,
    caps: Budget | None = None,
    warn: Callable[[str], None],
) -> SummaryRow:
    """Make every grade the run misses, and conclude it.

    SIGINT or SIGTERM lets calls in flight finish for `GRACE_SECONDS`, a second one does not; the summary's
    exit code is then 130 or 143, and `resume` goes on.

    Args:
        run: a planned run.
        plan: its plan.
        lookup: where verdicts come from; whether they are asked for again is the plan's word.
        watch: makes whoever watches, told where to ask for the judges' state. Entered as a context manager.
        caps: budget in place of the plan's, where set. It counts all legs of the run.
        warn: told of damage in the cache and the journals, and that the run is stopping, a line each.

    Raises:
        UsageError: a judge, a verifier or a recording can't be used.
        StorageError: the run or the cache can't be written; what was stored stays, and `resume` goes on.
    """
    with run.locked():
        lookup = replace(lookup, refresh=plan.head.refresh)
        budget = plan.head.budget if caps is None else _with_caps(plan.head.budget, caps)
        wallet = _wallet(budget, Latest(run, plan).spent)
        async with bench_of(run, plan, lookup, wallet, warn) as bench:
            with watch(bench.states) as audience:
                leg = Leg(run, plan, bench.judges, audience, window=bench.window, warn=warn)
                stopped_by = await until_stopped(leg.grade(), leg.stop, bench, warn)
            _keep(run, bench.states())
        return conclude(run, plan, exit_code=None if stopped_by is None else 128 + stopped_by)


def _keep(run: Run, states: Mapping[str, GovernorState]) -> None:
    """Write what the judges did in this leg to `judges.json`; one that asked nobody leaves the last one's."""
    if run.file(JUDGES).exists() and not any(state.calls for state in states.values()):
        return
    with whole_file(run.file(JUDGES)) as file:
        asked = {name: asdict(state) for name, state in states.items()}
        file.write(orjson.dumps(asked, option=orjson.OPT_INDENT_2) + b"\n")


@asynccontextmanager
async def bench_of(
    run: Run, plan: Plan, lookup: Lookup, wallet: Wallet, warn: Callable[[str], None]
) -> AsyncGenerator[Bench]:
    """The judges of a run, ready to be asked.

    Raises:
        UsageError: a recording changed since the run was planned.
        StorageError: the cache can't be opened.
    """
    with _ledger(lookup, warn) as ledger:
        recordings = Recordings(_unchanged(plan.head.recorded))
        judges = plan.head.judges
        async with Bench(judges, ledger, recordings, wallet, run=run.id, lookup=lookup, warn=warn) as bench:
            yield bench


def _ledger(lookup: Lookup, warn: Callable[[str], None]) -> Ledger:
    """The verdict cache; to be read only, offline, so that it may lie on a disk that can't be written."""
    with storage(lookup.cache, "read"):
        made = (lookup.cache / DATABASE).exists()
    return Ledger.open(lookup.cache, read_only=lookup.offline and made, warn=warn)


async def until_stopped(
    work: Coroutine[Any, Any, None], stop: Callable[[], None], bench: Bench, warn: Callable[[str], None]
) -> int | None:
    """Work to the end, or until a signal ends it; that signal's number.

    SIGINT or SIGTERM stops what is new, and what is asked may finish for `GRACE_SECONDS`; a second one ends
    it at once.
    """
    working = asyncio.ensure_future(work)
    received: list[int] = []

    def hear(number: int) -> None:
        received.append(number)
        if len(received) > 1:
            working.cancel()
            return
        stop()
        bench.stop()
        warn(f"stopping: calls in flight have {GRACE_SECONDS:.0f} s to finish; once more stops at once")
        asyncio.get_running_loop().call_later(GRACE_SECONDS, working.cancel)

    with _signals(hear):
        try:
            await working
        except asyncio.CancelledError:
            if not received:
                raise
    return received[0] if received else None


@contextmanager
def _signals(stop: Callable[[int], None]) -> Generator[None]:
    """Call `stop` on SIGINT and SIGTERM, where this thread may say so."""
    loop, before = asyncio.get_running_loop(), dict[int, Any]()
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            loop.add_signal_handler(number, stop, number)
            before[number] = handler
    except (RuntimeError, ValueError, NotImplementedError):
        pass  # not the main thread: whoever owns it decides what signals mean
    try:
        yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)


def _with_caps(budget: Budget, caps: Budget) -> Budget:
    return budget.model_copy(update=caps.model_dump(exclude_none=True))


def _wallet(budget: Budget, spent: SpentRow) -> Wallet:
    return Wallet(
        budget.max_calls,
        budget.max_cost_usd,
        calls=spent["calls"],
        cost_usd=spent["cost_usd"],
        cost_unknown_calls=spent["cost_unknown_calls"],
    )


def _unchanged(files: Iterable[PlannedFile]) -> list[Path]:
    """The files' paths.

    Raises:
        UsageError: one is not what it was when the run was planned.
    """
    paths = [(Path(file.path), file.digest) for file in files]
    for path, planned in paths:
        try:
            same = digest(path.read_bytes()) == planned
        except OSError as error:
            raise UsageError(f"{str(path)!r} can't be read: {error.strerror}") from None
        if not same:
            raise UsageError(f"{str(path)!r} changed since this run was planned; start a new run")
    return [path for path, _ in paths]
