"""Reading the ledger's rows: only text that stands in its row is ever looked at."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from adjudge.judges.ledger.directory import DATABASE, SETTINGS
from adjudge.judges.ledger.record import DamagedRecordError, Record, decode

_GET = "SELECT key, raw, mode, filename, value FROM Cache WHERE raw = 1 AND key IN "
_ROW = "SELECT raw, mode, filename, value, key FROM Cache WHERE rowid = ?"
_PLACES = "SELECT rowid FROM Cache ORDER BY key, raw"
_LONGEST = 1 << 26
_PATIENCE = 60  # seconds to wait for a process that is recovering or closing the database


class Rows:
    """A read-only view of diskcache's table. Any thread may read.

    diskcache's own reading unpickles what a row says is pickled, opens what it says is a file, and must
    write in order to open: none of that happens here.
    """

    def __init__(self, directory: Path, *, read_only: bool) -> None:
        """Open the database in `directory`.

        Args:
            directory: where it is.
            read_only: store nothing; a disk that can't be written will do.

        Raises:
            sqlite3.Error: if it can't be opened or is no database.
        """
        uri = (directory / DATABASE).as_uri()
        self.directory = directory
        self._connection = _connect(f"{uri}?mode={'ro' if read_only else 'rw'}")
        try:
            self._connection.execute("SELECT 1 FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:
            self.close()
            if not read_only or os.access(directory, os.W_OK):
                raise
            _refuse_unmerged(directory / f"{DATABASE}-wal")
            self._connection = _connect(f"{uri}?mode=ro&immutable=1")
        except BaseException:
            self.close()
            raise

    def settings(self) -> dict[str, Any] | None:
        """diskcache's settings as they are stored; None where its tables are not complete.

        Raises:
            sqlite3.Error: if they can't be read.
        """
        names = self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        if not {(b"Settings",), (b"Cache",)} <= set(names):
            return None
        stored = self._connection.execute("SELECT CAST(key AS TEXT), value FROM Settings")
        found = {_text(key): _text(value) for key, value in stored}
        return found if SETTINGS.keys() <= found.keys() else None

    def get(self, keys: Sequence[str]) -> dict[str, Record | DamagedRecordError]:
        """What each of `keys` that has a row holds or why it can't be believed; at most 1,000 keys.

        Raises:
            sqlite3.Error: if they can't be read.
        """
        asked = f"{_GET}({','.join('?' * len(keys))})"
        found: dict[str, Record | DamagedRecordError] = {}
        for name, raw, mode, filename, value in self._connection.execute(asked, keys):
            key: str = name.decode()
            try:
                found[key] = _read(key, raw, mode, filename, value)
            except DamagedRecordError as error:
                found[key] = error
        return found

    def scan(self) -> Iterator[tuple[str, Record | DamagedRecordError]]:
        """Every row in the order of keys, as its key and what it holds or why it can't be believed."""
        places = self._connection.execute(_PLACES)
        while True:
            try:
                place = places.fetchone()
            except sqlite3.DatabaseError as error:
                yield "", DamagedRecordError(f"the list of entries can't be read any further: {error}")
                return
            if place is None:
                return
            yield self._at(place[0])

    def integrity(self) -> list[str]:
        """What SQLite finds wrong with the file; empty if nothing."""
        try:
            found = [_text(line) for (line,) in self._connection.execute("PRAGMA integrity_check")]
        except sqlite3.DatabaseError as error:
            return [str(error)]
        return [] if found == ["ok"] else found

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _at(self, place: int) -> tuple[str, Record | DamagedRecordError]:
        key = ""
        try:
            *row, name = self._connection.execute(_ROW, (place,)).fetchone() or (0, 0, None, None, b"")
            key = str(_text(name))
            return key, _read(key, *row)
        except DamagedRecordError as error:
            return key, error
        except sqlite3.DatabaseError as error:
            return key, DamagedRecordError(f"it can't be read: {error}")


def _connect(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        uri, uri=True, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
    )
    connection.text_factory = bytes
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
    return connection


def _refuse_unmerged(log: Path) -> None:
    """A disk that can't be written is read without SQLite's log, so nothing may be waiting there."""
    if log.exists() and log.stat().st_size:
        raise sqlite3.OperationalError(
            f"its disk is read-only and its newest verdicts are still in {log.name!r}: "
            "open it once where it can be written"
        )


def _read(key: str, raw: object, mode: object, filename: object, value: object) -> Record:
    if raw != 1 or mode != 1 or filename is not None or type(value) is not bytes:
        raise DamagedRecordError(
            "it is not a text in its row, but something to unpickle or to read from a file"
        )
    record = decode(value)
    if record.key != key:
        raise DamagedRecordError(f"it is the answer to another question ({record.key})")
    return record


def _text(value: object) -> Any:
    return value.decode(errors="replace") if isinstance(value, bytes) else value
