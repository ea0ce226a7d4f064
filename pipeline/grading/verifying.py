"""Verifiers run on a thread of their own, and nobody has to wait for one that never returns."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Self

from adjudge.judges.failure import Failure
from adjudge.pipeline.checks import Check, Verifier, verify
from adjudge.pipeline.conversation import Conversation


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    verifier: Verifier
    conversation: Conversation
    loop: asyncio.AbstractEventLoop
    done: asyncio.Future[list[Check] | Failure]


class VerifierThread:
    """Runs verifiers one after the other. A context manager: leaving it waits for none.

    The thread starts with the first verifier. It is a daemon, so that a verifier in an endless loop can't
    keep the process from ending, as a pool's thread would.
    """

    def __init__(self) -> None:
        """Nothing runs yet."""
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread: Thread | None = None

    async def verify(self, verifier: Verifier, conversation: Conversation) -> list[Check] | Failure:
        """What `checks.verify` returns."""
        if self._thread is None:
            self._thread = Thread(target=self._work, name="verifier", daemon=True)
            self._thread.start()
        loop = asyncio.get_running_loop()
        job = _Job(verifier=verifier, conversation=conversation, loop=loop, done=loop.create_future())
        self._jobs.put(job)
        return await job.done

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            outcome = verify(job.verifier, job.conversation)
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                job.loop.call_soon_threadsafe(_tell, job, outcome)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._jobs.put(None)


def _tell(job: _Job, outcome: list[Check] | Failure) -> None:
    if not job.done.done():
        job.done.set_result(outcome)
