"""Messages in the spellings that traces carry, to OpenAI chat messages.

A trace holds what a program gave its model and got back, in that program's own words: OpenAI chat and
Responses, LangChain in three encodings, the parts of GenAI conventions, Gemini, Anthropic and the AI SDK.
Of several replies to one call the first was used. Usage, ids of messages and the like are no part of them.
"""

from __future__ import annotations

from typing import Any

from adjudge.pipeline.plain import as_text, is_list, is_mapping, items, mapping, string
from adjudge.pipeline.readers.parts import Message, call_of, identity, kind_of, split, words
from adjudge.pipeline.readers.source import NotJsonError, parse

_ROLES = {"model": "assistant", "ai": "assistant", "human": "user", "aimessagechunk": "assistant"}
_LANGCHAIN = {"human", "ai", "system", "tool", "function", "chat", "developer", "AIMessageChunk", "remove"}
_EMPTY: tuple[Any, ...] = (None, "", [], {})


def messages(value: Any, speaker: str) -> list[Message]:
    """The messages in `value`: one, a list, or what a model was given or gave, with them somewhere inside.

    Args:
        value: as the trace has it, or that as JSON in a text.
        speaker: the role of what names none. What is no message at all is this one's, as JSON text.
    """
    inner = decoded(value) if isinstance(value, str) and value[:1] in ("{", "[") else value
    found = None if isinstance(inner, str) else _found(inner, speaker)
    if found is not None:
        return found
    return [] if value in _EMPTY else [{"role": speaker, "content": as_text(value)}]


def decoded(value: Any) -> Any:
    """The value that a text of JSON holds; anything else as it is."""
    if not isinstance(value, str):
        return value
    try:
        return parse(value.encode("utf-8", "surrogatepass"))
    except NotJsonError:
        return value


def _found(value: Any, speaker: str) -> list[Message] | None:
    """The messages in `value`, or None where it holds none."""
    if is_mapping(value):
        return _of_mapping(value, speaker)
    each = [(item, _found(item, speaker)) for item in items(value)]
    if all(found is None for _, found in each):
        return None
    return [
        message for item, found in each for message in (_unknown(item, speaker) if found is None else found)
    ]


def _unknown(item: Any, speaker: str) -> list[Message]:
    """What stands among messages and is none: a part where it says its type, else text."""
    if item in _EMPTY:
        return []
    if isinstance(mapping(item).get("type"), str):
        return [{"role": "assistant", "content": [item]}]
    return [{"role": speaker, "content": as_text(item)}]


def _of_mapping(record: dict[str, Any], speaker: str) -> list[Message] | None:
    kind, kwargs, data = record.get("type"), mapping(record.get("kwargs")), mapping(record.get("data"))
    if record.get("lc") and kwargs:
        return _langchain({"type": _class_role(record), **kwargs})
    if string(kind) in _LANGCHAIN and "role" not in record and ("content" in record or data):
        return _langchain({"type": kind, **data} if data else record)
    if isinstance(record.get("role"), str) or is_list(record.get("parts", record.get("content"))):
        return _chat(record, string(record.get("role")) or speaker)
    if kind_of(record) in {"call", "result", "thought"}:
        return split("assistant", [record], [], {})
    return _of_envelope(record, speaker)


def _of_envelope(record: dict[str, Any], speaker: str) -> list[Message] | None:
    """The messages in what stands around them: a request, a response, a state.

    Text under a common name counts only where nothing else stands beside it: it may be structured output.
    """
    for key, who in _ENVELOPES.items():
        value = record.get(key)
        if key in _ALTERNATIVES:
            value = _first(value)
            value = mapping(value).get("message") or mapping(value).get("text") or value
        bare = isinstance(value, str) and not who and len(record) > 1
        if value in _EMPTY or bare or (who == "user" != speaker):
            continue
        found = (
            [{"role": who or speaker, "content": value}]
            if isinstance(value, str)
            else _found(value, who or speaker)
        )
        if found is not None:
            return [*_instructions(record), *found]
    return None


_ENVELOPES = {
    "messages": "",
    "contents": "user",
    "choices": "assistant",
    "generations": "assistant",
    "candidates": "assistant",
    "message": "",
    "output": "",
    "prompt": "user",
    "input": "user",
    "content": "",
    "text": "",
}
"""What messages stand under, and who speaks where that is known."""

_ALTERNATIVES = {"choices", "generations", "candidates"}
"""What holds several replies, the first of which was used."""


def _instructions(record: dict[str, Any]) -> list[Message]:
    """The system prompt that stands beside the messages."""
    config = mapping(record.get("config"))
    given = [record.get(key) for key in ("instructions", "system", "systemInstruction", "system_instruction")]
    given += [config.get("systemInstruction"), config.get("system_instruction")]
    found = (message for value in given if value not in _EMPTY for message in messages(value, "system"))
    return [{**message, "role": "system"} for message in found]


def _first(value: Any) -> Any:
    """The first of several, however they are nested."""
    while is_list(value) and value:
        value = value[0]
    return value


def _class_role(record: dict[str, Any]) -> str:
    """`ai` of a serialised `AIMessage`."""
    name = string(next(reversed(items(record.get("id"))), ""))
    return name.removesuffix("Chunk").removesuffix("Message").lower()


def _langchain(record: dict[str, Any]) -> list[Message]:
    kind = string(record.get("type"))
    if kind == "remove":
        return []
    message = {**record, "role": record.get("role") if kind == "chat" else kind}
    if record.get("status") == "error":
        message["error"] = words(record) or "the tool failed"
    calls = [*items(record.get("tool_calls")), *items(record.get("invalid_tool_calls"))]
    return _chat({**message, "tool_calls": calls}, string(message["role"]))


def _chat(record: dict[str, Any], role: str) -> list[Message]:
    """A message that has a role: its content or parts, its calls, and what it answers."""
    more = mapping(record.get("additional_kwargs"))
    content = record.get("content", record.get("parts"))
    if role == "tool" and "parameters" in mapping(mapping(content).get("function")):
        return []  # what the model may call, written among the messages
    beside = {
        "name": record.get("name"),
        "tool_call_id": identity(record, "tool_call_id"),
        "error": record.get("error"),
        "refusal": record.get("refusal") or more.get("refusal"),
        "audio": record.get("audio") or more.get("audio"),
        "reasoning_content": record.get("reasoning_content") or more.get("reasoning_content"),
        "timestamp": record.get("timestamp"),
    }
    calls = items(record.get("tool_calls")) or items(more.get("tool_calls"))
    single = record.get("function_call") or more.get("function_call")
    calls = [call_of(mapping(call)) for call in [*calls, *([single] if is_mapping(single) else [])]]
    return split(
        _ROLES.get(role.lower(), role),
        content,
        calls,
        {key: it for key, it in beside.items() if it not in _EMPTY},
    )
