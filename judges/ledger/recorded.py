"""Recordings: files of answers, as `adjudge cache export` writes them, consulted before the cache (C11)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from adjudge.judges.failure import UsageError
from adjudge.judges.ledger.record import DamagedRecordError, Record, decode


class Recordings:
    """An index of the records in some files, read once and never written. As large in memory as the files."""

    def __init__(self, paths: Iterable[Path] = ()) -> None:
        """Read and check every line of every file.

        Raises:
            UsageError: naming file and line, if a file can't be read, a line is no valid record, or two
                lines answer the same question differently.
        """
        self._lines: dict[str, tuple[bytes, str]] = {}
        for path in paths:
            for place, line, record in read_records(path):
                if isinstance(record, DamagedRecordError):
                    raise UsageError(f"{place}: {record}")
                known, before = self._lines.setdefault(record.key, (line, place))
                if known != line:
                    raise UsageError(f"{place}: answers the same question as {before}; keep one of them")

    def get(self, key: str) -> Record | None:
        """The record of `key`, or None."""
        found = self._lines.get(key)
        return None if found is None else decode(found[0])

    def __len__(self) -> int:
        return len(self._lines)


def read_records(path: Path) -> Iterator[tuple[str, bytes, Record | DamagedRecordError]]:
    """The lines of a file of records: `file:line`, the line, and its record or why it is none.

    Empty lines are passed over.

    Raises:
        UsageError: if the file can't be read.
    """
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if text := line.strip():
                    yield f"{path}:{number}", text, _read(text)
    except OSError as error:
        raise UsageError(f"{str(path)!r} can't be read: {error.strerror}") from None


def _read(line: bytes) -> Record | DamagedRecordError:
    try:
        record = decode(line)
        json.loads(line, object_pairs_hook=_unique)
    except DamagedRecordError as error:
        return error
    except RecursionError:
        return DamagedRecordError("it is nested too deep")
    return record


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise DamagedRecordError("an object in it has a key twice")
    return found
