"""Points in time as formats write them, to ISO 8601 text."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

_NANOSECONDS = 10**9


def instant(seconds: Any) -> Any:
    """Seconds since 1970 as ISO 8601 text, to the millisecond; anything else as it is."""
    if not isinstance(seconds, int | float) or isinstance(seconds, bool):
        return seconds
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return seconds


def of_nanoseconds(since: Any) -> str | None:
    """Nanoseconds since 1970, as OTLP's number or text, as ISO 8601 text; None where it is neither."""
    try:
        number = int(since)
    except (TypeError, ValueError, OverflowError):
        return None
    found = instant(number / _NANOSECONDS) if number > 0 else None
    return found if isinstance(found, str) else None
