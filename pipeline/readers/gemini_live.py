"""Events of Gemini Live as the conversation they tell of."""

from __future__ import annotations

from typing import Any

from adjudge.pipeline.plain import as_text, is_mapping, items, mapping, string
from adjudge.pipeline.readers.build import Notes
from adjudge.pipeline.readers.gemini_contents import Calls, add_content, camel
from adjudge.pipeline.readers.realtime_items import SOUND_LEFT_OUT, Event
from adjudge.pipeline.readers.turns import Turns

_KINDS = (
    "setup",
    "setupComplete",
    "clientContent",
    "realtimeInput",
    "serverContent",
    "toolCall",
    "toolResponse",
)
LIVE_KEYS = frozenset(
    {*_KINDS, "client_content", "realtime_input", "server_content", "tool_call", "tool_response"}
)
"""The keys that events of Gemini Live are told apart by."""

_INTERRUPTED = {"type": "interrupted", "title": "speech stopped here; not all of the words before were heard"}


def live_conversation(events: list[Event]) -> tuple[dict[str, Any], Notes]:
    """The native fields of one session of Gemini Live, and what could not be represented."""
    log = _Log()
    for event in events:
        log.hear(event)
    return log.fields(), log.turns.notes


class _Log:
    """What was heard of a session.

    The user's speech is written down while the agent already answers, so what the agent does waits until its
    turn ends.
    """

    def __init__(self) -> None:
        self.turns = Turns()
        self._calls = Calls()
        self._setup: dict[str, Any] = {}
        self._user: list[tuple[Any, str]] = []
        self._agent: list[tuple[Any, dict[str, Any]]] = []

    def hear(self, event: Event) -> None:
        """Take in the next event."""
        data = camel(event.data)
        if is_mapping(data.get("setup")):
            self._set_up(camel(data["setup"]), event.time)
        if is_mapping(data.get("clientContent")):
            self._flush()
            for content in items(data["clientContent"].get("turns")):
                self._add(event.time, content)
        typed = mapping(data.get("realtimeInput")).get("text")
        if isinstance(typed, str):
            self._flush()
            self._add(event.time, {"role": "user", "parts": [{"text": typed}]})
        for call in items(camel(mapping(data.get("toolCall"))).get("functionCalls")):
            self._agent.append((event.time, {"role": "model", "parts": [{"functionCall": call}]}))
        for given in items(camel(mapping(data.get("toolResponse"))).get("functionResponses")):
            self._agent.append((event.time, {"role": "user", "parts": [{"functionResponse": given}]}))
        self._hear_server(camel(mapping(data.get("serverContent"))), event.time)
        if cancelled := mapping(data.get("toolCallCancellation")).get("ids"):
            self.turns.notes.add(f"calls cancelled by the API: {as_text(cancelled)}")

    def fields(self) -> dict[str, Any]:
        """The native fields of the conversation."""
        self._flush()
        setup = {key: value for key, value in self._setup.items() if key != "systemInstruction"}
        return {**self.turns.fields(), "metadata": {"session": setup} if setup else {}}

    def _set_up(self, setup: dict[str, Any], time: Any) -> None:
        self._setup = setup
        instruction = setup.get("systemInstruction")
        if isinstance(instruction, str):
            instruction = {"parts": [{"text": instruction}]}
        if is_mapping(instruction):
            self._add(time, {**instruction, "role": "system"})

    def _hear_server(self, content: dict[str, Any], time: Any) -> None:
        heard = string(mapping(content.get("inputTranscription")).get("text"))
        if heard:
            self._user.append((time, heard))
        said = mapping(content.get("outputTranscription")).get("text")
        shown = [camel(mapping(part)) for part in items(mapping(content.get("modelTurn")).get("parts"))]
        for part in [{"text": said}] if isinstance(said, str) else shown:
            if "inlineData" in part:
                self.turns.notes.add(SOUND_LEFT_OUT)
            else:
                self._say(part, time)
        if content.get("interrupted") is True:
            self._agent.append((time, _INTERRUPTED))
        if content.get("turnComplete") is True:
            self._flush()

    def _say(self, part: dict[str, Any], time: Any) -> None:
        """Something of the agent's; words that go on are one part with those before."""
        last: dict[str, Any] = self._agent[-1][1].get("parts", [{}])[-1] if self._agent else {}
        spoken = isinstance(last.get("text"), str) and isinstance(part.get("text"), str)
        if spoken and part.keys() == last.keys():
            last["text"] += part["text"]
        else:
            self._agent.append((time, {"role": "model", "parts": [dict(part)]}))

    def _flush(self) -> None:
        """The turn is over: what the user said, then what the agent did."""
        if self._user:
            words = "".join(words for _, words in self._user).strip()
            self._add(self._user[0][0], {"role": "user", "parts": [{"text": words}]})
        for time, content in self._agent:
            if content is _INTERRUPTED:
                self.turns.part(_INTERRUPTED)
            else:
                self._add(time, content)
        self.turns.close()
        self._user, self._agent = [], []

    def _add(self, time: Any, content: Any) -> None:
        self.turns.timestamp = time
        add_content(content, self.turns, self._calls)
