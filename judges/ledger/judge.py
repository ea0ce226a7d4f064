"""The judge that has been asked before: recordings, then the ledger, and only then the judge behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property

from adjudge.judges.citations import quote_stands, verify_all
from adjudge.judges.failure import Failure
from adjudge.judges.ledger.ledger import Ledger
from adjudge.judges.ledger.record import Record
from adjudge.judges.ledger.recorded import Recordings
from adjudge.judges.protocol import Judge
from adjudge.judges.request import JudgeRequest
from adjudge.judges.verdict import Answer, Origin, Source

_FIRST_LOOK, _LONGEST_WAIT = 0.01, 0.25  # seconds between looks at what another process is asking
_PATIENCE = 30  # seconds of waiting for another process before a word is said about it


class LedgerJudge:
    """Asks each question once, and stores the answer before anybody sees it (C5, C7)."""

    def __init__(
        self,
        inner: Judge,
        ledger: Ledger,
        recordings: Recordings,
        *,
        run: str,
        offline: bool = False,
        refresh: bool = False,
        stored: Callable[[], object] = lambda: None,
    ) -> None:
        """Wrap `inner`.

        Args:
            inner: asked where there is no answer yet.
            ledger: where answers are found and kept.
            recordings: consulted before the ledger.
            run: id of this run. Answers it got earlier count as its own calls.
            offline: never ask `inner`; what is missing fails as `not_cached` (C11).
            refresh: answers from before this run don't count (C8); neither do recordings.
            stored: told of each answer of `inner` that is on the disk.
        """
        self._inner, self._ledger, self._recordings = inner, ledger, recordings
        self._run, self._offline, self._refresh, self._stored = run, offline, refresh, stored
        self._impatient = False
        self._flights: dict[str, asyncio.Future[Failure | None]] = {}

    def recall(self, request: JudgeRequest, /) -> Answer | None:
        """The stored answer, or None: see `recall_all`."""
        return self.recall_all([request])[0]

    def recall_all(self, requests: Sequence[JudgeRequest], /) -> list[Answer | None]:
        """The stored answer to each request, or None. Its source is `live` if this run got it for this unit.

        Citations are checked against the evidence again. An answer that cites a turn which doesn't exist
        counts as damaged; one with an unverified quote is no answer where citations are required (J6).

        Raises:
            StorageError: the cache can't be read.
        """
        answers = [None if self._refresh else self._recorded(request) for request in requests]
        missing = [request.key for request, answer in zip(requests, answers, strict=True) if answer is None]
        records = self._ledger.get_all(missing) if missing else {}
        return [
            answer or self._recalled(records.get(request.key), request)
            for request, answer in zip(requests, answers, strict=True)
        ]

    def _recorded(self, request: JudgeRequest) -> Answer | None:
        record = self._recordings.get(request.key)
        return None if record is None else self._answer(record, request, "recorded")

    def _recalled(self, record: Record | None, request: JudgeRequest) -> Answer | None:
        if record is None:
            return None
        ours = record.origin if record.origin is not None and record.origin.run == self._run else None
        if self._refresh and ours is None:
            return None
        same = ours is not None and ours.unit == request.unit
        return self._answer(record, request, "live" if same else "cache")

    async def judge(self, request: JudgeRequest, /) -> Answer | Failure:
        """The stored answer, or the inner judge's, stored.

        A question that is being asked already, in this process or another, is waited for. Whoever waited
        shares a failure too, without its attempts: they are not its own.

        Raises:
            UsageError: the judge can't be asked as configured.
            StorageError: the cache can't be read or written.
        """
        while True:
            answer = self.recall(request)
            if answer is not None:
                return answer
            if self._offline:
                return self._not_cached(request)
            flight = self._flights.get(request.key)
            if flight is None:
                return await self._lead(request)
            failure = await asyncio.shield(flight)
            if failure is not None:
                return replace(failure, attempts=())

    async def _lead(self, request: JudgeRequest) -> Answer | Failure:
        """Ask for everybody in this process who wants to know; they look again when this ends."""
        flight = self._flights[request.key] = asyncio.get_running_loop().create_future()
        outcome = None
        try:
            outcome = await self._ask_once(request)
            return outcome
        finally:
            del self._flights[request.key]
            flight.set_result(outcome if isinstance(outcome, Failure) else None)

    async def _ask_once(self, request: JudgeRequest) -> Answer | Failure:
        """Ask, unless another process is asking: then wait for its answer, or for its end."""
        await self._ledger.ready()
        await self._claim(request.key)
        try:
            # It may have been answered between the last look and the claim.
            return self.recall(request) or await self._ask(request)
        finally:
            self._ledger.release(request.key)

    async def _claim(self, key: str) -> None:
        waited, pause = 0.0, _FIRST_LOOK
        while not self._ledger.claim(key):
            if waited >= _PATIENCE and not self._impatient:
                self._impatient = True
                self._ledger.warn(
                    "waiting for another adjudge process that is asking the same; is it stopped?"
                )
            await asyncio.sleep(pause)
            waited, pause = waited + pause, min(2 * pause, _LONGEST_WAIT)

    async def _ask(self, request: JudgeRequest) -> Answer | Failure:
        outcome = await self._inner.judge(request)
        if isinstance(outcome, Failure):
            return outcome
        answer = await self._store(request, outcome)
        self._stored()
        return answer

    async def _store(self, request: JudgeRequest, answer: Answer) -> Answer:
        origin = Origin(run=self._run, unit=request.unit)
        record = Record(
            key=request.key,
            fields=request.key_fields,
            verdicts=answer.verdicts,
            attempts=tuple(a if a.raw is None else replace(a, raw=None) for a in answer.attempts),
            origin=origin,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            adjudge=self._version,
        )
        stored = self._ledger.put(record)
        try:
            await asyncio.shield(stored)
        except asyncio.CancelledError:
            await stored  # it is paid for: the lease is kept until it is on the disk
            raise
        return replace(answer, source="live", origin=origin, created=record.created)

    def _answer(self, record: Record, request: JudgeRequest, source: Source) -> Answer | None:
        evidence, verdicts, sure = request.evidence, record.verdicts, True
        turns, first = evidence.turns, evidence.first
        for verdict in verdicts:
            for cited in verdict.citations:
                place = cited.turn - first
                if not 0 <= place < len(turns):
                    self._ledger.distrust(
                        record.key, f"it cites turn {cited.turn}, which its question doesn't show"
                    )
                    return None
                sure = sure and cited.verified and quote_stands(turns[place], cited.quote)
        if not sure:
            verdicts = verify_all(evidence, verdicts)
            if request.require_citations and not all(c.verified for v in verdicts for c in v.citations):
                return None
        return Answer(
            verdicts=verdicts,
            attempts=record.attempts,
            source=source,
            origin=record.origin,
            created=record.created,
        )

    @cached_property
    def _version(self) -> str:
        from importlib.metadata import version

        return version("adjudge")

    def _not_cached(self, request: JudgeRequest) -> Failure:
        return Failure(
            cause="not_cached",
            message=f"--offline was given and there is no stored verdict {request.key[:12]}; "
            "`adjudge cache why-miss` says what is stored instead",
            retryable=True,
        )
