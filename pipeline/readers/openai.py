"""OpenAI chat messages: `{"messages"}`, a list, a message a record, or a request and its response."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.plain import as_text, is_list, is_mapping, items, kind_of, mapping, string
from adjudge.pipeline.readers import native
from adjudge.pipeline.readers.build import NotAConversationError, Notes, one_a_file, one_a_record
from adjudge.pipeline.readers.exchange import Exchange, exchange_of
from adjudge.pipeline.readers.instants import instant
from adjudge.pipeline.readers.source import NotJsonError, Record, Source, Unreadable, first_of, parse

name = "openai"

_ROLES = {"system", "developer", "user", "assistant", "tool", "function"}
_PARTS = {"text", "image_url", "input_audio", "file", "refusal"}
_FOREIGN_KEYS = {"parts", "toolInvocations"}
_FOREIGN_PARTS = {"tool_use", "tool_result", "tool-call", "tool-result"}
_ENVELOPE: dict[str, type] = {
    "test": str,
    "rollout": int,
    "status": str,
    "termination_reason": str,
    "agent_pov_incomplete": bool,
    "agent_output": str,
    "error": str,
    "statements": dict,
    "graders": list,
}
"""Native keys that may stand beside the messages, and what they hold if they are meant as native ones."""

_STATUS = {"completed", "failed", "canceled"}
_READ = {
    *("role", "content", "name", "tool_calls", "tool_call_id", "function_call"),
    *("refusal", "audio", "reasoning_content", "timestamp", "error"),
}


def recognises(value: Any) -> bool:
    """Whether the first record is OpenAI messages, or the file is one list of them, and it is not native."""
    if native.recognises(value):
        return False
    first = first_of(value)
    found = exchange_of(first)
    if found is not None:
        answered = "choices" in found.response or ("error" in found.response and "type" not in found.response)
        return answered and _are_messages(found.request.get("messages"))
    return _are_messages(value) or _are_messages(first) or _is_message(value) or _has_messages(first)


def read(source: Source) -> Iterator[Conversation | Unreadable]:
    """A conversation from each record; from the whole file where its records are messages."""
    first = next((record for record in source.records() if isinstance(record, Record)), None)
    if first is not None and _is_message(first.value):
        return one_a_file(source, _fields)
    return one_a_record(source, _fields)


def native_messages(messages: list[Any], notes: Notes) -> list[dict[str, Any]]:
    """OpenAI messages as native ones, one each; what can't be represented is added to `notes`.

    Raises:
        NotAConversationError: a message that is no object or has no role.
    """
    return [_message(message, turn, notes) for turn, message in enumerate(messages, 1)]


def _is_message(value: Any) -> bool:
    message = mapping(value)
    keys = {"content", "tool_calls", "function_call", "refusal", "audio"}
    types = {string(mapping(part).get("type", "text")) for part in items(message.get("content"))}
    if string(message.get("role")) not in _ROLES or not keys & message.keys() or not types <= _PARTS:
        return False
    if _FOREIGN_KEYS & message.keys():
        return False
    return all({"function", "custom"} & mapping(call).keys() for call in items(message.get("tool_calls")))


def _are_messages(value: Any) -> bool:
    return bool(items(value)) and all(map(_is_message, items(value)))


def _has_messages(value: Any) -> bool:
    messages = mapping(value).get("messages")
    return "system" not in mapping(value) and (messages == [] or _are_messages(messages))


def _fields(value: Any) -> dict[str, Any]:
    """Native fields of one record: its messages, and what stands beside them."""
    notes = Notes()
    found = exchange_of(value)
    if found is not None:
        return _of_exchange(found, notes)
    if is_list(value):
        messages = native_messages(value, notes)
        return {"messages": messages, "metadata": notes.into({})}
    if not is_mapping(value):
        raise NotAConversationError(f"must be an object with 'messages', not {kind_of(value)}")
    record = dict(value)
    if not is_list(record.get("messages")):
        raise NotAConversationError("'messages' is missing or no list")
    fields = {
        key: native_messages(record.pop(key), notes)
        for key in ("messages", "agent_messages")
        if is_list(record.get(key))
    }
    return {**fields, **beside(record, notes), "metadata": notes.into(record)}


def _of_exchange(found: Exchange, notes: Notes) -> dict[str, Any]:
    response, choices = found.response, items(found.response.get("choices"))
    chosen = mapping(choices[0]) if choices else {}
    messages = list(items(found.request.get("messages")))
    if is_mapping(chosen.get("message")):
        messages.append({"timestamp": instant(response.get("created")), **chosen["message"]})
    if len(choices) > 1:
        notes.add(f"{len(choices) - 1} more choices left out")
    identity, ended = response.get("id"), chosen.get("finish_reason")
    return {
        **({"id": as_text(identity)} if identity else {}),
        "messages": native_messages(messages, notes),
        **({"termination_reason": ended} if isinstance(ended, str) else {}),
        **found.outcome(),
        "metadata": notes.into(found.metadata("messages", "choices")),
    }


def beside(record: dict[str, Any], notes: Notes) -> dict[str, Any]:
    """The native fields among a record's keys other than its messages, taken out of `record`.

    A metadata mapping is spread over it: what is left is the conversation's metadata.
    """
    fields: dict[str, Any] = {}
    identity = _identity(record)
    if identity is not None:
        fields["id"] = identity
    for key in [key for key in _ENVELOPE if key in record]:
        value = record.pop(key)
        if isinstance(value, _ENVELOPE[key]) and (key != "status" or value in _STATUS):
            fields[key] = value
        elif value is not None:
            record[key] = value
            notes.add(f"{key!r} is {kind_of(value)}, kept in the metadata")
    metadata = record.pop("metadata", None)
    if metadata is not None:
        record |= metadata if is_mapping(metadata) else {"metadata": metadata}
    return fields


def _identity(record: dict[str, Any]) -> str | None:
    """The conversation's id, taken out of the record; a number as its text."""
    key = "conversation_id" if record.get("conversation_id") not in (None, "") else "id"
    found = record.get(key)
    if found in (None, "") or isinstance(found, bool | list | dict):
        return None
    del record[key]
    return str(found)


def _message(message: Any, turn: int, notes: Notes) -> dict[str, Any]:
    if not is_mapping(message):
        raise NotAConversationError(f"turn {turn}: a message is an object, not {kind_of(message)}")
    for key, value in message.items():
        if key not in _READ and value not in (None, "", [], {}):
            notes.add(f"{key!r} left out", turn)
    fields = _role(message, turn, notes)
    fields["content"] = _content(message, turn, notes)
    fields["tool_calls"] = _tool_calls(message, turn, notes)
    if message.get("tool_call_id") is not None:
        fields["tool_call_id"] = str(message["tool_call_id"])
    if message.get("timestamp") is not None:
        fields["timestamp"] = message["timestamp"]
    if message.get("error") is not None:
        fields["error"] = as_text(message["error"])
    return fields


def _role(message: dict[str, Any], turn: int, notes: Notes) -> dict[str, Any]:
    """The native role, and the name. A role nobody knows is an agent's: its name is kept as the speaker's."""
    role, speaker = message.get("role"), message.get("name")
    if not isinstance(role, str) or not role:
        raise NotAConversationError(f"turn {turn}: 'role' is missing")
    named = {} if speaker is None else {"name": as_text(speaker)}
    known = role.lower()
    if known not in _ROLES:
        notes.add(f"role {role!r} is shown as the assistant named {role!r}", turn)
        return {"role": "assistant", "name": role, **named}
    if known == "function":
        notes.add("role 'function' is shown as 'tool'", turn)
    elif known != role:
        notes.add(f"role {role!r} is shown as {known!r}", turn)
    return {"role": "tool" if known == "function" else known, **named}


def _content(message: dict[str, Any], turn: int, notes: Notes) -> str | list[dict[str, Any]] | None:
    content = message.get("content")
    beside = _parts_beside(message)
    if is_list(content):
        parts = (_part(part, turn, notes) for part in content)
        return [*beside, *(part for part in parts if part is not None)]
    if content is not None and not isinstance(content, str):
        notes.add(f"content is {kind_of(content)}, shown as JSON text", turn)
        content = as_text(content)
    if not beside:
        return content
    return [*beside, {"type": "text", "text": content}] if content else beside


def _parts_beside(message: dict[str, Any]) -> list[dict[str, Any]]:
    """What a message says outside its content: reasoning, a refusal, speech."""
    parts: list[dict[str, Any]] = []
    if message.get("reasoning_content"):
        parts.append({"type": "reasoning", "text": as_text(message["reasoning_content"])})
    if message.get("refusal"):
        parts.append({"type": "refusal", "refusal": as_text(message["refusal"])})
    if is_mapping(message.get("audio")):
        parts.append({**message["audio"], "type": "audio"})
    return parts


def _part(part: Any, turn: int, notes: Notes) -> dict[str, Any] | None:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if part is None:
        notes.add("an empty part left out", turn)
        return None
    if is_mapping(part):
        kind = part.get("type", "text" if isinstance(part.get("text"), str) else "unknown")
        if string(kind) in _FOREIGN_PARTS:
            raise NotAConversationError(
                f"turn {turn}: a part {kind!r} is another format's call or result; say which with 'format'"
            )
        return {**part, "type": as_text(kind)}
    notes.add(f"a part is {kind_of(part)}, shown as JSON text", turn)
    return {"type": "text", "text": as_text(part)}


def _tool_calls(message: dict[str, Any], turn: int, notes: Notes) -> list[dict[str, Any]]:
    calls = message.get("tool_calls")
    if calls is not None and not is_list(calls):
        raise NotAConversationError(f"turn {turn}: 'tool_calls' is {kind_of(calls)}, not a list")
    found = [_tool_call(mapping(call), turn, notes) for call in items(calls)]
    if message.get("function_call"):
        found.append(_tool_call({"function": message["function_call"]}, turn, notes))
    return found


def _tool_call(call: dict[str, Any], turn: int, notes: Notes) -> dict[str, Any]:
    called = mapping(call.get("function") or call.get("custom") or call)
    if not isinstance(called.get("name"), str):
        raise NotAConversationError(f"turn {turn}: a tool call has no name")
    identity = call.get("id")
    return {
        "id": None if identity is None else as_text(identity),
        "name": called["name"],
        "arguments": arguments(called.get("arguments", called.get("input")), turn, notes),
    }


def arguments(given: Any, turn: int, notes: Notes) -> Any:
    """What a call passed: the value that a JSON text holds; the text itself, noted, where it is no JSON."""
    if not isinstance(given, str) or not given:
        return given
    try:
        return parse(given.encode("utf-8", "surrogatepass"))
    except NotJsonError:
        notes.add("a call's arguments are not JSON, kept as text", turn)
        return given
