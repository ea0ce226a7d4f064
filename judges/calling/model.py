"""A judge that is a model: one request on the wire, and what came of it."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from adjudge.judges.calling.access import Access
from adjudge.judges.calling.classify import (
    reading_failure,
    refuses_format,
    response_failure,
    transport_failure,
)
from adjudge.judges.calling.output import Mode, ModeMemory, modes_of
from adjudge.judges.calling.price import Price
from adjudge.judges.calling.reading import Reading, UnreadableError, read
from adjudge.judges.calling.served import is_same_model
from adjudge.judges.calling.transport import Response, Transport, TransportError
from adjudge.judges.failure import Failure
from adjudge.judges.prompt import messages
from adjudge.judges.reply import parse_reply
from adjudge.judges.request import JudgeRequest, Model
from adjudge.judges.verdict import Answer, Attempt, Usage

if TYPE_CHECKING:
    from adjudge.judges.calling.provider import Provider

LONGEST_RAW = 4000
"""Characters of a failed reply that are kept."""

_SAID_TO_THE_MODEL = {"malformed_output", "truncated"}


class ModelJudge:
    """A model behind litellm. Each call of `judge` is one request on the wire: it never retries.

    With `output: auto` it remembers which way of asking for JSON its server takes. A request refused for its
    form alone comes back as a failure that is `changed`.
    """

    def __init__(
        self,
        model: Model,
        transport: Transport,
        *,
        name: str = "",
        api_key_env: str | None = None,
        headers_env: Mapping[str, str] | None = None,
        price: Price | None = None,
        attempt_timeout: float = 60.0,
        require_model: bool = False,
        environ: Mapping[str, str] = os.environ,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Args:
        model: the model that every request names.
        transport: the process's HTTP session.
        name: the judge's name in the suite, for messages.
        api_key_env: the variable that holds the key; None is the provider's usual one.
        headers_env: headers added to each request, and the variables that hold their values.
        price: used instead of litellm's.
        attempt_timeout: seconds for one whole attempt.
        require_model: whether an answer of another model than the one asked for is a failure.
        environ: where keys are looked for.
        clock: seconds since the epoch, for a Retry-After that is a date.
        """
        label = f"judge {name!r} ({model.name})" if name else f"judge {model.name!r}"
        self._access = Access(
            label=label,
            model=model,
            api_key_env=api_key_env,
            headers_env=headers_env or {},
            environ=environ,
        )
        self._transport, self._timeout, self._clock = transport, attempt_timeout, clock
        self._suite_price, self._require_model = price, require_model
        self._ready: tuple[Provider, ModeMemory] | None = None
        self._getting_ready = asyncio.Lock()

    @property
    def price(self) -> Price | None:
        """What calls are priced with; None where that is unknown, or until `ready` if the suite has none."""
        if self._suite_price is not None or self._ready is None:
            return self._suite_price
        return self._ready[0].price

    async def ready(self) -> None:
        """Load what a request needs, once. Nothing is sent. The first judge of a process waits for litellm.

        Raises:
            UsageError: no key, no such provider, parameters the model does not take.
        """
        await self._made_ready()

    async def judge(self, request: JudgeRequest, /) -> Answer | Failure:
        """Ask once.

        Raises:
            UsageError: see `ready`.
            ValueError: `request` is for another model.
        """
        if request.model != self._access.model:
            raise ValueError(f"a request for {request.model.name!r} came to {self._access.label}")
        provider, memory = self._ready or await self._made_ready()
        ask = _Ask(self._access, provider, self.price, memory, request)
        try:
            async with asyncio.timeout(self._timeout):
                marked = request.shares_prefix and provider.marks_prefix
                sent = messages(request, mark_prefix=marked)
                response = await provider.ask(self._transport, sent, ask.mode, request.ids)
        except TimeoutError:
            message = f"no whole reply within {self._timeout:g} s"
            return ask.failed(Failure(cause="timeout", message=message, retryable=True))
        except TransportError as error:
            return ask.failed(transport_failure(error))
        outcome = ask.outcome(response, self._clock())
        return self._of_that_model(outcome) if self._require_model else outcome

    def _of_that_model(self, outcome: Answer | Failure) -> Answer | Failure:
        """`outcome`, unless another model answered: that is the suite's to mend, so nothing is retried."""
        asked, served = self._access.model.name, outcome.attempts[-1].served_model
        if isinstance(outcome, Failure) or served is None or is_same_model(asked, served):
            return outcome
        message = f"{self._access.label}: {served!r} answered in its place"
        failure = Failure(cause="not_found", message=message, fatal=True)
        attempt = replace(outcome.attempts[-1], cause=failure.cause, message=failure.message)
        return replace(failure, attempts=(attempt,))

    async def _made_ready(self) -> tuple[Provider, ModeMemory]:
        from adjudge.judges.calling.provider import load

        async with self._getting_ready:
            if self._ready is None:
                provider = await load(self._access)
                memory = ModeMemory(await provider.modes(modes_of(self._access.model.output)))
                self._ready = provider, memory
            return self._ready


class _Ask:
    """One attempt, and the record of it."""

    def __init__(
        self,
        access: Access,
        provider: Provider,
        price: Price | None,
        memory: ModeMemory,
        request: JudgeRequest,
    ) -> None:
        self.mode: Mode = memory.mode
        self._access, self._provider, self._price, self._memory = access, provider, price, memory
        self._request = request
        self._started = time.perf_counter()

    def outcome(self, response: Response, now: float) -> Answer | Failure:
        """The verdicts in `response`, or the first thing that is wrong with it (J3)."""
        failure = response_failure(response, now=now)
        if failure is not None:
            if refuses_format(response):
                failure = self._refused(failure)
            return self.failed(failure, response)
        try:
            reading = read(self._provider.shape, response.body)
        except UnreadableError as error:
            garbage = Failure(cause="malformed_output", message=str(error), retryable=True)
            return self.failed(garbage, response)
        self._memory.worked(self.mode)
        params: Mapping[str, Any] = self._access.model.params
        limit = params.get("max_tokens", params.get("max_completion_tokens"))
        failure = reading_failure(reading, limit)
        if failure is not None:
            return self.failed(failure, response, reading)
        verdicts = parse_reply(self._provider.redact_key.known(reading.text or ""), self._request)
        if isinstance(verdicts, Failure):
            return self.failed(verdicts, response, reading)
        return Answer(verdicts=verdicts, attempts=(self._attempt(None, response, reading),))

    def _refused(self, failure: Failure) -> Failure:
        """Some servers call a form they don't know an internal error: asking so again is of no use."""
        message = f"{failure.message}; the server does not take output {self.mode!r}"
        return Failure(cause="bad_request", message=message, changed=self._memory.refused(self.mode))

    def failed(
        self, failure: Failure, response: Response | None = None, reading: Reading | None = None
    ) -> Failure:
        """`failure` with this attempt, and without a secret in either."""
        message = self._provider.redact(failure.message)
        if failure.cause not in _SAID_TO_THE_MODEL:
            message = f"{self._access.label}: {message}"
        failure = replace(failure, message=message)
        return replace(failure, attempts=(self._attempt(failure, response, reading),))

    def _attempt(
        self, failure: Failure | None, response: Response | None, reading: Reading | None
    ) -> Attempt:
        redact = self._provider.redact
        usage = Usage() if reading is None else reading.usage
        served = None if reading is None or reading.model is None else redact(reading.model)[:200]
        raw = None
        if failure is not None and response is not None:
            said = reading.text if reading is not None and reading.text else None
            text = response.body[: 4 * LONGEST_RAW].decode("utf-8", "replace") if said is None else said
            raw = redact(text[: 2 * LONGEST_RAW])[:LONGEST_RAW]
        return Attempt(
            cause=None if failure is None else failure.cause,
            message="" if failure is None else failure.message,
            status=None if response is None else response.status,
            seconds=time.perf_counter() - self._started,
            raw=raw,
            usage=usage,
            cost_usd=self._cost(usage, 0 if reading is None else reading.stored),
            served_model=served,
        )

    def _cost(self, usage: Usage, stored: int) -> float | None:
        return None if self._price is None else self._price.cost(usage, stored)
