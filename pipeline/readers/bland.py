"""Bland calls, as the API and its webhook give them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.plain import is_list, mapping, string
from adjudge.pipeline.readers.build import NotAConversationError, Notes
from adjudge.pipeline.readers.calls import Heading, call_fields, kept, left, one_a_call
from adjudge.pipeline.readers.source import Source, Unreadable, first_of

name = "bland"

_READ = ("id", "created_at", "text", "user", "c_id", "status", "transcript_id")
_UNANSWERED = {"no-answer", "busy", "failed", "canceled", "cancelled"}
_UNFINISHED = {"queued", "allocated", "in-progress", "started", "ringing"}


def recognises(value: Any) -> bool:
    """Whether the first record has Bland's transcripts, each with who spoke under `user`."""
    call = mapping(first_of(value))
    transcripts = call.get("transcripts")
    if not is_list(transcripts) or not {"call_id", "c_id", "call_length"} & call.keys():
        return False
    return all({"user", "text"} <= mapping(said).keys() for said in transcripts)


def read(source: Source) -> Iterator[Conversation | Unreadable]:
    """A conversation from each call, in the order of time; recordings and numbers are left out."""
    return read_together([source])


def read_together(sources: Sequence[Source]) -> Iterator[Conversation | Unreadable]:
    """The same of several files, such as one for each webhook: they may tell of one call."""
    return one_a_call(sources, _heading, _fields)


def _heading(value: Any) -> Heading:
    call = mapping(value)
    identity = call.get("call_id") or call.get("c_id")
    return Heading(identity if isinstance(identity, str) else None, int(bool(call.get("transcripts"))))


def _fields(value: Any) -> dict[str, Any]:
    call, notes = mapping(value), Notes()
    transcripts = call.get("transcripts")
    if not is_list(transcripts):
        raise NotAConversationError("'transcripts' is missing or no list")
    spoken = sorted(map(mapping, transcripts), key=lambda said: string(said.get("created_at")))
    details = {
        **kept(call, "call_length", "created_at", "started_at", "end_at", "inbound", "answered_by", "price"),
        **kept(call, "summary", "analysis", "variables", "metadata", "disposition_tag", "call_ended_by"),
    }
    turns = [_turn(said) for said in spoken]
    return call_fields(turns, notes, ended=_ended(call), fault=_fault(call), metadata=details)


def _ended(call: dict[str, Any]) -> str:
    status = string(call.get("status"))
    return string(call.get("call_ended_by")) or ("" if status == "completed" else status)


def _fault(call: dict[str, Any]) -> str | None:
    """What broke: an error is told, nobody answered, or the call is not over."""
    status = string(call.get("status"))
    if call.get("error_message"):
        return str(call["error_message"])
    if status in _UNANSWERED or call.get("answered_by") == "no-answer":
        return status if status in _UNANSWERED else "no-answer"
    unfinished = status in _UNFINISHED or call.get("completed") is False
    return f"the call is not over: {status or 'not completed'}" if unfinished else None


def _turn(said: dict[str, Any]) -> dict[str, Any]:
    """One transcript as an OpenAI message. What the agent did is a part that is named, not its words."""
    speaker, text = string(said.get("user")), said.get("text")
    turn = left(said, *_READ) | {"timestamp": said.get("created_at"), "content": text}
    if speaker == "agent-action":
        return turn | {"role": "assistant", "content": [{"type": "action", "name": string(text)}]}
    if speaker == "robot":
        return turn | {"role": "assistant", "name": speaker}
    return turn | {"role": speaker}
