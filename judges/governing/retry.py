"""The retry: which failures are worth another attempt, how soon, and how often (C1, C2, J3)."""

from __future__ import annotations

from dataclasses import replace

from adjudge.judges.failure import TRANSIENT, AdjudgeError, Cause, Failure
from adjudge.judges.governing.deadline import Deadline
from adjudge.judges.governing.governed import GovernedJudge
from adjudge.judges.governing.governor import LONGEST_GATE
from adjudge.judges.redact import Redactor
from adjudge.judges.request import JudgeRequest
from adjudge.judges.verdict import Answer, Attempt

BAD_OUTPUT: frozenset[Cause] = frozenset({"malformed_output", "truncated"})
"""Causes worth one more attempt, told what was wrong (J3). Every such reply was paid for."""

CORRECTIONS = 1
"""How often a judge is told what was wrong with its reply."""

CHANGES = 3
"""How often a judge may ask differently (`Failure.changed`) at no cost."""

FIRST_BACKOFF, LONGEST_BACKOFF = 1.0, 20.0

_WAITED: frozenset[Cause] = frozenset({"rate_limited", "circuit_open", "timeout"})


class RetryingJudge:
    """A judge that asks again where that may help, within one deadline, and keeps every attempt.

    - `rate_limited`, `timeout` and `unavailable`, where marked retryable: `attempts` in all, each after a
      full-jitter back-off no shorter than the provider's Retry-After, while the judge's retry quota lasts.
    - `malformed_output` and `truncated`: once more, at once, with what was wrong as the request's correction.
    - `Failure.changed`, a judge that will ask differently: at once, up to three times.
    - Anything else ends it. So does a wait that the deadline has no room for, with the cause that led to it.

    An exception of the judge inside becomes a failure (`internal`) here and nowhere else.
    """

    def __init__(self, inner: GovernedJudge, *, attempts: int = 4, deadline: float = 300.0) -> None:
        """`attempts` from 1; `deadline` in seconds, counted from the first attempt's turn."""
        self._inner, self._attempts, self._deadline = inner, attempts, deadline
        self._redact = Redactor(())

    async def judge(self, request: JudgeRequest, /) -> Answer | Failure:
        """The answer with all attempts it took, or the failure that ended it with all of its attempts.

        Raises:
            UsageError, StorageError: see `Judge`.
        """
        deadline = Deadline(self._deadline, self._inner.governor.clock())
        outcome = await self._attempt(request, deadline)
        if isinstance(outcome, Answer) or not outcome.attempts:
            return outcome
        return await self._go_on(request, deadline, outcome)

    async def _go_on(self, request: JudgeRequest, deadline: Deadline, first: Failure) -> Answer | Failure:
        # Only a failed first attempt pays for the import and for tenacity's machinery.
        from tenacity import AsyncRetrying, retry_if_result

        course = _Course(request, self._inner, self._attempts, deadline)
        known: Failure | None = first

        async def attempt() -> Answer | Failure:
            nonlocal known
            outcome, known = known or await self._attempt(course.request, deadline), None
            return course.take(outcome)

        def goes_on(_: Answer | Failure) -> bool:
            return course.pause is not None

        retrying = AsyncRetrying(
            retry=retry_if_result(goes_on),
            wait=lambda _: course.pause or 0.0,
            sleep=self._inner.governor.pause,
            reraise=True,
        )
        return await retrying(attempt)

    async def _attempt(self, request: JudgeRequest, deadline: Deadline) -> Answer | Failure:
        clock = self._inner.governor.clock
        started = clock()
        try:
            return await self._inner.judge(request, deadline)
        except AdjudgeError:
            raise
        except Exception as error:  # noqa: BLE001  the one place where a judge's exceptions are caught
            message = " ".join(self._redact(f"{type(error).__name__}: {error}").split())[:300]
            attempt = Attempt(cause="internal", message=message, seconds=clock() - started)
            return Failure(cause="internal", message=message, attempts=(attempt,))


class _Course:
    """What one verdict has been through, and what that allows next.

    Attributes:
        request: what to ask next.
        pause: seconds to wait before that, or None when nothing is to be asked any more.
    """

    def __init__(
        self, request: JudgeRequest, judge: GovernedJudge, attempts: int, deadline: Deadline
    ) -> None:
        self.request = request
        self.pause: float | None = None
        self._governor, self._deadline = judge.governor, deadline
        self._transient_left, self._corrections_left, self._changes_left = attempts - 1, CORRECTIONS, CHANGES
        self._earlier: tuple[Attempt, ...] = ()
        self._last: Failure | None = None
        self._tokens = 0
        self._longest = FIRST_BACKOFF / 2

    def take(self, outcome: Answer | Failure) -> Answer | Failure:
        """Decide what follows `outcome`. Returns it with all attempts so far."""
        self.pause = None
        if isinstance(outcome, Answer):
            self._governor.return_retry(self._tokens)
            return replace(outcome, attempts=(*self._earlier, *outcome.attempts))
        if self._last is not None and not outcome.attempts and outcome.cause in _WAITED:
            return replace(self._last, message=f"{self._last.message}; then {outcome.message}")
        failure = outcome.after(*self._earlier)
        self._earlier = failure.attempts
        self._last = failure
        why_not = self._decide(outcome)
        return replace(failure, message=f"{failure.message}; {why_not}") if why_not else failure

    def _decide(self, failure: Failure) -> str:
        """Set `pause`, or leave it None. Returns what people should know about an end that came early."""
        if failure.fatal or not failure.attempts:
            return ""
        if failure.changed:
            if self._changes_left:
                self._changes_left -= 1
                self.pause = 0.0
        elif failure.cause in BAD_OUTPUT:
            if self._corrections_left:
                self._corrections_left -= 1
                self.request = replace(self.request, correction=failure.message)
                self.pause = 0.0
        elif failure.cause in TRANSIENT and failure.retryable and self._transient_left:
            self._transient_left -= 1
            return self._back_off(failure)
        return ""

    def _back_off(self, failure: Failure) -> str:
        governor, deadline = self._governor, self._deadline
        self._longest = min(2 * self._longest, LONGEST_BACKOFF)
        pause = self._longest * governor.chance()
        if failure.retry_after is not None:
            pause = max(pause, min(failure.retry_after, LONGEST_GATE) + governor.chance())
        refusal = governor.refusal(deadline)
        if refusal is not None and refusal.cause in _WAITED:
            return refusal.message
        if pause >= deadline.left(governor.clock()):
            return f"not asked again, since the deadline of {deadline.seconds:g} s would end before"
        tokens = governor.spend_retry(failure.cause)
        if tokens is None:
            return f"not asked again, since too many calls of judge {governor.name!r} fail (retry quota)"
        self._tokens, self.pause = tokens, 0.0 if refusal else pause
        return ""
