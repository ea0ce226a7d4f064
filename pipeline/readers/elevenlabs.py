"""ElevenLabs agent conversations: as the API gives them, and the webhooks after a call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.plain import is_list, items, mapping, string
from adjudge.pipeline.readers.build import NotAConversationError, Notes
from adjudge.pipeline.readers.calls import (
    Heading,
    call_fields,
    interrupted,
    kept,
    left,
    one_a_call,
    said,
)
from adjudge.pipeline.readers.source import Source, Unreadable, first_of

name = "elevenlabs"

_ROLES = {"agent": "assistant"}
_READ = ("message", "tool_calls", "tool_results", "time_in_call_secs", "interrupted", "original_message")
_MARKS = ("ignored_as_backchannel", "reasoning", "source_medium", "file_input", "feedback")
_NOISE = (
    *("agent_metadata", "conversation_turn_metrics", "rag_retrieval_info", "llm_usage", "llm_override"),
    *("producing_llm", "source_event_id", "used_static_kb_document_ids", "id", "created_at_unix_ms"),
    *("user_identifier", "multivoice_message"),
)
_UNFINISHED = {"initiated", "in-progress", "processing"}


def recognises(value: Any) -> bool:
    """Whether the first record is a conversation, or a webhook about one, with ElevenLabs' keys."""
    found = _conversation(first_of(value))
    return {"conversation_id", "agent_id"} <= found.keys() and bool(
        {"transcript", "full_audio", "failure_reason"} & found.keys()
    )


def read(source: Source) -> Iterator[Conversation | Unreadable]:
    """A conversation from each call. Times are seconds into the call; audio is left out."""
    return read_together([source])


def read_together(sources: Sequence[Source]) -> Iterator[Conversation | Unreadable]:
    """The same of several files, such as one for each webhook: they may tell of one call."""
    return one_a_call(sources, _heading, _fields)


def _conversation(value: Any) -> dict[str, Any]:
    """The conversation itself, or the one that a webhook tells of."""
    record = mapping(value)
    return mapping(record.get("data")) if string(record.get("type")) else record


def _heading(value: Any) -> Heading:
    found = _conversation(value)
    identity = found.get("conversation_id")
    return Heading(identity if isinstance(identity, str) else None, int(is_list(found.get("transcript"))))


def _fields(value: Any) -> dict[str, Any]:
    found, notes = _conversation(value), Notes()
    transcript, metadata = found.get("transcript"), mapping(found.get("metadata"))
    failure = found.get("failure_reason")
    if not is_list(transcript) and failure is None:
        raise NotAConversationError("'transcript' is missing or no list")
    turns = [turn for item in items(transcript) for turn in _turns(mapping(item))]
    details = {
        **kept(found, "agent_id", "analysis", "conversation_initiation_client_data"),
        **kept(metadata, "start_time_unix_secs", "call_duration_secs", "cost", "main_language", "warnings"),
        **kept(metadata, "feedback"),
    }
    ended = metadata.get("termination_reason") or failure
    return call_fields(turns, notes, ended=ended, fault=_fault(found, metadata), metadata=details)


def _fault(found: dict[str, Any], metadata: dict[str, Any]) -> str | None:
    """What broke: the conversation failed, is not over, or never began."""
    status, error = found.get("status"), mapping(metadata.get("error"))
    if status == "failed" or found.get("failure_reason") is not None:
        return string(error.get("reason")) or string(found.get("failure_reason")) or "the call failed"
    return f"the call is not over: {status}" if string(status) in _UNFINISHED else None


def _turns(item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One turn of the transcript as OpenAI messages: what was said and called, and the results beside it.

    Results of calls that were made before come first, those of this turn's calls last.
    """
    calls = [mapping(call) for call in items(item.get("tool_calls"))]
    results = [mapping(result) for result in items(item.get("tool_results"))]
    own = [call.get("request_id") for call in calls]
    time = item.get("time_in_call_secs")
    yield from (_result(result, time) for result in results if result.get("request_id") not in own)
    role = item.get("role")
    content = said(item.get("message"), *_marks(item))
    if content or calls or not results:
        yield left(item, *_READ, *_MARKS, *_NOISE) | {
            "role": _ROLES.get(string(role), role),
            "content": content,
            "timestamp": time,
            "tool_calls": [_call(call) for call in calls],
        }
    yield from (_result(result, time) for result in results if result.get("request_id") in own)


def _call(call: dict[str, Any]) -> dict[str, Any]:
    called = {"name": call.get("tool_name"), "arguments": call.get("params_as_json")}
    return {"id": call.get("request_id"), "function": called}


def _result(result: dict[str, Any], time: Any) -> dict[str, Any]:
    content = result.get("result_value", result.get("result"))
    turn = {
        "role": "tool",
        "tool_call_id": result.get("request_id"),
        "name": result.get("tool_name"),
        "content": content,
        "timestamp": time,
    }
    if result.get("is_error") or result.get("is_blocked"):
        told: list[Any] = [result.get("raw_error_message"), result.get("error_type"), content]
        turn["error"] = next((text for text in map(string, told) if text), "the tool failed")
    return turn


def _marks(item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What a turn is besides words. "..." is how silence is written."""
    for thought in items(item.get("reasoning")):
        yield {"type": "reasoning", "text": string(mapping(thought).get("summary"))}
    if item.get("interrupted"):
        yield interrupted(item.get("original_message"))
    elif item.get("original_message"):
        yield {"type": "corrected", "original": item["original_message"]}
    if item.get("message") == "...":
        yield {"type": "silence"}
    if item.get("ignored_as_backchannel"):
        yield {"type": "backchannel"}
    if item.get("file_input"):
        yield {**mapping(item["file_input"]), "type": "file"}
    if item.get("feedback"):
        yield {"type": "feedback", "name": string(mapping(item["feedback"]).get("score"))}
