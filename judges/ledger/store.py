"""diskcache, made strict: text rows that stand in the database, nothing unpickled, nothing evicted."""

# diskcache has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn, cast

from diskcache import Cache, Disk, Timeout

from adjudge.judges.ledger.directory import DATABASE, SETTINGS

_RAW = 1  # diskcache's mode of a value that stands in its row as it is
_PATIENCE = 60  # seconds another process may keep the database locked


class Store:
    """A diskcache for writing. It belongs to the thread that opened it: diskcache connects once a thread."""

    def __init__(self, directory: Path) -> None:
        """Open the cache in `directory`, making it where it is missing and putting its settings right.

        Raises:
            sqlite3.Error: if it can't be opened for writing.
            OSError: if its file can't be made.
        """
        # Never an open of an existing file: closing it would drop SQLite's own locks on it.
        with suppress(FileExistsError):
            os.close(os.open(directory / DATABASE, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        _drop_foreign_settings(directory / DATABASE)
        self._cache = _Cache(str(directory), timeout=_PATIENCE, disk=_StrictDisk, **SETTINGS)

    @contextmanager
    def transaction(self) -> Generator[None]:
        """All that is put inside is on the disk when this returns, or none of it.

        Raises:
            sqlite3.Error: if it can't be written.
        """
        try:
            with self._cache.transact():
                yield
        except Timeout:
            reason = "another process keeps it locked, or the disk is full or read-only"
            raise sqlite3.OperationalError(reason) from None

    def get(self, key: str) -> str | None:
        """The text under `key`; None if there is none that may be read."""
        with suppress(_RefusedError, sqlite3.DatabaseError):
            return cast("str | None", self._cache.get(key))
        return None

    def add(self, key: str, text: str) -> bool:
        """Put `text` under `key` if nothing at all stands there; say whether it was put."""
        return self._cache.add(key, text)

    def put(self, key: str, text: str) -> None:
        """Put `text` under `key`, in place of what is there."""
        self._cache.set(key, text)

    def close(self) -> None:
        """Close it, in the thread that opened it."""
        self._cache.close()


class _RefusedError(ValueError):
    """A row that diskcache would unpickle, or read from a file."""


class _StrictDisk(Disk):
    """What diskcache does with keys and values: text stays text in its row, everything else is refused.

    As it comes, diskcache decides by the row whether to unpickle its value or key, and which files to
    read and remove (CVE-2025-69872): whoever can write a row could run code.
    """

    def put(self, key: str) -> tuple[str, bool]:
        return key, True

    def get(self, key: object, raw: object) -> str:
        if not raw or type(key) is not str:
            raise _RefusedError("a key that is no text")
        return key

    def store(self, value: str, read: bool, key: object = None) -> tuple[int, int, None, str]:
        return 0, _RAW, None, value

    def fetch(self, mode: object, filename: object, value: object, read: bool) -> str:
        if mode != _RAW or filename is not None or type(value) is not str:
            raise _RefusedError("a value that is no text in its row")
        return value

    def filename(self, key: object = None, value: object = None) -> NoReturn:
        raise _RefusedError("no value is kept in a file")

    def remove(self, file_path: object) -> None:
        """Nothing: a row that names a file was not written here."""


class _Cache(Cache):
    """A diskcache that leaves no connection behind when it can't be opened."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        try:
            super().__init__(*args, **settings)
        except BaseException:
            self.close()
            raise


def _drop_foreign_settings(path: Path) -> None:
    """Delete settings diskcache doesn't know: it would run them as pragmas and set them as its attributes."""
    with closing(sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)) as connection:
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'Settings'").fetchone():
            known = [*SETTINGS, "count", "size", "hits", "misses"]
            marks = ", ".join("?" * len(known))
            connection.execute(f"DELETE FROM Settings WHERE key NOT IN ({marks})", known)  # noqa: S608
