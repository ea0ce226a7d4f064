"""The one thread that writes to the ledger: everything waiting goes to the disk in one transaction."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from adjudge.judges.failure import StorageError
from adjudge.judges.ledger.directory import LEASES, failed
from adjudge.judges.ledger.lease import Leases

if TYPE_CHECKING:
    from adjudge.judges.ledger.store import Store

_T = TypeVar("_T")


class Writer:
    """Runs work on the store, in order, on its own thread.

    Whoever had work done is told when what it put is on the disk. The first failure of the disk is the
    last: that work and all later work fails with the same `StorageError`.

    Attributes:
        leases: what is being asked now.
        broken: the failure of the disk, once there was one.
    """

    def __init__(self, directory: Path) -> None:
        """Open the leases; the store is opened and the thread started with the first work.

        Raises:
            StorageError: if the leases can't be opened.
        """
        self._directory = directory
        self.leases = Leases(directory / LEASES)
        self.broken: StorageError | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ledger")
        self._lock = Lock()
        self._waiting: list[_Job] = []
        self._store: Store | None = None

    def run(self, work: Callable[[Store], _T]) -> _T:
        """Have `work` done and wait for it.

        Raises:
            StorageError: if the disk fails.
        """
        future: Future[_T] = Future()
        self._add(_Job(work=work, future=future, loop=None))
        return future.result()

    def post(self, work: Callable[[Store], _T]) -> asyncio.Future[_T]:
        """Have `work` done; it is done also if nobody waits for the future any more."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[_T] = loop.create_future()
        self._add(_Job(work=work, future=future, loop=loop))
        return future

    def close(self) -> None:
        """Finish what is waiting, close the store, end the thread, give the leases back."""
        self._thread.submit(self._close)
        self._thread.shutdown()
        self.leases.close()

    def _add(self, job: _Job) -> None:
        with self._lock:
            self._waiting.append(job)
            first = len(self._waiting) == 1
        if first:
            self._thread.submit(self._commit)

    def _commit(self) -> None:
        with self._lock:
            batch, self._waiting = self._waiting, []
        try:
            store = self._opened()
            with store.transaction():
                for job in batch:
                    job.result = job.work(store)
        except BaseException as error:  # noqa: BLE001  whatever it is, nobody may wait for ever
            if isinstance(error, sqlite3.Error | OSError):
                self.broken = failed(self._directory, error)
            for job in batch:
                job.error = self.broken or error
        _tell(batch)

    def _opened(self) -> Store:
        if self.broken is not None:
            raise self.broken
        if self._store is None:
            from adjudge.judges.ledger.store import Store

            with self.leases.opening():
                self._store = Store(self._directory)
        return self._store

    def _close(self) -> None:
        if self._store is not None:
            self._store.close()


@dataclass(slots=True, kw_only=True)
class _Job:
    """Work, and whom to tell: a future of asyncio on its loop, or one of threads."""

    work: Callable[[Store], object]
    future: Future[Any] | asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop | None
    result: object = None
    error: BaseException | None = None

    def tell(self) -> None:
        if self.future.done():
            return
        if self.error is None:
            self.future.set_result(self.result)
        else:
            self.future.set_exception(self.error)


def _tell(batch: Iterable[_Job]) -> None:
    """Wake each loop once for all of its jobs."""
    jobs: defaultdict[asyncio.AbstractEventLoop | None, list[_Job]] = defaultdict(list)
    for job in batch:
        jobs[job.loop].append(job)
    for loop, told in jobs.items():
        if loop is None:
            _tell_all(told)
        elif not loop.is_closed():
            loop.call_soon_threadsafe(_tell_all, told)


def _tell_all(jobs: Iterable[_Job]) -> None:
    for job in jobs:
        job.tell()
