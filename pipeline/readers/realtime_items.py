"""OpenAI's realtime events as the conversation they tell of, whatever order they arrive in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from adjudge.pipeline.plain import as_text, items, mapping, string
from adjudge.pipeline.readers.build import Notes
from adjudge.pipeline.readers.response_items import add_item
from adjudge.pipeline.readers.turns import Turns, error_text

_ECHOES = {"conversation.item.added", "conversation.item.created"}
_PLACED = _ECHOES | {
    *("conversation.item.done", "conversation.item.retrieved"),
    *("response.output_item.added", "response.output_item.done"),
}
_SETTINGS = {"session.created", "session.updated"}
_WHOLE = ("_transcript.done", "text.done", "transcription.completed")
_PIECES = ("_transcript.delta", "text.delta", "transcription.delta")
_SOUND = {"input_audio_buffer.append", "response.output_audio.delta", "response.audio.delta"}
SOUND_LEFT_OUT = "sound left out: its transcript stands for it"
_WORDS = {"input_text", "output_text", "text"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event of a log.

    Attributes:
        data: the event.
        time: when, as the log has it; None where it doesn't.
    """

    data: dict[str, Any]
    time: str | int | float | None


@dataclass(slots=True, kw_only=True)
class _Item:
    """What was heard of an item: its latest form, and words by the index of their part."""

    data: dict[str, Any]
    time: Any
    whole: dict[int, str] = field(default_factory=dict[int, str])
    pieces: dict[int, str] = field(default_factory=dict[int, str])
    cut: str | None = None
    deleted: bool = False

    def finished(self) -> dict[str, Any]:
        """The item with all of its words; a part says where speech stopped before its words ended."""
        data = {key: value for key, value in self.data.items() if key != "status"}
        if data.get("type") != "message":
            return data
        parts = dict(enumerate(map(mapping, items(data.get("content")))))
        for index in sorted(parts.keys() | self.whole.keys() | self.pieces.keys()):
            part = parts.get(index, {"type": "audio"})
            key = "text" if string(part.get("type")) in _WORDS else "transcript"
            words = self.whole.get(index) or self.pieces.get(index)
            parts[index] = {**part, key: words} if words and not part.get(key) else part
        content = list(parts.values())
        if self.cut:
            content.append({"type": "interrupted", "title": self.cut})
        return {**data, "content": content}


def realtime_conversation(events: list[Event]) -> tuple[dict[str, Any], Notes]:
    """The native fields of one session of OpenAI's Realtime API, and what could not be represented."""
    log = _Log({string(event.data.get("type")) for event in events})
    for event in events:
        log.hear(event)
    return log.fields(), log.notes


class _Log:
    """What was heard of a session."""

    def __init__(self, kinds: set[str]) -> None:
        self.notes = Notes()
        self._echoed, self._confirmed = bool(kinds & _ECHOES), bool(kinds & _SETTINGS)
        self._items: dict[str, _Item] = {}
        self._order: list[str] = []
        self._session: dict[str, Any] = {}
        self._response: dict[str, Any] = {}
        self._errors: list[str] = []

    def hear(self, event: Event) -> None:
        """Take in the next event."""
        data, kind = event.data, string(event.data.get("type"))
        if kind in _PLACED or (kind == "conversation.item.create" and not self._echoed):
            self._place(mapping(data.get("item")), data.get("previous_item_id"), event.time)
        elif kind in _SETTINGS or (kind == "session.update" and not self._confirmed):
            self._set(mapping(data.get("session")), event.time)
        elif kind == "response.done":
            self._response = mapping(data.get("response"))
            for item in items(self._response.get("output")):
                self._place(mapping(item), None, event.time)
        elif kind == "error":
            self._errors.append(error_text(data.get("error")))
            self.notes.add(f"an error of the API: {self._errors[-1]}")
        elif kind in _SOUND:
            self.notes.add(SOUND_LEFT_OUT)
        elif kind == "response.create" and mapping(data.get("response")).get("instructions"):
            self.notes.add("instructions for one response left out")
        elif identity := string(data.get("item_id")):
            self._hear_item(kind, data, self._known(identity, kind, data, event.time))

    def fields(self) -> dict[str, Any]:
        """The native fields of the conversation."""
        turns = Turns()
        turns.notes = self.notes
        for item in map(self._items.__getitem__, self._order):
            turns.timestamp = item.time
            add_item(item.finished(), turns)
            if item.deleted:
                turns.note("deleted from the agent's memory later; it is kept")
        identity = self._response.get("conversation_id") or self._session.get("id")
        session = {key: value for key, value in self._session.items() if key != "instructions"}
        return {
            **({"id": as_text(identity)} if identity else {}),
            **turns.fields(),
            **self._outcome(),
            "metadata": {"session": session} if session else {},
        }

    def _place(self, data: dict[str, Any], previous: Any, time: Any) -> None:
        """An item, new or in a later form. Where the log says what it comes after, its place is there."""
        identity = string(data.get("id")) or f"item {len(self._items) + 1}"
        known = self._items.get(identity)
        if known is not None:
            known.data |= {key: value for key, value in data.items() if value not in (None, "", [])}
        else:
            self._items[identity] = known = _Item(data=dict(data), time=time)
            after = self._order.index(previous) + 1 if previous in self._order else len(self._order)
            self._order.insert(after, identity)
        if known.data.get("status") == "incomplete" and known.cut is None:
            known.cut = "the reply was cut off here"

    def _set(self, session: dict[str, Any], time: Any) -> None:
        """The session's settings. Instructions that change once something was said are another turn."""
        told = session.get("instructions")
        if isinstance(told, str) and told and told != self._session.get("instructions"):
            item = {"type": "message", "role": "system", "content": [{"type": "input_text", "text": told}]}
            if self._order == ["instructions"]:
                self._items["instructions"].data |= item
            else:
                number = f" {len(self._items)}" if self._order else ""
                self._place({**item, "id": f"instructions{number}"}, None, time)
        self._session = {**self._session, **session}

    def _known(self, identity: str, kind: str, data: dict[str, Any], time: Any) -> _Item:
        """The item that an event is about, placed now if this is the first that is heard of it."""
        if identity not in self._items:
            called = kind.startswith("response.function_call")
            role = "assistant" if kind.startswith("response.") else "user"
            item = {"type": "function_call"} if called else {"type": "message", "role": role}
            self._place({**item, "id": identity}, data.get("previous_item_id"), time)
        return self._items[identity]

    def _hear_item(self, kind: str, data: dict[str, Any], item: _Item) -> None:
        index = data.get("content_index")
        index = index if isinstance(index, int) else 0
        if kind.endswith(_WHOLE):
            item.whole[index] = string(data.get("transcript", data.get("text")))
        elif kind.endswith(_PIECES):
            item.pieces[index] = item.pieces.get(index, "") + string(data.get("delta"))
        elif kind == "response.function_call_arguments.done":
            told = {key: data[key] for key in ("call_id", "name", "arguments") if data.get(key) is not None}
            item.data |= told
        elif kind == "input_audio_buffer.speech_started" and item.time is None:
            item.time = data.get("audio_start_ms")
        elif kind == "conversation.item.truncated":
            item.cut = (
                f"speech stopped after {data.get('audio_end_ms')} ms; the words after that were not heard"
            )
        elif kind == "conversation.item.input_audio_transcription.failed":
            self.notes.add(f"speech without a transcript: {error_text(data.get('error'))}")
        elif kind == "conversation.item.deleted":
            item.deleted = True

    def _outcome(self) -> dict[str, Any]:
        """How the session ended, by its last response; a session of errors alone failed."""
        status = self._response.get("status")
        details = mapping(self._response.get("status_details"))
        if status == "failed":
            return {"status": "failed", "error": error_text(details.get("error") or details or "failed")}
        if status in ("incomplete", "cancelled"):
            return {"termination_reason": as_text(details.get("reason") or status)}
        if self._errors and not self._response:
            return {"status": "failed", "error": self._errors[-1]}
        return {}
