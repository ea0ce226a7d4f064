"""The native conversation: one JSON object a record, exactly as spec section 7 has it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.plain import is_list, items, mapping, string
from adjudge.pipeline.readers.build import conversation
from adjudge.pipeline.readers.source import Record, Source, Unreadable, first_of

name = "native"

_KEYS = frozenset(Conversation.model_fields)
_TELLING_KEYS = _KEYS - {"messages", "metadata", "error", "status"}
"""Keys that speak for a native conversation beside its messages."""

_FOREIGN_KEYS = frozenset(
    {"function", "function_call", "refusal", "audio", "parts", "annotations", "toolInvocations"}
)
"""Keys of messages and tool calls that only other formats have."""

_FOREIGN_PARTS = frozenset({"tool_use", "tool_result", "tool-call", "tool-result"})
"""Types of parts that are calls and results in other formats; the native conversation has them elsewhere."""


def recognises(value: Any) -> bool:
    """Whether the first record has native keys beside its messages, few others, and no foreign message."""
    record = mapping(first_of(value))
    messages = record.get("messages", record.get("agent_messages"))
    if messages is None and record.get("status") in ("failed", "canceled"):  # before anything was said
        return "id" in record and record.keys() <= _KEYS
    if not is_list(messages) or not _TELLING_KEYS & record.keys():
        return False
    known = len(_KEYS & record.keys())
    return 2 * known > len(record) and not any(map(_is_foreign, messages))


def read(source: Source) -> Iterator[Conversation | Unreadable]:
    """The file's conversations. Keys that are not native are refused, with the key that was likely meant."""
    for record in source.records():
        if isinstance(record, Record):
            yield conversation(source, record.line, record.value)
        else:
            yield record


def _is_foreign(value: Any) -> bool:
    message = mapping(value)
    if _FOREIGN_KEYS & message.keys() or ("role" not in message and {"type", "from"} & message.keys()):
        return True
    parts = [mapping(part) for key in ("tool_calls", "content") for part in items(message.get(key))]
    return any("function" in part or string(part.get("type")) in _FOREIGN_PARTS for part in parts)
