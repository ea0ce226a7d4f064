"""LiveKit session reports: the chat history of an agent's session in a room."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.plain import is_list, items, mapping, string
from adjudge.pipeline.readers.build import NotAConversationError, Notes, one_a_record
from adjudge.pipeline.readers.calls import call_fields, interrupted, kept, left, said
from adjudge.pipeline.readers.instants import instant
from adjudge.pipeline.readers.source import Source, Unreadable, first_of

name = "livekit"

_READ = (
    *("id", "type", "content", "interrupted", "created_at", "call_id", "name", "arguments", "output"),
    *("is_error", "group_id", "metrics", "extra", "transcript_confidence", "hash", "reply_required"),
)
_PARTS = {"image_content": "image", "audio_content": "audio"}


def recognises(value: Any) -> bool:
    """Whether the first record has a chat history with items."""
    return is_list(mapping(mapping(first_of(value)).get("chat_history")).get("items"))


def read(source: Source) -> Iterator[Conversation | Unreadable]:
    """A conversation from each report."""
    return one_a_record(source, _fields)


def _fields(value: Any) -> dict[str, Any]:
    report, notes = mapping(value), Notes()
    history = mapping(report.get("chat_history", report)).get("items")
    if not is_list(history):
        raise NotAConversationError("'chat_history' with its 'items' is missing")
    turns: list[dict[str, Any]] = []
    for item in map(mapping, history):
        turn = _turn(item)
        if turn is not None:
            turns.append(turn)
        else:
            notes.add(_passed_over(item), len(turns) or None)
    reason = string(report.get("close_reason"))
    fields = call_fields(
        turns,
        notes,
        ended=reason,
        fault=reason if reason.upper().endswith("ERROR") else None,
        metadata=kept(report, "room", "room_id", "agent_name", "tags", "duration_ms", "usage", "errors"),
    )
    identity = report.get("job_id") or report.get("room_id")
    return fields | ({"id": identity} if isinstance(identity, str) and identity else {})


def _turn(item: dict[str, Any]) -> dict[str, Any] | None:
    """One item of the history as an OpenAI message; None for what is no turn."""
    created = instant(item.get("created_at"))
    turn = left(item, *_READ) | {"timestamp": created}
    match item.get("type"):
        case "message":
            cut = interrupted() if item.get("interrupted") else None
            return turn | {"content": said(_content(item.get("content")), cut)}
        case "function_call":
            called = {"name": item.get("name"), "arguments": item.get("arguments")}
            call = {"id": item.get("call_id"), "function": called}
            return turn | {"role": "assistant", "tool_calls": [call]}
        case "function_call_output":
            output = item.get("output")
            error = {"error": string(output) or "the tool failed"} if item.get("is_error") else {}
            named = kept(item, "name")
            return (
                turn
                | named
                | error
                | {"role": "tool", "tool_call_id": item.get("call_id"), "content": output}
            )
        case "agent_config_update" if item.get("instructions"):
            return {"role": "system", "content": item["instructions"], "timestamp": created}
        case _:
            return None


def _content(content: Any) -> Any:
    """The words where an item has only words; else its parts, speech with its transcript."""
    if not is_list(content):
        return content
    if all(isinstance(part, str) for part in content):
        return "\n".join(content)
    return [_part(part) for part in content]


def _part(part: Any) -> Any:
    kind = string(mapping(part).get("type"))
    return {**part, "type": _PARTS[kind]} if kind in _PARTS else part


def _passed_over(item: dict[str, Any]) -> str:
    match item.get("type"):
        case "agent_handoff":
            return (
                f"the handoff from {item.get('old_agent_id')!r} to {item.get('new_agent_id')!r} is left out"
            )
        case "agent_config_update":
            tools = items(item.get("tools_added")), items(item.get("tools_removed"))
            return f"tools added: {tools[0]}, removed: {tools[1]}, not shown"
        case other:
            return f"an item of type {other!r} is left out"
