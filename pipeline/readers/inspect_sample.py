"""One sample of an Inspect AI log as a native conversation."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import Any

from adjudge.pipeline.plain import as_text, is_list, is_mapping, items, mapping, string
from adjudge.pipeline.readers.build import NotAConversationError, Notes
from adjudge.pipeline.readers.openai import native_messages
from adjudge.pipeline.readers.runs import failed, named, repeat_of, without
from adjudge.pipeline.readers.source import Source

_REFERENCE = re.compile(r"(?:attachment|tc)://(.+)", re.DOTALL)
_CANCELED = re.compile(r"(?:CancelledError|Cancelled)\(")
_SCORING = ("scorer", "scorers")
_MEDIA = ("image", "audio", "video", "document")
_BULK = ("events", "transcript", "attachments", "message_pool", "call_pool", "events_data", "timelines")
_OF_SAMPLE = ("id", "epoch", "messages", "input", "uuid", "output", *_BULK)
_OF_MESSAGE = ("id", "content", "source", "tool_calls", "tool_call_id", "function", "error")


def sample_fields(source: Source, log: dict[str, Any], value: Any) -> dict[str, Any]:
    """Native fields of a sample. Its scores are a scorer's: they stay in the metadata.

    Args:
        source: the log's file.
        log: the log but for its samples: `version`, `status`, `eval`.
        value: the sample.

    Raises:
        NotAConversationError: it is none.
    """
    if not is_mapping(value):
        raise NotAConversationError("a sample is no object")
    notes = Notes()
    spoken = items(value.get("messages"))
    recovered = [] if spoken else _last_call(value)
    turns: list[dict[str, Any]] = []
    times = _times(value)
    for message in _resolved(spoken or recovered, _attachments(value)):
        _add(mapping(message), times, turns, notes)
    if recovered:
        notes.add("the sample has no messages: these are what its last model call was given and said")
    if _events(value):
        notes.add(f"{len(_events(value))} events of the sample left out")
    identity = named(value.get("uuid"))
    return {
        **repeat_of(source, value.get("id"), value.get("epoch")),
        **({} if identity is None else {"id": identity}),
        "messages": native_messages(turns, notes),
        **_outcome(value),
        **({"agent_pov_incomplete": True} if recovered else {}),
        "metadata": notes.into(_metadata(log, value)),
    }


def _metadata(log: dict[str, Any], sample: dict[str, Any]) -> dict[str, Any]:
    output = without(mapping(sample.get("output")), "choices", "completion")
    about = {key: log.get(key) for key in ("version", "status", "eval")}
    return {**without(sample, *_OF_SAMPLE), "output": output, "log": about}


def _outcome(sample: dict[str, Any]) -> dict[str, Any]:
    """How the sample ended: by an error, by a limit, or as its last model call says."""
    output = mapping(sample.get("output"))
    limit = string(mapping(sample.get("limit")).get("type"))
    stop = string(mapping(next(iter(items(output.get("choices"))), None)).get("stop_reason"))
    status = failed(mapping(sample.get("error")).get("message"))
    if status and _CANCELED.match(status["error"]):
        status["status"] = "canceled"
    return {
        **status,
        "termination_reason": f"{limit}_limit" if limit else stop or None,
        "agent_output": string(output.get("completion")) or None,
    }


def _events(sample: dict[str, Any]) -> list[Any]:
    return items(sample.get("events")) or items(mapping(sample.get("transcript")).get("events"))


def _attachments(sample: dict[str, Any]) -> dict[str, Any]:
    return mapping(sample.get("attachments")) or mapping(mapping(sample.get("transcript")).get("content"))


def _resolved(value: Any, attachments: dict[str, Any]) -> Any:
    """`value` with the text that its references to attachments stand for."""
    if isinstance(value, str):
        match = _REFERENCE.fullmatch(value)
        found = attachments.get(match[1]) if match else None
        return found if isinstance(found, str) else value
    if is_list(value):
        return [_resolved(inner, attachments) for inner in value]
    if is_mapping(value):
        return {key: _resolved(inner, attachments) for key, inner in value.items()}
    return value


def _times(sample: dict[str, Any]) -> dict[str, Any]:
    """When what was said and done was complete, by the id of the message or the call."""
    times: dict[str, Any] = {}
    for event in map(mapping, _events(sample)):
        kind = event.get("event")
        identity = event.get("id") if kind == "tool" else _said(event).get("id") if kind == "model" else None
        if isinstance(identity, str):
            times[identity] = event.get("completed") or event.get("timestamp")
    return times


def _said(event: dict[str, Any]) -> dict[str, Any]:
    """The message that a model call gave."""
    choice = mapping(next(iter(items(mapping(event.get("output")).get("choices"))), None))
    return mapping(choice.get("message"))


def _last_call(sample: dict[str, Any]) -> list[Any]:
    """The conversation as the last model call of a sample without messages has it."""
    pool = items(sample.get("message_pool")) or items(mapping(sample.get("events_data")).get("messages"))
    of_agent = takewhile(lambda event: event.get("type") not in _SCORING, map(mapping, _events(sample)))
    for event in reversed(list(of_agent)):
        if event.get("event") == "model":
            ranges = [items(pair) for pair in items(event.get("input_refs"))]
            spans = [pool[slice(*pair)] for pair in ranges if [type(end) for end in pair] == [int, int]]
            given = items(event.get("input")) or [message for span in spans for message in span]
            return [*given, *([_said(event)] if _said(event) else [])]
    return []


def _add(message: dict[str, Any], times: dict[str, Any], turns: list[dict[str, Any]], notes: Notes) -> None:
    """Add one message to `turns`: several, where the provider ran tools in the midst of it."""
    at = times.get(as_text(message.get("tool_call_id") or message.get("id")))
    head = {**without(message, *_OF_MESSAGE), **({} if at is None else {"timestamp": at})}
    content = message.get("content")
    if message.get("role") == "tool":
        turns.append({**head, "content": _parts(content), **_answer(message)})
        return
    if is_list(message.get("tool_call_id")):
        notes.add("holds what a tool gave back, shown as the user's", len(turns) + 1)
    rest: list[Any] = []
    for part in items(content):
        if mapping(part).get("type") != "tool_use":
            rest.append(part)
            continue
        turns.append({**head, "content": _parts(rest), "tool_calls": [without(part, "result", "error")]})
        turns.append(_provided(part))
        rest = []
    calls = [_call(mapping(call), len(turns) + 1, notes) for call in items(message.get("tool_calls"))]
    if rest or calls or not items(content):
        turns.append({**head, "content": _parts(rest if is_list(content) else content), "tool_calls": calls})


def _parts(content: Any) -> Any:
    return [_part(part) for part in content] if is_list(content) else content


def _part(part: Any) -> Any:
    """A part. Reasoning is its text, but where that is encrypted: then it is the summary, if there is one."""
    kind = string(mapping(part).get("type"))
    if kind in _MEDIA:
        return {**without(part, kind), "url": part.get(kind)}
    if kind != "reasoning":
        return part
    if part.get("redacted") is True:
        kept = without(part, "reasoning", "summary")
        return {**kept, "text": part.get("summary"), "data": part.get("reasoning")}
    return {**without(part, "reasoning"), "text": part.get("reasoning")}


def _call(call: dict[str, Any], turn: int, notes: Notes) -> dict[str, Any]:
    if call.get("parse_error"):
        notes.add("a call's arguments could not be parsed by the agent's program", turn)
    return {"id": call.get("id"), "name": call.get("function"), "arguments": call.get("arguments")}


def _provided(part: dict[str, Any]) -> dict[str, Any]:
    """What a tool that the provider ran gave back."""
    answered = {"tool_call_id": part.get("id"), "name": part.get("name"), "error": part.get("error") or None}
    return {"role": "tool", "content": part.get("result"), **answered}


def _answer(message: dict[str, Any]) -> dict[str, Any]:
    """Which call a tool's message answers, and its error."""
    error = mapping(message.get("error"))
    words = ": ".join(as_text(error[key]) for key in ("type", "message") if error.get(key))
    answered = {"tool_call_id": message.get("tool_call_id"), "name": message.get("function")}
    return {**answered, "error": words or None}
