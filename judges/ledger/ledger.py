"""The ledger of verdicts: one row a question, kept for ever, whole after a kill at any moment (C5 to C9)."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from adjudge.judges.failure import StorageError
from adjudge.judges.ledger.directory import DATABASE, SETTINGS, failed, is_damage, prepare, unusable
from adjudge.judges.ledger.record import DamagedRecordError, Record, decode, encode
from adjudge.judges.ledger.rows import Rows
from adjudge.judges.ledger.writer import Writer

if TYPE_CHECKING:
    from adjudge.judges.ledger.store import Store

_log = logging.getLogger(__name__)
_AT_ONCE = 500  # keys read by one statement


class Ledger:
    """What was ever answered, by key. Made by `open`, and closed by its owner.

    Reading is direct and takes microseconds. Writing is on a thread of its own, which starts with the first
    of it: a run that finds everything it needs writes nothing.

    Attributes:
        directory: where it lives.
        warn: told of damage, a line each.
    """

    def __init__(
        self, directory: Path, rows: Rows, writer: Writer | None, warn: Callable[[str], None]
    ) -> None:
        """See `open`."""
        self.directory = directory
        self._rows, self._writer, self.warn = rows, writer, warn
        self._ready = False
        self._distrusted: set[str] = set()
        self._files = ExitStack()
        self._files.callback(rows.close)
        if writer is not None:
            self._files.callback(writer.close)

    @classmethod
    def open(
        cls,
        directory: Path,
        *,
        read_only: bool = False,
        force: bool = False,
        warn: Callable[[str], None] = _log.warning,
    ) -> Ledger:
        """Open the cache in `directory`, making it where it is missing.

        Args:
            directory: where it lives. It is made with mode 0700.
            read_only: store nothing and take no leases; also on a disk that can't be written.
            force: also on a network file system.
            warn: told of damage and of settings that had to be put right, a line each.

        Raises:
            StorageError: if it can't be used, with what to do. A file that is no database is renamed,
                never deleted.
        """
        path = prepare(directory, read_only=read_only, force=force)
        with ExitStack() as files:
            writer = None if read_only else Writer(path)
            if writer is not None:
                files.callback(writer.close)
            ledger = cls(path, _open_rows(path, writer, warn), writer, warn)
            files.pop_all()
        return ledger

    @property
    def damaged(self) -> int:
        """How many entries were met that could not be believed (C8)."""
        return len(self._distrusted)

    def get(self, key: str) -> Record | None:
        """The record of `key`; None if there is none, or one that can't be believed (C8), with a warning.

        Raises:
            StorageError: if the database can't be read at all.
        """
        return self.get_all([key]).get(key)

    def get_all(self, keys: Sequence[str]) -> dict[str, Record]:
        """The records of `keys`, as `get` gives each; fewer reads than one by one.

        Raises:
            StorageError: if the database can't be read at all.
        """
        records: dict[str, Record] = {}
        for start in range(0, len(keys), _AT_ONCE):
            some = keys[start : start + _AT_ONCE]
            try:
                found = self._rows.get(some)
            except sqlite3.Error as error:
                if not is_damage(error):
                    raise failed(self.directory, error) from None
                if len(some) > 1:  # the others may be whole
                    found = {key: record for key in some if (record := self.get(key)) is not None}
                else:
                    found = {some[0]: DamagedRecordError(str(error))}
            for key, record in found.items():
                if isinstance(record, DamagedRecordError):
                    self.distrust(key, str(record))
                else:
                    records[key] = record
        return records

    def distrust(self, key: str, why: str) -> None:
        """Count the entry of `key` as damaged, and warn of it once."""
        if key not in self._distrusted:
            self._distrusted.add(key)
            self.warn(f"the stored verdict {key[:12]} is damaged and not used: {why}")

    async def ready(self) -> None:
        """See that verdicts can be stored, before any is paid for.

        Raises:
            StorageError: if not.
        """
        if not self._ready:
            await self._writing.post(_nothing)
            self._ready = True

    def claim(self, key: str) -> bool:
        """Take the lease of `key`; False while anybody on this machine holds it (C7).

        Raises:
            StorageError: if nothing can be stored any more, so that nothing more may be asked.
        """
        if self._writing.broken is not None:
            raise self._writing.broken
        return self._writing.leases.claim(key)

    def release(self, key: str) -> None:
        """Give the lease of `key` back."""
        self._writing.leases.release(key)

    def put(self, record: Record) -> asyncio.Future[None]:
        """Store `record`; done when it is on the disk (C5). What stood under its key goes into its history.

        Raises:
            StorageError: if it can't be stored.
        """
        return self._writing.post(lambda store: _replace(store, record))

    def add(self, records: Sequence[Record]) -> int:
        """Store those of `records` whose keys are free, in one transaction; returns how many. Blocks.

        Raises:
            StorageError: if they can't be stored.
        """
        return self._writing.run(lambda store: sum(_add(store, record) for record in records))

    def scan(self) -> Iterator[tuple[str, Record | DamagedRecordError]]:
        """Every entry in the order of keys: its key, and its record or why it can't be believed."""
        return self._rows.scan()

    def integrity(self) -> list[str]:
        """What SQLite finds wrong with the file; empty if nothing. Takes a second for 500 MB."""
        return self._rows.integrity()

    def close(self) -> None:
        """Finish writing and close every file. Twice does no harm."""
        self._files.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def _writing(self) -> Writer:
        if self._writer is None:
            raise unusable(self.directory, "it is open for reading only")
        return self._writer


def _open_rows(path: Path, writer: Writer | None, warn: Callable[[str], None]) -> Rows:
    """Open for reading; for writing first, if the cache is new or something about it must be put right."""
    database = path / DATABASE
    if not database.exists():
        _make(path, writer)
    found = database.stat().st_ino
    try:
        with ExitStack() as files:
            rows = Rows(path, read_only=writer is None)
            files.callback(rows.close)
            settings = rows.settings()
            if settings is None:
                _make(path, writer)
            else:
                _put_right(path, writer, settings, warn)
            files.pop_all()
            return rows
    except sqlite3.Error as error:
        if writer is None or not is_damage(error):
            raise failed(path, error) from None
        with writer.leases.opening():
            raise _set_aside(path, found, error) from None


def _make(path: Path, writer: Writer | None) -> None:
    if writer is None:
        raise unusable(path, "there is nothing in it yet")
    writer.run(_nothing)


def _put_right(
    path: Path, writer: Writer | None, settings: dict[str, object], warn: Callable[[str], None]
) -> None:
    changed = [f"{name}={settings[name]!r}" for name in SETTINGS if settings[name] != SETTINGS[name]]
    if changed:
        if writer is not None:
            writer.run(_nothing)
        done = "can't be put right here" if writer is None else "put right"
        warn(
            f"the cache in {str(path)!r} was opened by something else with {', '.join(changed)}: {done}; "
            "it may have lost verdicts"
        )


def _set_aside(path: Path, found: int, error: sqlite3.Error) -> StorageError:
    """Rename the database, if it still is the one that was found damaged, and say so."""
    number = 1
    while (path / f"{DATABASE}.damaged-{number}").exists():
        number += 1
    aside = f"{DATABASE}.damaged-{number}"
    with suppress(FileNotFoundError):
        if (path / DATABASE).stat().st_ino == found:
            for name in (f"{DATABASE}-wal", f"{DATABASE}-shm", DATABASE):
                with suppress(FileNotFoundError):
                    (path / name).rename(path / name.replace(DATABASE, aside))
    return StorageError(
        f"the cache in {str(path)!r} is damaged ({error}). It was renamed to {aside!r}, nothing was "
        "deleted. Run again to begin an empty one; `adjudge cache import` takes back an export"
    )


def _nothing(store: Store) -> None:
    """Opening the store is all that is wanted."""


def _replace(store: Store, record: Record) -> None:
    if store.add(record.key, encode(record).decode()):
        return
    older = _stored(store, record.key)
    if older is not None:
        record = replace(record, history=(*older.history, replace(older, history=())))
    store.put(record.key, encode(record).decode())


def _add(store: Store, record: Record) -> bool:
    text = encode(record).decode()
    if store.add(record.key, text):
        return True
    damaged = _stored(store, record.key) is None
    if damaged:
        store.put(record.key, text)
    return damaged


def _stored(store: Store, key: str) -> Record | None:
    text = store.get(key)
    with suppress(DamagedRecordError):
        record = None if text is None else decode(text)
        return record if record is not None and record.key == key else None
    return None
