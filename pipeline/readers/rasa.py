"""Rasa trackers: `{"sender_id", "events": [...]}`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import takewhile
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.plain import as_text, is_list, mapping, string
from adjudge.pipeline.readers.build import Notes
from adjudge.pipeline.readers.instants import instant
from adjudge.pipeline.readers.runs import named, one_a_run, without
from adjudge.pipeline.readers.source import Record, Source, Unreadable, first_of

name = "rasa"

_WAITING = {"action_listen", "action_session_start"}
"""Actions by which nothing is done."""

_PARTS = ("buttons", "quick_replies", "elements", "attachment", "image", "custom")


def recognises(value: Any) -> bool:
    """Whether the first record is a sender's events."""
    record = mapping(first_of(value))
    events = record.get("events")
    return "sender_id" in record and is_list(events) and all("event" in mapping(event) for event in events)


def read(source: Source) -> Iterator[Conversation | Unreadable]:
    """A conversation from each session of each tracker, its events as they are listed: times may go back.

    What `undo`, `rewind` and `restart` take out of the bot's memory was said all the same: it stays, noted.
    """
    for record in source.records():
        if not isinstance(record, Record):
            yield record
        elif is_list(mapping(record.value).get("events")):
            sessions = _sessions(record.value["events"])
            convert = partial(_fields, record.value, len(sessions))
            yield from one_a_run(source, record.line, enumerate(sessions, 1), convert)
        else:
            yield source.unreadable(record.line, "'events' is missing or no list")


def _sessions(events: list[Any]) -> list[list[dict[str, Any]]]:
    """The events of each session: those up to the next `session_started`."""
    sessions: list[list[dict[str, Any]]] = [[]]
    for event in events:
        if mapping(event).get("event") == "session_started" and any(map(_is_turn, sessions[-1])):
            sessions.append([])
        sessions[-1].append(mapping(event))
    return sessions


def _is_turn(event: dict[str, Any]) -> bool:
    done = event.get("event") == "action" and event.get("name") not in _WAITING
    return done or event.get("event") in ("user", "bot", "agent")


def _fields(
    tracker: dict[str, Any], sessions: int, session: tuple[int, list[dict[str, Any]]]
) -> dict[str, Any]:
    number, events = session
    sender = named(tracker.get("sender_id"))
    reading = _Reading()
    for place, event in enumerate(events):
        reading.add(event, (events[later] for later in range(place + 1, len(events))))
    kept = without(tracker, "events", "sender_id")
    return {
        **({} if sender is None else {"id": sender if sessions == 1 else f"{sender}-{number}"}),
        **reading.fields(kept),
    }


class _Reading:
    """The messages of one session in the making."""

    def __init__(self) -> None:
        self._messages: list[dict[str, Any]] = []
        self._notes = Notes()
        self._passed: Counter[str] = Counter()
        self._memory: list[tuple[str, int]] = []
        self._by_action = False
        self._missing = False

    def fields(self, metadata: dict[str, Any]) -> dict[str, Any]:
        """Native fields of the session."""
        for kind, count in self._passed.items():
            self._notes.add(f"{count} {kind!r} event{'s' if count > 1 else ''} left out")
        incomplete = {"agent_pov_incomplete": True} if self._missing else {}
        return {"messages": self._messages, **incomplete, "metadata": self._notes.into(metadata)}

    def add(self, event: dict[str, Any], following: Iterator[dict[str, Any]]) -> None:
        """Add the turns that one event is."""
        kind = string(event.get("event"))
        if kind == "user":
            self._user(event)
        elif kind in ("bot", "agent"):
            self._bot(event)
        elif kind == "action":
            self._action(event, following)
        elif kind == "action_execution_rejected":
            self._call(event, error="the action refused to run")
        elif kind in ("undo", "rewind", "restart"):
            self._forget(kind)
        elif kind != "session_started" and not (kind == "slot" and self._by_action):
            self._passed[kind or "nameless"] += 1

    def _say(self, event: dict[str, Any], kind: str, role: str, content: Any, **fields: Any) -> None:
        at = instant(event.get("timestamp"))
        self._messages.append({"role": role, "content": content, "timestamp": at, **fields})
        self._memory.append((kind, len(self._messages)))

    def _user(self, event: dict[str, Any]) -> None:
        parsed = string(mapping(event.get("parse_data")).get("text"))
        said = event.get("text")
        if said is None:
            said = parsed
        elif parsed and parsed != said:
            self._notes.add(f"what was parsed is {parsed!r}", len(self._messages) + 1)
        if event.get("parse_data"):
            self._notes.add("intent and entities left out", len(self._messages) + 1)
        self._by_action = False
        self._say(event, "user", "user", said)

    def _bot(self, event: dict[str, Any]) -> None:
        """What the bot, or a person in its place, said: text, and what was shown beside it."""
        if event.get("event") == "agent":
            self._notes.add("said by a person, not the bot", len(self._messages) + 1)
        data = mapping(event.get("data"))
        parts = [_part(key, data[key]) for key in _PARTS if data.get(key)]
        said = event.get("text")
        if parts:
            said = [*([{"type": "text", "text": said}] if said else []), *parts]
        self._say(event, "bot", "assistant", said)

    def _action(self, event: dict[str, Any], following: Iterator[dict[str, Any]]) -> None:
        """An action: a call, with the slots it set as its result, or the name of a text the bot said."""
        action = _action_of(event)
        self._by_action = bool(action) and action not in _WAITING and not action.startswith("utter_")
        if self._by_action:
            self._call(event, slots=_slots(following))
            return
        self._memory.append(("action", 0))
        if action.startswith("utter_") and _next_kind(following) != "bot":
            self._missing = True
            self._notes.add("the text of this answer is not in the file", len(self._messages) + 1)
            self._say(event, "bot", "assistant", [{"type": "answer", "name": action}])

    def _call(
        self, event: dict[str, Any], *, slots: dict[str, Any] | None = None, error: str | None = None
    ) -> None:
        action = _action_of(event)
        identity = f"event-{len(self._messages) + 1}"
        call = {"id": identity, "name": action, "arguments": None}
        self._say(event, "action", "assistant", None, tool_calls=[call])
        if slots or error:
            given = as_text({"slots": slots}) if slots else None
            self._say(event, "result", "tool", given, tool_call_id=identity, name=action, error=error)

    def _forget(self, kind: str) -> None:
        """Note the turns that an event takes out of the bot's memory."""
        for until in {"undo": ["action"], "rewind": ["user", "action"], "restart": ["everything"]}[kind]:
            while self._memory:
                was, turn = self._memory.pop()
                if turn:
                    self._notes.add(f"taken out of the bot's memory by a {kind!r}, though it was said", turn)
                if was == until:
                    break


def _part(key: str, value: Any) -> dict[str, Any]:
    """Something shown beside the text: an image by where it lies, anything else as its JSON."""
    return {"type": key, ("url" if key == "image" else "text"): as_text(value)}


def _action_of(event: dict[str, Any]) -> str:
    return string(event.get("name")) or string(event.get("action_text"))


def _slots(following: Iterator[dict[str, Any]]) -> dict[str, Any]:
    """The slots that an action set: those before the next thing that is done or said by the user."""
    own = takewhile(lambda event: event.get("event") not in ("action", "user"), following)
    return {string(event.get("name")): event.get("value") for event in own if event.get("event") == "slot"}


def _next_kind(following: Iterator[dict[str, Any]]) -> str:
    """The kind of the next event, slots aside."""
    return next((kind for event in following if (kind := string(event.get("event"))) != "slot"), "")
