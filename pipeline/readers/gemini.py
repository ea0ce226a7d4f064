"""Google Gemini: `{"systemInstruction", "contents"}`, a list of contents, or a request and its response."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.plain import as_text, is_list, is_mapping, items, mapping
from adjudge.pipeline.readers import native, openai
from adjudge.pipeline.readers.build import NotAConversationError, one_a_file, one_a_record
from adjudge.pipeline.readers.exchange import Exchange, exchange_of
from adjudge.pipeline.readers.gemini_contents import Calls, add_content, camel, is_content
from adjudge.pipeline.readers.source import Record, Source, Unreadable, first_of
from adjudge.pipeline.readers.turns import Turns

name = "gemini"


def recognises(value: Any) -> bool:
    """Whether the first record has Gemini's contents, or the file is one list of them."""
    if native.recognises(value) or openai.recognises(value):
        return False
    first = first_of(value)
    found = exchange_of(first)
    record = found.request if found is not None else mapping(first)
    contents = items(record.get("contents", value if is_content(first) else first))
    return all(map(is_content, contents)) and any(mapping(content).get("parts") for content in contents)


def read(source: Source) -> Iterator[Conversation | Unreadable]:
    """A conversation from each record; from the whole file where its records are contents."""
    first = next((record.value for record in source.records() if isinstance(record, Record)), None)
    return (one_a_file if is_content(first) else one_a_record)(source, _fields)


def _fields(value: Any) -> dict[str, Any]:
    found = exchange_of(value)
    if found is not None:
        return _of_exchange(found)
    turns = Turns()
    record = {"contents": value} if is_list(value) else dict(mapping(value))
    _add_request(record, turns)
    for key in ("contents", "systemInstruction", "system_instruction"):
        record.pop(key, None)
    beside = openai.beside(record, turns.notes)
    return {**turns.fields(), **beside, "metadata": turns.notes.into(record)}


def _of_exchange(found: Exchange) -> dict[str, Any]:
    turns = Turns()
    response = camel(found.response)
    calls = _add_request(found.request, turns)
    turns.timestamp = response.get("createTime")
    candidates = items(response.get("candidates"))
    first = camel(mapping(candidates[0])) if candidates else {}
    if first:
        turns.close()
        add_content({"role": "model", **mapping(first.get("content"))}, turns, calls)
    if len(candidates) > 1:
        turns.note(f"{len(candidates) - 1} more candidates left out")
    if first.get("groundingMetadata"):
        turns.note("what the reply is grounded on is kept in the metadata alone")
    blocked = camel(mapping(response.get("promptFeedback"))).get("blockReason")
    ended = first.get("finishReason") or blocked
    kept = found.metadata("contents", "systemInstruction", "system_instruction", "candidates")
    return {
        **({"id": as_text(response["responseId"])} if response.get("responseId") else {}),
        **turns.fields(),
        **({"termination_reason": ended} if isinstance(ended, str) else {}),
        **found.outcome(),
        "metadata": turns.notes.into({**kept, **_candidates(candidates)}),
    }


def _add_request(request: dict[str, Any], turns: Turns) -> Calls:
    """The system instruction and the contents; the calls that wait for their results."""
    contents = request.get("contents")
    if not is_list(contents):
        raise NotAConversationError("'contents' is missing or no list")
    calls = Calls()
    instruction = camel(request).get("systemInstruction")
    if isinstance(instruction, str) and instruction:
        turns.say("system", instruction)
    elif is_mapping(instruction):
        add_content({**instruction, "role": "system"}, turns, calls)
    for content in contents:
        turns.close()
        add_content(content, turns, calls)
    return calls


def _candidates(candidates: list[Any]) -> dict[str, Any]:
    """What the candidates hold beside the reply: ratings, grounding, other replies."""
    first = (
        {key: value for key, value in mapping(candidates[0]).items() if key != "content"}
        if candidates
        else {}
    )
    kept = [candidate for candidate in (first, *candidates[1:]) if candidate]
    return {"candidates": kept} if kept else {}
