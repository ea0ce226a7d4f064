"""promptfoo's output: an evaluation with its results, or a result a record. A result is a conversation.

Its assertions' verdicts and scores are machine verdicts: they are kept in the metadata.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.plain import as_text, is_list, is_mapping, items, mapping
from adjudge.pipeline.readers.build import NotAConversationError, Notes, conversation, numbered
from adjudge.pipeline.readers.openai import native_messages
from adjudge.pipeline.readers.source import NotJsonError, Record, Source, Unreadable, first_of, parse

name = "promptfoo"

_ERROR = 2
"""The `failureReason` of a result whose provider failed; 1 is an assertion that did, with an `error` too."""

_READ = {"id", "prompt"}


def recognises(value: Any) -> bool:
    """Whether the first record is an evaluation with results, or a result."""
    record = mapping(first_of(value))
    return _results(record) is not None or _is_result(record)


def read(source: Source) -> Iterator[Conversation | Unreadable]:
    """A conversation from each result."""
    for record in source.records():
        if not isinstance(record, Record):
            yield record
            continue
        evaluation = mapping(record.value)
        results = _results(evaluation)
        if results is None:
            results, evaluation = [record.value], {}
        repeated = Counter([_place(result) for result in results])
        seen = Counter[Any]()
        for number, result in enumerate(results, 1):
            seen[_place(result)] += 1
            rollout = {"rollout": seen[_place(result)]} if repeated[_place(result)] > 1 else {}
            identity = numbered(source, record.number if len(results) == 1 else number)
            try:
                fields = {"id": identity, **_fields(result, evaluation), **rollout}
            except NotAConversationError as error:
                yield source.unreadable(record.line, f"result {number}: {error}")
            else:
                yield conversation(source, record.line, fields)


def _fields(result: Any, evaluation: dict[str, Any]) -> dict[str, Any]:
    if not _is_result(result):
        raise NotAConversationError("no prompt and response")
    notes = Notes()
    response = mapping(result.get("response"))
    asked = _asked(mapping(result["prompt"]).get("raw"))
    messages = native_messages([*asked, *_answered(response.get("output"), len(asked) + 1, notes)], notes)
    case = mapping(result.get("testCase"))
    test = case.get("description") or result.get("description")
    kept = {key: value for key, value in result.items() if key not in _READ}
    kept["testCase"] = {key: value for key, value in case.items() if key not in ("description", "vars")}
    kept["response"] = {key: value for key, value in response.items() if key not in ("output", "raw")}
    metadata = {"prompt": mapping(result["prompt"]).get("label"), **kept, **_about(evaluation)}
    return {
        **({"id": as_text(result["id"])} if result.get("id") else {}),
        "test": test if isinstance(test, str) else None,
        "messages": messages,
        **_outcome(result, response),
        "metadata": notes.into(
            {key: value for key, value in metadata.items() if value not in (None, {}, [])}
        ),
    }


def _outcome(result: dict[str, Any], response: dict[str, Any]) -> dict[str, Any]:
    """A failure of the provider; a failed assertion is none."""
    reason, error = result.get("failureReason"), response.get("error") or result.get("error")
    if reason == _ERROR or response.get("error") or (reason is None and error and "output" not in response):
        return {"status": "failed", "error": as_text(error or "the provider failed without a message")}
    return {}


def _asked(raw: Any) -> list[Any]:
    """The prompt's OpenAI messages: a chat where it is JSON of one, else the user's words."""
    chat = raw
    if isinstance(raw, str):
        try:
            chat = parse(raw.encode())
        except NotJsonError:
            chat = None
    if items(chat) and all(isinstance(mapping(message).get("role"), str) for message in items(chat)):
        return items(chat)
    return [{"role": "user", "content": as_text(raw)}]


def _answered(output: Any, turn: int, notes: Notes) -> list[dict[str, Any]]:
    """The reply as an OpenAI message: text, a message, tool calls, or any other JSON value as its text."""
    if output is None:
        return []
    message: dict[str, Any] = {"role": "assistant", "content": output}
    calls = items(output)
    if calls and all(is_mapping(mapping(call).get("function")) for call in calls):
        message = {"role": "assistant", "tool_calls": calls}
    elif is_list(mapping(output).get("tool_calls")):
        message = {**output, "role": "assistant"}
    elif not isinstance(output, str):
        notes.add("the output is no text, shown as JSON", turn)
        message["content"] = as_text(output)
    return [message]


def _about(evaluation: dict[str, Any]) -> dict[str, Any]:
    """What is worth keeping of the evaluation beside each of its results."""
    told = {
        "evalId": evaluation.get("evalId"),
        "timestamp": mapping(evaluation.get("results")).get("timestamp"),
    }
    return {key: value for key, value in told.items() if value is not None}


def _results(record: dict[str, Any]) -> list[Any] | None:
    results = mapping(record.get("results")).get("results")
    return results if is_list(results) and ("evalId" in record or all(map(_is_result, results))) else None


def _is_result(value: Any) -> bool:
    result = mapping(value)
    answered = {"response", "gradingResult", "failureReason", "error"} & result.keys()
    return "raw" in mapping(result.get("prompt")) and bool(answered)


def _place(result: Any) -> tuple[str, str, str]:
    """Which test, prompt and provider a result is of: where several are the same they are repeats."""
    told = mapping(result)
    provider = as_text(mapping(told.get("provider")).get("id"))
    return as_text(told.get("testIdx")), as_text(told.get("promptIdx")), provider
