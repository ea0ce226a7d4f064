"""Retell calls: call objects as the API gives them, and the webhooks that carry one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.plain import items, mapping, string
from adjudge.pipeline.readers.build import NotAConversationError, Notes
from adjudge.pipeline.readers.calls import Heading, call_fields, dialogue, kept, left, one_a_call, said
from adjudge.pipeline.readers.source import Source, Unreadable, first_of

name = "retell"

_ROLES = {
    "agent": "assistant",
    "user": "user",
    "tool_call_invocation": "assistant",
    "tool_call_result": "tool",
    "injected": "developer",
    "sms": "user",
    "dtmf": "user",
    "transfer_target": "user",
}
_TRANSCRIPTS = ("transcript_with_tool_calls", "scrubbed_transcript_with_tool_calls", "transcript_object")
_READ = ("content", "words", "metadata", "time_sec", "tool_call_id", "name", "arguments", "successful")
_EVENTS = ("digit", "multimedia", "thought_signature", "type")


def recognises(value: Any) -> bool:
    """Whether the first record is a call, or a webhook about one, with Retell's keys."""
    call = _call(first_of(value))
    telling = {"call_status", "transcript_object", "transcript_with_tool_calls", "disconnection_reason"}
    return "call_id" in call and "agent_id" in call and bool(telling & call.keys())


def read(source: Source) -> Iterator[Conversation | Unreadable]:
    """A conversation from each call. Times are seconds into the call; recordings and numbers are left out."""
    return read_together([source])


def read_together(sources: Sequence[Source]) -> Iterator[Conversation | Unreadable]:
    """The same of several files, such as one for each webhook: they may tell of one call."""
    return one_a_call(sources, _heading, _fields)


def _call(value: Any) -> dict[str, Any]:
    """The call itself, or the one that a webhook tells of."""
    record = mapping(value)
    return mapping(record.get("call")) if string(record.get("event")) else record


def _heading(value: Any) -> Heading:
    call = _call(value)
    identity = call.get("call_id")
    holds = 2 * any(call.get(key) for key in _TRANSCRIPTS) + bool(call.get("call_analysis"))
    return Heading(identity if isinstance(identity, str) else None, holds)


def _fields(value: Any) -> dict[str, Any]:
    call, notes = _call(value), Notes()
    if not call:
        raise NotAConversationError("must be a call with 'call_id' and a transcript")
    spoken = next((items(call[key]) for key in _TRANSCRIPTS if call.get(key)), None)
    if spoken is None:
        turns = dialogue(string(call.get("transcript")))
        if turns:
            notes.add("read from the transcript's text: tool calls and times are not in it")
    else:
        before, after = (
            items(call.get(f"{when}_session_transcript_with_tool_calls")) for when in ("pre", "post")
        )
        turns = _turns([*before, *spoken, *after], notes)
    metadata = kept(
        *(call, "call_type", "direction", "agent_id", "agent_version", "start_timestamp", "end_timestamp"),
        *("duration_ms", "call_analysis", "call_cost", "metadata", "retell_llm_dynamic_variables"),
    )
    return call_fields(
        turns, notes, ended=call.get("disconnection_reason"), fault=_fault(call), metadata=metadata
    )


def _fault(call: dict[str, Any]) -> str | None:
    """What broke: the call was not connected, is not over, or its end is an error."""
    status, reason = string(call.get("call_status")), string(call.get("disconnection_reason"))
    if status in {"error", "not_connected"} or reason.startswith("error_"):
        return reason or status
    return f"the call is not over: {status}" if status in {"registered", "ongoing"} else None


def _turns(spoken: list[Any], notes: Notes) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = []
    for item in map(mapping, spoken):
        if item.get("role") == "node_transition":
            before, after = item.get("former_node_name"), item.get("new_node_name")
            notes.add(f"the flow's step from {before!r} to {after!r} is left out", len(turns) or None)
        else:
            turns.append(_turn(item))
    return turns


def _turn(item: dict[str, Any]) -> dict[str, Any]:
    """One item of a transcript as an OpenAI message."""
    role, metadata = string(item.get("role")), mapping(item.get("metadata"))
    turn = left(item, *_READ, *_EVENTS) | {
        "role": _ROLES.get(role, role),
        "timestamp": mapping(next(iter(items(item.get("words"))), None)).get("start", item.get("time_sec")),
        "content": said(item.get("content"), *_marks(role, item, metadata)),
    }
    if role == "tool_call_invocation":
        called = {"name": item.get("name"), "arguments": item.get("arguments")}
        turn["tool_calls"] = [{"id": item.get("tool_call_id"), "function": called}]
    if role == "tool_call_result":
        turn["tool_call_id"] = item.get("tool_call_id")
        if item.get("successful") is False:
            turn["error"] = string(item.get("content")) or "the tool call was not successful"
    if role == "transfer_target":
        turn["name"] = role
    return turn


def _marks(role: str, item: dict[str, Any], metadata: dict[str, Any]) -> list[dict[str, Any]]:
    """What an utterance is besides words: a key that was pressed, a text message, a mere 'mhm'."""
    marks: list[dict[str, Any]] = []
    if role == "dtmf":
        marks.append({"type": "dtmf", "name": str(item.get("digit"))})
    if role == "sms":
        marks += [
            {"type": "sms"},
            *({**mapping(media), "type": "file"} for media in items(item.get("multimedia"))),
        ]
    if metadata.get("is_backchannel"):
        marks.append({"type": "backchannel"})
    return marks
