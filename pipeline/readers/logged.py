"""Records of logs: what was sent or received, alone or wrapped with its time and direction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from adjudge.pipeline.readers.source import NotJsonError, parse

_WRAPPED = ("data", "event", "message", "payload")
_TIMES = ("timestamp", "ts", "time", "created_at")


def logged(record: dict[str, Any]) -> Iterator[Any]:
    """What a record may be: itself, then what it wraps, as it is or as JSON text."""
    yield record
    for key in _WRAPPED:
        found = record.get(key)
        if isinstance(found, str):
            with suppress(NotJsonError):
                found = parse(found.encode())
        yield found


def logged_time(record: dict[str, Any]) -> str | int | float | None:
    """When the record was made, as it says; None where it doesn't."""
    times = (record.get(key) for key in _TIMES)
    return next(
        (time for time in times if isinstance(time, str | int | float) and not isinstance(time, bool)), None
    )
