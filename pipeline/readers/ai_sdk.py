"""AI SDK messages, as the user interface keeps them (`parts`) or as the model is sent them (`content`).

Version 4 of it kept calls in `toolInvocations`, beside the text or as parts. They become parts of version 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.plain import as_text, is_list, items, mapping, string
from adjudge.pipeline.readers import native, openai
from adjudge.pipeline.readers.build import NotAConversationError, one_a_file, one_a_record
from adjudge.pipeline.readers.source import Record, Source, Unreadable, first_of
from adjudge.pipeline.readers.turns import Turns, media_part, parts_of, reasoning_part, text_part

name = "ai_sdk"

_ROLES = {"system", "user", "assistant", "tool"}
_UI_PARTS = {
    *("text", "reasoning", "file", "source", "source-url", "source-document"),
    *("step-start", "dynamic-tool"),
}
_MODEL_PARTS = {
    *("text", "reasoning", "file", "image"),
    *("tool-call", "tool-result", "tool-approval-request", "tool-approval-response"),
}
_STATES = {"partial-call": "input-streaming", "result": "output-available"}
"""What version 4 calls the states of a call."""

_UNANSWERED = {
    "input-streaming": "a call whose input was still being written",
    "approval-requested": "a call that waits for approval",
    "approval-responded": "a call that was approved or denied, without a result",
}


def recognises(value: Any) -> bool:
    """Whether the first record is messages of either kind, or holds them, or the file is one list of them."""
    if native.recognises(value) or openai.recognises(value):
        return False
    first = first_of(value)
    messages = mapping(first).get("messages", value if _is_message(first) else first)
    if not items(messages) or not all(map(_is_message, items(messages))):
        return False
    kinds = {string(part.get("type")) for message in items(messages) for part in _model_parts(message)}
    return any({"parts", "toolInvocations"} & message.keys() for message in items(messages)) or bool(
        kinds & _MODEL_PARTS - {"text", "image"}
    )


def read(source: Source) -> Iterator[Conversation | Unreadable]:
    """A conversation from each record; from the whole file where its records are messages."""
    first = next((record.value for record in source.records() if isinstance(record, Record)), None)
    return (one_a_file if _is_message(first) else one_a_record)(source, _fields)


def _fields(value: Any) -> dict[str, Any]:
    turns = Turns()
    record = {"messages": value} if is_list(value) else dict(mapping(value))
    messages = record.pop("messages", None)
    if not is_list(messages):
        raise NotAConversationError("'messages' is missing or no list")
    for message in messages:
        _add_message(mapping(message), turns)
    beside = openai.beside(record, turns.notes)
    return {**turns.fields(), **beside, "metadata": turns.notes.into(record)}


def _add_message(message: dict[str, Any], turns: Turns) -> None:
    turn, role = len(turns) + 1, string(message.get("role"))
    if role not in _ROLES:
        raise NotAConversationError(
            f"turn {turn}: not a message of the system, the user, the assistant or a tool"
        )
    told = mapping(message.get("metadata"))
    turns.timestamp = message.get("createdAt", told.get("createdAt"))
    turns.close()
    if is_list(message.get("parts")):
        parts = [_of_version_4(mapping(part)) for part in message["parts"]]
        add = _add_ui_reply if role == "assistant" else _add_ui_message
    elif is_list(message.get("toolInvocations")):
        called = [_invocation(mapping(call)) for call in message["toolInvocations"]]
        parts = [*called, {"type": "step-start"}, *parts_of(message.get("content") or None, turn)]
        if called and message.get("content"):
            turns.note("whether words or calls came first is not recorded: the calls are shown first")
        add = _add_ui_reply if role == "assistant" else _add_ui_message
    else:
        parts = parts_of(message.get("content"), turn)
        add = _add_model_parts
    attached = [_of_version_4(mapping(file)) for file in items(message.get("experimental_attachments"))]
    add(role, [*parts, *attached], turns)
    if len(turns) < turn:
        turns.say(role, None)
    turns.close()
    for key in told:
        if key != "createdAt":
            turns.note(f"metadata {key!r} left out")


def _of_version_4(part: dict[str, Any]) -> dict[str, Any]:
    """A part as version 5 has it: a call in a part of its own, a file with its media type."""
    kind = part.get("type", "file")
    if kind == "tool-invocation":
        return _invocation(mapping(part.get("toolInvocation")))
    if kind == "source":
        return {**mapping(part.get("source")), "type": "source-url"}
    if kind == "reasoning" and "reasoning" in part:
        return {"type": "reasoning", "text": part["reasoning"]}
    if kind != "file" or "mediaType" in part:
        return part
    rest = {key: value for key, value in part.items() if key not in ("mimeType", "contentType", "name")}
    named = {"filename": part["name"]} if "name" in part else {}
    return {**rest, **named, "type": "file", "mediaType": part.get("mimeType", part.get("contentType"))}


def _invocation(call: dict[str, Any]) -> dict[str, Any]:
    """A call of version 4 as a part: its state, and the result where there is one."""
    part = {
        "type": "dynamic-tool",
        "toolName": call.get("toolName"),
        "toolCallId": call.get("toolCallId"),
        "state": _STATES.get(string(call.get("state")), "input-available"),
        "input": call.get("args"),
    }
    return {**part, "output": call["result"]} if "result" in call else part


def _add_ui_message(role: str, parts: list[dict[str, Any]], turns: Turns) -> None:
    turns.say(role, [_part(part) for part in parts])


def _add_ui_reply(_role: str, parts: list[dict[str, Any]], turns: Turns) -> None:
    """An assistant's message: steps of reasoning, words and calls. The results come after a step's calls."""
    called: list[dict[str, Any]] = []
    for part in [*parts, {"type": "step-start"}]:
        kind = string(part.get("type"))
        if "toolCallId" in part and (kind.startswith("tool-") or kind == "dynamic-tool"):
            _add_ui_call(part, turns)
            called.append(part)
            continue
        for answered in called:
            _add_ui_result(answered, turns)
        called = []
        if kind == "step-start":
            turns.close()
            continue
        turns.part(_part(part))
        if part.get("state") == "streaming":
            turns.note("was still being written: it is cut off")


def _add_ui_call(part: dict[str, Any], turns: Turns) -> None:
    turns.call(part["toolCallId"], _tool(part), part.get("input", part.get("rawInput")))
    if part.get("input") is None and "rawInput" in part:
        turns.note("a call's input could not be read, kept as it was written")
    if reason := _UNANSWERED.get(string(part.get("state"))):
        turns.note(reason)


def _add_ui_result(part: dict[str, Any], turns: Turns) -> None:
    """What a call gave back, if it did: its output, an error, or that it was denied."""
    identity, state = part["toolCallId"], part.get("state")
    if state == "output-available":
        turns.result(identity, as_text(part.get("output")), name=_tool(part))
        if part.get("preliminary") is True:
            turns.note("the result was not final")
    elif state == "output-error":
        error = as_text(part.get("errorText") or "the tool failed without a message")
        turns.result(identity, None, error=error, name=_tool(part))
    elif state == "output-denied":
        error = _denied(mapping(part.get("approval")).get("reason"))
        turns.result(identity, None, error=error, name=_tool(part))


def _tool(part: dict[str, Any]) -> str:
    return string(part.get("toolName")) or string(part.get("type")).removeprefix("tool-")


def _add_model_parts(role: str, parts: list[dict[str, Any]], turns: Turns) -> None:
    said: list[dict[str, Any]] = []
    for part in parts:
        kind = part.get("type")
        if kind == "tool-call":
            turns.call(part.get("toolCallId"), part.get("toolName"), part.get("input", part.get("args")))
        elif kind == "tool-result":
            _add_model_result(part, turns)
        elif kind == "tool-approval-request":
            turns.note("a call that waits for approval")
        elif kind == "tool-approval-response":
            turns.note(f"a call was {'approved' if part.get('approved') is True else 'denied'}")
        elif role == "assistant":
            turns.part(_part(part))
        else:
            said.append(_part(part))
    if said:
        turns.say("user" if role == "tool" else role, said)


def _add_model_result(part: dict[str, Any], turns: Turns) -> None:
    output = mapping(part.get("output"))
    kind, given = string(output.get("type")), output.get("value")
    failed, error = kind.startswith("error-"), None
    if not output:
        given, failed = part.get("result", part.get("output")), part.get("isError") is True
    if kind == "execution-denied":
        error = _denied(output.get("reason"))
    elif kind == "content":
        given = [_part(piece) for piece in parts_of(given, len(turns) + 1)]
    elif given is not None:
        given = as_text(given)
    turns.result(
        part.get("toolCallId"), given, failed=failed, error=error, name=string(part.get("toolName")) or None
    )


def _part(part: dict[str, Any]) -> dict[str, Any]:
    """The native part that one is which is no call and no result."""
    kind = string(part.get("type")) or "unknown"
    rest = {key: value for key, value in part.items() if key not in ("type", "text", "mediaType", "state")}
    if kind == "text":
        return text_part(part.get("text"), **rest)
    if kind == "reasoning":
        return reasoning_part(part.get("text"), **rest)
    if kind in ("file", "image", "media"):
        media = media_part(part.get("mediaType"), **rest)
        return media if part.get("mediaType") or kind == "file" else {**media, "type": "image"}
    return {**part, "type": kind}


def _denied(reason: Any) -> str:
    return f"denied: {as_text(reason)}" if reason else "denied"


def _model_parts(message: Any) -> list[dict[str, Any]]:
    return [mapping(part) for part in items(mapping(message).get("content"))]


def _is_message(value: Any) -> bool:
    message = mapping(value)
    role, parts = string(message.get("role")), message.get("parts")
    if is_list(parts):
        return role in _ROLES - {"tool"} and all(map(_is_ui_part, map(mapping, parts)))
    content = message.get("content")
    known = all(string(part.get("type")) in _MODEL_PARTS for part in _model_parts(message))
    return (
        "parts" not in message and role in _ROLES and known and (is_list(content) or isinstance(content, str))
    )


def _is_ui_part(part: dict[str, Any]) -> bool:
    kind = string(part.get("type"))
    if kind == "text":
        return "text" in part
    return kind in _UI_PARTS or kind.startswith(("data-", "tool-"))
