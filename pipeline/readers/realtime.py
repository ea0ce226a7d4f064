"""Event logs of realtime voice models: OpenAI's Realtime API and Gemini Live, an event a record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.plain import is_mapping, mapping, string
from adjudge.pipeline.readers.build import NotAConversationError, one_a_session
from adjudge.pipeline.readers.gemini_live import LIVE_KEYS, live_conversation
from adjudge.pipeline.readers.logged import logged, logged_time
from adjudge.pipeline.readers.realtime_items import Event, realtime_conversation
from adjudge.pipeline.readers.source import Source, Unreadable, first_of

name = "realtime"

_PREFIXES = ("session.", "conversation.", "input_audio_buffer.", "output_audio_buffer.", "rate_limits.")
_REPLIES = ("response.", "error")


def recognises(value: Any) -> bool:
    """Whether the first record is an event of a realtime model, bare or with a direction and a time."""
    event = _event(first_of(value))
    if event is None or "jsonrpc" in event.data:
        return False
    kind = string(event.data.get("type"))
    replies = kind.startswith(_REPLIES) and "event_id" in event.data and "sequence_number" not in event.data
    return kind.startswith(_PREFIXES) or replies or not kind


def read(source: Source) -> Iterator[Conversation | Unreadable]:
    """A conversation from each session of the log."""
    return one_a_session(source, _opens, _fields)


def _opens(value: Any) -> bool:
    event = _event(value)
    return event is not None and (event.data.get("type") == "session.created" or "setup" in event.data)


def _fields(values: list[Any]) -> dict[str, Any]:
    events = [event for event in map(_event, values) if event is not None]
    if not events:
        raise NotAConversationError("no event of a realtime model")
    live = not any("type" in event.data for event in events)
    fields, notes = (live_conversation if live else realtime_conversation)(events)
    unknown = len(values) - len(events)
    if unknown:
        notes.add(f"{unknown} records that are no events left out")
    return {**fields, "metadata": notes.into(fields["metadata"])}


def _event(value: Any) -> Event | None:
    """The event that a record is or wraps, as an object or as JSON text, with the record's time."""
    record = mapping(value)
    data = next((found for found in map(mapping, logged(record)) if _is_event(found)), None)
    return None if data is None else Event(data=data, time=logged_time(record))


def _is_event(data: dict[str, Any]) -> bool:
    if "type" in data:
        return string(data["type"]).startswith((*_PREFIXES, *_REPLIES))
    return bool(LIVE_KEYS & data.keys()) and any(is_mapping(value) for value in data.values())
