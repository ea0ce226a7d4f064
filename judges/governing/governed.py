"""The governed judge: one attempt a request, made when the judge's governor and the run's wallet allow it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from adjudge.judges.failure import Failure
from adjudge.judges.governing.deadline import Deadline
from adjudge.judges.governing.governor import Governor
from adjudge.judges.governing.wallet import Wallet
from adjudge.judges.protocol import Judge
from adjudge.judges.request import JudgeRequest
from adjudge.judges.verdict import Answer, Attempt

_INTERRUPTED = Attempt(cause="canceled")


class GovernedJudge:
    """A judge that waits for its turn, then makes one attempt within what is left of a deadline."""

    def __init__(
        self,
        inner: Judge,
        governor: Governor,
        wallet: Wallet,
        *,
        prepare: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Wrap `inner`.

        Args:
            governor: this judge's own.
            wallet: shared by all judges of a run.
            prepare: awaited before the first request, outside any deadline: loading a provider takes seconds.
        """
        self.governor = governor
        self._inner, self._wallet, self._prepare = inner, wallet, prepare

    async def judge(self, request: JudgeRequest, /, deadline: Deadline | None = None) -> Answer | Failure:
        """The outcome of one attempt, or why none could be made: a failure without attempts.

        Raises:
            UsageError, StorageError: see `Judge`.
        """
        if (broke := self._wallet.exhausted()) is not None:
            return broke
        if self._prepare is not None:
            await self._prepare()
            self._prepare = None
        deadline = deadline or Deadline(self.governor.patience, self.governor.clock())
        permit = await self.governor.admit(deadline)
        if isinstance(permit, Failure):
            return permit
        outcome: Answer | Failure | None = None
        try:
            outcome = self._wallet.reserve() or await self._paid_attempt(request, deadline)
            return outcome
        finally:
            self.governor.done(permit, outcome)

    async def _paid_attempt(self, request: JudgeRequest, deadline: Deadline) -> Answer | Failure:
        started = self.governor.clock()
        waited = started - deadline.idle_since
        deadline.start(started)
        try:
            outcome = await self._attempt(request, deadline, started)
        except BaseException:
            self._wallet.settle((_INTERRUPTED,))
            raise
        self._wallet.settle(outcome.attempts)
        deadline.idle_since = self.governor.clock()
        return _having_waited(outcome, waited)

    async def _attempt(self, request: JudgeRequest, deadline: Deadline, started: float) -> Answer | Failure:
        limit = asyncio.timeout(deadline.left(started))
        try:
            async with limit:
                return await self._inner.judge(request)
        except TimeoutError:
            if not limit.expired():
                raise
        message = f"no answer within the deadline of {deadline.seconds:g} s"
        attempt = Attempt(cause="timeout", message=message, seconds=self.governor.clock() - started)
        return Failure(cause="timeout", message=message, retryable=True, attempts=(attempt,))


def _having_waited(outcome: Answer | Failure, seconds: float) -> Answer | Failure:
    if seconds < 0.001 or not outcome.attempts:
        return outcome
    first, *others = outcome.attempts
    return replace(outcome, attempts=(replace(first, waited=first.waited + seconds), *others))
