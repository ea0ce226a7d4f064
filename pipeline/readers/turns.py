"""Native messages in the making: what was said, called and given back, in the order it happened."""

from __future__ import annotations

from typing import Any

from adjudge.pipeline.plain import as_text, is_list, kind_of, mapping
from adjudge.pipeline.readers.build import NotAConversationError, Notes

_HIDDEN = frozenset({"reasoning", "redacted_thinking"})


class Turns:
    """The turns of one conversation, oldest first, and what of them could not be represented.

    What the agent thinks, says and calls gathers in one message, in this order. Whatever comes in another
    order begins the next message, so that words, calls and results stand as they happened.

    Attributes:
        notes: what could not be represented.
        timestamp: put on the messages that follow; None where the source has no times.
        incomplete: whether turns are known to be missing.
    """

    def __init__(self) -> None:
        self.notes = Notes()
        self.timestamp: Any = None
        self.incomplete = False
        self._messages: list[dict[str, Any]] = []
        self._open: dict[str, Any] | None = None

    def __len__(self) -> int:
        """How many messages there are: the number of the latest turn."""
        return len(self._messages)

    def say(self, role: str, content: str | list[dict[str, Any]] | None, **fields: Any) -> None:
        """Another message. Reasoning that stands alone before an agent's is part of it, and so are the calls
        that follow.

        Args:
            role: a native role.
            content: text or parts.
            fields: other native fields of the message.
        """
        parts = _parts(content)
        opened = self._open
        if role != "assistant" or opened is None or opened["tool_calls"] or not _is_hidden(opened["content"]):
            opened = self._begin(role)
        opened["content"] += parts
        opened |= fields
        self._open = opened if role == "assistant" else None

    def part(self, part: dict[str, Any]) -> None:
        """Something the agent says or thinks, after what it said before."""
        opened = self._open
        if opened is None or opened["tool_calls"]:
            self._open = opened = self._begin("assistant")
        opened["content"].append(part)

    def call(self, identity: Any, name: Any, arguments: Any) -> None:
        """A call the agent makes.

        Args:
            identity: the call's id; None where the source has none.
            name: the tool's name.
            arguments: what is passed: a JSON value.

        Raises:
            NotAConversationError: `name` is no text.
        """
        if not isinstance(name, str):
            raise NotAConversationError(f"turn {len(self) or 1}: a tool call has no name")
        if self._open is None:
            self._open = self._begin("assistant")
        self._open["tool_calls"].append({"id": _id(identity), "name": name, "arguments": arguments})

    def result(
        self,
        identity: Any,
        content: str | list[dict[str, Any]] | None,
        *,
        failed: bool = False,
        error: str | None = None,
        name: str | None = None,
    ) -> None:
        """What a call gave back.

        Args:
            identity: the call's id.
            content: text or parts.
            failed: whether it is an error: then its words are the message's `error`.
            error: what went wrong, where the source has it apart from the content.
            name: the tool's name.
        """
        parts = _parts(content)
        if failed and error is None:
            words = "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str))
            error = words or "the tool failed without a message"
            parts = [part for part in parts if part["type"] != "text"]
        self.say("tool", parts or None, tool_call_id=_id(identity), error=error, name=name)

    def close(self) -> None:
        """What the agent says or calls next is another message."""
        self._open = None

    def note(self, note: str) -> None:
        """Note something that could not be represented, about the latest turn."""
        self.notes.add(note, len(self) or None)

    def fields(self) -> dict[str, Any]:
        """The native fields that the turns make: `messages`, and `agent_pov_incomplete` where known."""
        messages = [{**message, "content": _content(message)} for message in self._messages]
        return {"messages": messages, **({"agent_pov_incomplete": True} if self.incomplete else {})}

    def _begin(self, role: str) -> dict[str, Any]:
        message: dict[str, Any] = {"role": role, "content": [], "tool_calls": []}
        self._messages.append(message)
        if isinstance(self.timestamp, str | int | float) and not isinstance(self.timestamp, bool):
            message["timestamp"] = self.timestamp
        elif self.timestamp is not None:
            self.note(f"a time that is {kind_of(self.timestamp)} left out")
        return message


def text_part(text: Any, /, **more: Any) -> dict[str, Any]:
    """A part of words."""
    return {**more, "type": "text", "text": text}


def reasoning_part(text: Any = None, /, **more: Any) -> dict[str, Any]:
    """A part of hidden reasoning; without `text` where only an encrypted form is given."""
    return {**more, "type": "reasoning", **({} if text is None else {"text": text})}


def media_part(media_type: Any, /, **more: Any) -> dict[str, Any]:
    """A part that is an image, audio, video or another file, by its media type."""
    kind = media_type.partition("/")[0] if isinstance(media_type, str) else ""
    return {**more, "type": kind if kind in {"image", "audio", "video"} else "file", "media_type": media_type}


def error_text(error: Any) -> str:
    """The words of an API's error: its code, type and message where it is an object."""
    if not mapping(error):
        return as_text(error)
    said = [mapping(error).get(key) for key in ("code", "type", "message")]
    return ": ".join(str(part) for part in said if part not in (None, "")) or as_text(error)


def parts_of(content: Any, turn: int) -> list[Any]:
    """The parts of a content that is text, a list of parts, or null.

    Raises:
        NotAConversationError: it is anything else, or has a part that is neither an object nor text.
    """
    if content is None or isinstance(content, str):
        return _parts(content)
    if not is_list(content):
        raise NotAConversationError(f"turn {turn}: content must be text or a list, not {kind_of(content)}")
    for part in content:
        if not isinstance(part, dict | str):
            raise NotAConversationError(f"turn {turn}: a part must be an object, not {kind_of(part)}")
    return [text_part(part) if isinstance(part, str) else part for part in content]


def _parts(content: str | list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    if content is None:
        return []
    return [text_part(content)] if isinstance(content, str) else list(content)


def _content(message: dict[str, Any]) -> str | list[dict[str, Any]] | None:
    """A message's parts as short as they can be: text alone as text."""
    parts: list[dict[str, Any]] = message["content"]
    if not parts:
        return None
    return (
        parts[0]["text"]
        if len(parts) == 1 and parts[0].keys() == {"type", "text"} and parts[0]["type"] == "text"
        else parts
    )


def _is_hidden(parts: list[dict[str, Any]]) -> bool:
    return all(part["type"] in _HIDDEN for part in parts)


def _id(identity: Any) -> str | None:
    return None if identity is None else as_text(identity)
