"""The parts of a message in the spellings that traces carry: words, reasoning, calls and results."""

from __future__ import annotations

from typing import Any

from adjudge.pipeline.plain import as_text, is_list, is_mapping, items, mapping, string

Message = dict[str, Any]
"""An OpenAI chat message."""

_CALLS = {"tool_call", "tool_use", "tool-call", "server_tool_use", "mcp_tool_use", "function_call"}
_RESULTS = {"tool_call_response", "tool_result", "tool-result", "mcp_tool_result", "function_call_output"}
_TEXTS = {"text", "input_text", "output_text"}
_THOUGHTS = {"reasoning", "thinking"}


def words(message: Message) -> str:
    """The text of a message."""
    content = message.get("content")
    if is_list(content):
        texts = (string(mapping(part).get("text")) for part in content if not _is_thought(part))
        return "\n".join(text for text in texts if text)
    return string(content)


def split(role: str, content: Any, calls: list[Message], beside: Message) -> list[Message]:
    """One message, and one more for each tool result among its parts: before a user's words, after a call."""
    said: list[Any] = []
    results: list[Message] = []
    known = {string(call.get("id")) for call in calls}
    for part in items(content):
        kind = kind_of(part)
        if kind == "result":
            results.append(_result(part))
        elif kind == "call":
            call = call_of(part)
            calls = calls if call["id"] is not None and call["id"] in known else [*calls, call]
        else:
            said.append(_part(part, kind))
    if results and not said and not calls:
        return results
    whole = said if is_list(content) else as_text(content) if is_mapping(content) else content
    if (
        is_list(whole)
        and len(whole) == 1
        and set(mapping(whole[0])) == {"type", "text"}
        and whole[0]["type"] == "text"
    ):
        whole = whole[0]["text"]
    message = {"role": role, "content": whole or None if calls else whole, **beside}
    if calls:
        message["tool_calls"] = calls
    return [message, *results] if role == "assistant" else [*results, message]


def kind_of(part: Any) -> str:
    """What a part is: `call`, `result`, `text`, `thought`, or anything else."""
    record = mapping(part)
    kind = string(record.get("type"))
    if kind in _CALLS or "functionCall" in record or ("function_call" in record and not kind):
        return "call"
    if "arguments" in mapping(record.get("function")):
        return "call"
    if (
        kind in _RESULTS
        or kind.endswith("_tool_result")
        or {"functionResponse", "function_response"} & record.keys()
    ):
        return "result"
    if "toolCallId" in record:
        return "result" if {"output", "result"} & record.keys() else "call"
    if _is_thought(part):
        return "thought"
    return "text" if isinstance(part, str) or kind in _TEXTS or (not kind and "text" in record) else kind


def _is_thought(part: Any) -> bool:
    record = mapping(part)
    return string(record.get("type")) in _THOUGHTS or record.get("thought") is True


def _part(part: Any, kind: str) -> Any:
    if kind == "text":
        text = part if isinstance(part, str) else part.get("text", part.get("content"))
        return {"type": "text", "text": text}
    return _thought(part) if kind == "thought" else part


def _thought(part: dict[str, Any]) -> Message:
    """A reasoning part; one that is encrypted has no text."""
    told = next(
        (part[key] for key in ("text", "thinking", "content", "summary", "reasoning") if part.get(key)), ""
    )
    text = "\n".join(string(mapping(item).get("text")) for item in told) if is_list(told) else as_text(told)
    return {"type": "reasoning", "text": text}


def call_of(call: dict[str, Any]) -> Message:
    """A tool call, from any of its spellings."""
    inner = call.get("functionCall") or call.get("function_call") or call.get("function") or call
    called = mapping(inner)
    return {
        "id": identity(call, "call_id", "id", "toolCallId", "tool_call_id") or identity(called, "id"),
        "function": {
            "name": _of(called, "name", "toolName", "tool_name"),
            "arguments": _of(called, "arguments", "args", "input"),
        },
    }


def _result(part: dict[str, Any]) -> Message:
    """A tool's result, from any of its spellings."""
    inner = mapping(part.get("functionResponse") or part.get("function_response")) or part
    given = _of(inner, "response", "result", "output", "content")
    failed = bool(part.get("is_error") or part.get("isError"))
    if {"type", "value"} <= mapping(given).keys():
        failed, given = failed or string(given["type"]).startswith("error"), given["value"]
    if is_list(given):
        given = [_part(item, kind_of(item)) for item in given if is_mapping(item)] or as_text(given)
    content = as_text(given) if not is_list(given) and given is not None else given
    names = ("tool_use_id", "tool_call_id", "toolCallId", "call_id", "id")
    answered = identity(part, *names) or identity(inner, "id")
    message = {"role": "tool", "content": content, "tool_call_id": answered}
    named = _of(inner, "name", "toolName", "tool_name")
    return (
        message
        | ({"name": named} if named else {})
        | ({"error": words(message) or "the tool failed"} if failed else {})
    )


def _of(record: dict[str, Any], *keys: str) -> Any:
    """The value of the first of `keys` that has one."""
    return next((record[key] for key in keys if record.get(key) is not None), None)


def identity(record: dict[str, Any], *keys: str) -> str | None:
    """An id, as text."""
    found = _of(record, *keys)
    return None if found is None else as_text(found)
