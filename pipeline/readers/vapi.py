"""Vapi calls: end-of-call reports as they come over the webhook, and calls as the API gives them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.plain import is_list, items, mapping, string
from adjudge.pipeline.readers.build import NotAConversationError, Notes
from adjudge.pipeline.readers.calls import Heading, call_fields, dialogue, kept, left, one_a_call, said
from adjudge.pipeline.readers.source import Source, Unreadable, first_of

name = "vapi"

_ROLES = {
    "bot": "assistant",
    "tool_calls": "assistant",
    "tool-calls": "assistant",
    "tool_call_result": "tool",
    "tool-call-result": "tool",
}
_BROKE = re.compile(r"error|failed")
_SAID = (
    "message",
    "content",
    "result",
    "time",
    "endTime",
    "secondsFromStart",
    "duration",
    "source",
    "metadata",
)
_DONE = (
    "toolCalls",
    "toolCallId",
    "name",
    "speakerLabel",
    "isFiltered",
    "detectedThreats",
    "originalMessage",
)


def recognises(value: Any) -> bool:
    """Whether the first record is a webhook's message about a call, or a call with its artifact."""
    first = mapping(first_of(value))
    report = _report(first)
    if report is not first:
        return True
    messages = _messages(first)
    of_a_call = {"endedReason", "assistantId", "orgId"} & first.keys()
    timed = any("secondsFromStart" in mapping(message) for message in items(messages))
    return bool(of_a_call) and (timed or is_list(mapping(first.get("artifact")).get("messages")))


def read(source: Source) -> Iterator[Conversation | Unreadable]:
    """A conversation from each call. Times are seconds into the call; recordings and numbers are left out."""
    return read_together([source])


def read_together(sources: Sequence[Source]) -> Iterator[Conversation | Unreadable]:
    """The same of several files, such as one for each webhook: they may tell of one call."""
    return one_a_call(sources, _heading, _fields)


def _report(value: Any) -> dict[str, Any]:
    """The report about a call: what a webhook's `message` holds, or the record itself."""
    record = mapping(value)
    message = mapping(record.get("message"))
    is_webhook = string(message.get("type")) and ({"call", "artifact"} & message.keys())
    return message if is_webhook else record


def _messages(report: dict[str, Any]) -> Any:
    found = mapping(report.get("artifact")).get("messages")
    return report.get("messages") if found is None else found


def _heading(value: Any) -> Heading:
    report = _report(value)
    identity = mapping(report.get("call")).get("id") or report.get("id")
    holds = 2 * ("endedReason" in report) + bool(_messages(report))
    return Heading(identity if isinstance(identity, str) else None, holds)


def _fields(value: Any) -> dict[str, Any]:
    report = _report(value)
    call, artifact, notes = mapping(report.get("call")), mapping(report.get("artifact")), Notes()
    messages = _messages(report)
    reason = report.get("endedReason", call.get("endedReason"))
    if is_list(messages):
        turns = [_turn(mapping(message)) for message in messages]
    elif is_list(artifact.get("messagesOpenAIFormatted")):
        turns = artifact["messagesOpenAIFormatted"]
    elif transcript := string(artifact.get("transcript", report.get("transcript"))):
        notes.add("read from the transcript's text: tool calls and times are not in it")
        turns = dialogue(transcript)
    elif reason is None:
        raise NotAConversationError(
            f"a {string(report.get('type')) or 'record'} without messages; the end-of-call report has them"
        )
    else:
        turns = []
    metadata = {
        **kept(report, "startedAt", "endedAt", "cost", "analysis"),
        **kept(artifact, "variableValues"),
        **kept(call, "type", "assistantId"),
    }
    fault = string(reason) if _BROKE.search(string(reason)) else None
    return call_fields(turns, notes, ended=reason, fault=fault, metadata=metadata)


def _turn(message: dict[str, Any]) -> dict[str, Any]:
    """One of the call's messages as an OpenAI one."""
    role = message.get("role")
    turn = left(message, *_SAID, *_DONE) | {
        "role": _ROLES.get(string(role), role),
        "timestamp": message.get("secondsFromStart", message.get("time")),
        "content": said(message.get("message", message.get("content")), _filtered(message)),
    }
    if turn["role"] == "tool":
        turn["content"] = message.get("result", turn["content"])
        turn["tool_call_id"] = message.get("toolCallId")
    if message.get("toolCalls"):
        turn["tool_calls"] = message["toolCalls"]
    return turn | kept({"name": message.get("name", message.get("speakerLabel"))}, "name")


def _filtered(message: dict[str, Any]) -> dict[str, Any] | None:
    """The mark of words that were filtered before the agent heard them; the words themselves stay in it."""
    if not message.get("isFiltered"):
        return None
    threats = ", ".join(map(str, items(message.get("detectedThreats"))))
    return {"type": "filtered", **({"title": threats} if threats else {}), **kept(message, "originalMessage")}
