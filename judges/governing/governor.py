"""The governor of one judge: when its next request may go out, learned from how others ended (C2 to C4)."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from typing import Literal

from adjudge.judges.failure import Cause, Failure
from adjudge.judges.governing.breaker import Breaker, BreakerState
from adjudge.judges.governing.deadline import Deadline
from adjudge.judges.verdict import Answer

_log = logging.getLogger(__name__)

LONGEST_GATE = 120.0
"""A provider's Retry-After is obeyed up to so many seconds (C3)."""

FIRST_LIMIT = 10
"""Requests in flight before a judge has shown that it takes more: no more than open its breaker."""

RAMP = 3
"""By so much a success raises the limit until the first 429: four times as many each round trip."""

FAULTS_TOLD = 3
"""So many transport failures in a row are worth a word."""

SLOWEST_GROWTH = 4
"""Successes a larger limit takes at least, or a judge that bears one call would refuse every other."""

QUOTA = 500
TRANSIENT_RETRY, THROTTLED_RETRY, SUCCESS = 14, 5, 1
"""Tokens of the retry quota: what it holds at least, what a retry takes, what a success gives back."""

TRANSPORT: frozenset[Cause] = frozenset({"unavailable", "timeout"})


@dataclass(frozen=True, slots=True, kw_only=True)
class GovernorState:
    """What a judge is doing, for the progress line.

    Attributes:
        limit: requests allowed in flight now.
        in_flight: requests on the wire.
        waiting: requests waiting for their turn.
        gate_seconds: seconds until the provider's Retry-After ends, 0 if none runs.
        breaker: `shut` means for good: after a fatal failure, or stopped.
        calls: requests made.
        retries: of them, repeats after a transient failure.
        throttled: of them, refused as too many (`rate_limited`).
    """

    limit: int
    in_flight: int
    waiting: int
    gate_seconds: float
    breaker: BreakerState | Literal["shut"]
    calls: int
    retries: int
    throttled: int


@dataclass(slots=True, eq=False)
class Permit:
    """One request's right to be on the wire."""

    epoch: int
    probe: bool


@dataclass(slots=True, eq=False)
class _Waiter:
    deadline: Deadline
    turn: asyncio.Future[Permit | Failure]


class Governor:
    """Lets a judge's requests out, first come, first served; verdicts under way go before new ones.

    - Gate: after a Retry-After nothing goes out before it ends. A 429 that names no time closes the gate
      for 1 s, 2 s, 4 s, ... (half of it random).
    - Limit: begins small and is raised by each success until the first 429; then one more after a limit's
      worth of successes, halved on a 429, once per round trip.
    - Breaker: see `Breaker`. A fatal failure shuts the judge for good.
    - Retry quota: a success gives back what its last retry took.

    Nobody waits for a gate or a breaker longer than `patience`, or than the verdict's own deadline allows.
    """

    def __init__(
        self,
        name: str,
        *,
        max_concurrency: int = 32,
        patience: float = 300.0,
        storing: bool = False,
        warn: Callable[[str], None] = _log.warning,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`name` is the judge's, for messages. `clock` must run as the event loop's does.

        With `storing` an answer counts as in flight against `max_concurrency` until `stored` is called: no
        more calls than that are lost by a kill (C9) or a full disk.
        `warn` is told of an outage and of its end.
        """
        self.name, self.patience, self.clock, self.chance = name, patience, clock, chance
        self._most, self._limit = max_concurrency, min(FIRST_LIMIT, max_concurrency)
        self._in_flight = self._unstored = self._epoch = self._successes = self._refusals = 0
        self._storing = storing
        self._ramping = True
        self._gate = -inf
        self._breaker = Breaker(patience)
        self._last_fault = ""
        self._warn, self._faults, self._told = warn, 0, False
        self._shut: Failure | None = None
        self._shutting = asyncio.Event()
        self._begun: deque[_Waiter] = deque()
        self._new: deque[_Waiter] = deque()
        self._timer: asyncio.TimerHandle | None = None
        # An outage that strikes all requests in flight must leave each of them a retry.
        self._tokens = self._quota = max(QUOTA, TRANSIENT_RETRY * max_concurrency)
        self._calls = self._retries = self._throttled = 0

    def state(self) -> GovernorState:
        """What the judge is doing now."""
        now = self.clock()
        return GovernorState(
            limit=self._limit,
            in_flight=self._in_flight,
            waiting=len(self._begun) + len(self._new),
            gate_seconds=max(0.0, self._gate - now),
            breaker="shut" if self._shut else self._breaker.state(now),
            calls=self._calls,
            retries=self._retries,
            throttled=self._throttled,
        )

    def refusal(self, deadline: Deadline) -> Failure | None:
        """Why a request with that deadline should not even wait, or None.

        The cause of a shut judge, `rate_limited` or `circuit_open`.
        """
        if self._shut is not None:
            return self._shut
        now = self.clock()
        if self._gate <= now and self._breaker.passes(now):
            return None
        left = min(deadline.left(now), self.patience)
        if self._gate - now > left:
            why = f"judge {self.name!r} asked to wait {self._gate - now:.0f} s more, over the deadline"
            return Failure(cause="rate_limited", message=why, retryable=True)
        if self._breaker.wait(now) > left:
            why = f"judge {self.name!r} was not asked, its calls fail: {self._last_fault}"
            return Failure(cause="circuit_open", message=why, retryable=True)
        return None

    async def admit(self, deadline: Deadline) -> Permit | Failure:
        """Wait for a request's turn. A permit must be given back with `done`."""
        if (failure := self.refusal(deadline)) is not None:
            return failure
        now = self.clock()
        if not self._begun and not self._new and self._free(now):
            return self._permit()
        waiter = _Waiter(deadline, asyncio.get_running_loop().create_future())
        queue = self._begun if deadline.running else self._new
        queue.append(waiter)
        self._let_out()
        try:
            async with asyncio.timeout(deadline.left(now) if deadline.running else None):
                return await waiter.turn
        except TimeoutError:
            self._leave(queue, waiter)
            why = f"no turn for judge {self.name!r} within the deadline of {deadline.seconds:g} s"
            return Failure(cause="timeout", message=why, retryable=True)
        except BaseException:
            self._leave(queue, waiter)
            raise

    def done(self, permit: Permit, outcome: Answer | Failure | None) -> None:
        """A request ended; None for one that was interrupted. One without attempts made no call."""
        self._in_flight -= 1
        self._calls += len(outcome.attempts) if outcome else 1
        if isinstance(outcome, Answer):
            self._unstored += self._storing
            self._succeeded(permit)
        elif outcome is None:
            self._breaker.abandon(permit.probe)
        else:
            self._failed(permit, outcome)
            self._turn_away()
        self._let_out()

    def stored(self) -> None:
        """An answer is on the disk. One that can't be put there keeps its place: nothing more is asked."""
        self._unstored -= 1
        self._let_out()

    def stop(self) -> None:
        """Let nothing more out: who waits, and who comes, is `canceled`. What is on the wire goes on."""
        self._shut_with(Failure(cause="canceled", message="the run was stopped", retryable=True))
        self._turn_away()

    async def pause(self, seconds: float) -> None:
        """Wait so long, or until the judge is shut: then waiting is of no use."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._shutting.wait()

    def spend_retry(self, cause: Cause) -> int | None:
        """Take a retry after `cause` out of the quota; what it took, or None when too little is left."""
        tokens = THROTTLED_RETRY if cause == "rate_limited" else TRANSIENT_RETRY
        if tokens > self._tokens:
            return None
        self._tokens -= tokens
        self._retries += 1
        return tokens

    def return_retry(self, tokens: int) -> None:
        """A verdict arrived after a retry that took `tokens`."""
        self._tokens = min(self._quota, self._tokens + tokens)

    def _succeeded(self, permit: Permit) -> None:
        self._refusals = 0
        self._successes += 1
        self.return_retry(SUCCESS)
        if self._ramping:
            self._limit, self._successes = min(self._most, self._limit + RAMP), 0
        elif self._successes >= max(SLOWEST_GROWTH, self._limit):
            self._limit, self._successes = min(self._most, self._limit + 1), 0
        self._answered(permit)

    def _tell(self) -> None:
        """Say once that a judge does not answer: soon, for whoever mistyped its address."""
        self._faults += 1
        if self._faults == FAULTS_TOLD and not self._told:
            self._told = True
            self._warn(f"no answer so far, still trying: {self._last_fault}")

    def _answered(self, permit: Permit) -> None:
        self._faults = 0
        if self._told:
            self._told = False
            self._warn(f"judge {self.name!r} answers again")
        if self._breaker.answered(permit.probe):
            self._limit, self._ramping = min(FIRST_LIMIT, self._limit), True

    def _failed(self, permit: Permit, failure: Failure) -> None:
        if not failure.attempts:
            self._breaker.abandon(permit.probe)
        elif failure.cause in TRANSPORT:
            self._last_fault = failure.message
            self._breaker.failed(permit.probe, self.clock())
            self._tell()
        else:
            self._answered(permit)
        pause = failure.retry_after
        if failure.cause == "rate_limited":
            own = self._throttle(permit)
            pause = own if pause is None else pause
        if pause:
            self._gate = max(self._gate, self.clock() + min(pause, LONGEST_GATE))
        if failure.fatal:
            why = f"judge {self.name!r} was not asked, it failed for good: {failure.message}"
            self._shut_with(replace(failure, message=why, attempts=()))

    def _shut_with(self, failure: Failure) -> None:
        self._shut = self._shut or failure
        self._shutting.set()

    def _throttle(self, permit: Permit) -> float:
        """A 429: halve the limit, once per round trip. Returns the pause for a 429 that names none."""
        self._throttled += 1
        if permit.epoch != self._epoch:
            return 0.0
        self._epoch, self._ramping, self._successes = self._epoch + 1, False, 0
        self._limit = max(1, self._limit // 2)
        pause = 2.0 ** min(self._refusals, 7) * (1 + self.chance()) / 2
        self._refusals += 1
        return pause

    def _free(self, now: float) -> bool:
        room = min(self._limit, self._breaker.room, self._most - self._unstored)
        return self._in_flight < room and now >= self._gate and self._breaker.passes(now)

    def _permit(self) -> Permit:
        self._in_flight += 1
        return Permit(self._epoch, self._breaker.begin())

    def _let_out(self) -> None:
        """Give turns to whoever may go, and see to it that this is asked again in time."""
        now = self.clock()
        while (queue := self._begun or self._new) and self._free(now):
            waiter = queue.popleft()
            if not waiter.turn.done():
                waiter.turn.set_result(self._permit())
        pause = max(self._gate - now, self._breaker.wait(now))
        if queue and self._timer is None and 0 < pause < inf:
            self._timer = asyncio.get_running_loop().call_later(pause, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self._let_out()

    def _turn_away(self) -> None:
        """Tell those whose wait has become too long."""
        for queue in (self._begun, self._new):
            for _ in range(len(queue)):
                waiter = queue.popleft()
                failure = self.refusal(waiter.deadline)
                if failure is None:
                    queue.append(waiter)
                elif not waiter.turn.done():
                    waiter.turn.set_result(failure)

    def _leave(self, queue: deque[_Waiter], waiter: _Waiter) -> None:
        """A waiter goes away: out of the queue, or, if its turn came in the same instant, out of that."""
        if waiter in queue:
            queue.remove(waiter)
        elif waiter.turn.done() and not waiter.turn.cancelled():
            permit = waiter.turn.result()
            if isinstance(permit, Permit):
                self.done(permit, Failure(cause="canceled", message="canceled while waiting"))
