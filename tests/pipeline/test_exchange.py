"""A request beside its response is a conversation that ends with the reply, or failed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.readers import read_conversations
from adjudge.pipeline.readers.exchange import exchange_of
from adjudge.pipeline.readers.source import Unreadable

REQUEST: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
REPLY = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hello"}}


def read(tmp_path: Path, record: Any) -> Conversation | Unreadable:
    path = tmp_path / "file.json"
    path.write_text(json.dumps(record))
    (found,) = read_conversations(path)
    return found


def test_an_openai_exchange_ends_with_the_first_choice_at_its_time(tmp_path: Path) -> None:
    response = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1745960880,
        "choices": [REPLY, REPLY],
    }

    found = read(tmp_path, {"http_status": 200, "request": REQUEST, "response": response})

    assert isinstance(found, Conversation)
    assert (found.id, found.termination_reason) == ("chatcmpl-1", "stop")
    assert [(message.text, message.timestamp) for message in found.messages] == [
        ("hi", None),
        ("hello", "2025-04-29T21:08:00.000Z"),
    ]
    assert found.metadata["request"] == {"model": "m"}
    assert found.metadata["adjudge"]["notes"] == ["1 more choices left out"]


def test_a_refused_openai_request_is_a_failed_conversation(tmp_path: Path) -> None:
    error = {"code": "unsupported_value", "message": "no such role", "type": "invalid_request_error"}

    found = read(tmp_path, {"http_status": 400, "request": REQUEST, "response": {"error": error}})

    assert isinstance(found, Conversation)
    assert found.status == "failed"
    assert found.error == "HTTP 400: unsupported_value: invalid_request_error: no such role"


def test_a_request_without_a_response_failed_with_what_was_recorded() -> None:
    lost = exchange_of({"request": REQUEST, "response": None, "error": "timed out"})
    silent = exchange_of({"request": REQUEST, "response": None})

    assert lost is not None
    assert lost.outcome() == {"status": "failed", "error": "timed out"}
    assert silent is not None
    assert silent.error == "no response was recorded"


def test_what_has_no_request_and_response_is_no_exchange() -> None:
    assert exchange_of(REQUEST) is None
    assert exchange_of({"request": REQUEST}) is None
    assert exchange_of([REQUEST]) is None


def test_anothers_call_among_openai_messages_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "file.jsonl"
    call: dict[str, Any] = {"type": "tool_use", "id": "a", "name": "look", "input": {}}
    other: dict[str, Any] = {"messages": [{"role": "assistant", "content": [call]}]}
    path.write_text(json.dumps(REQUEST) + "\n" + json.dumps(other))

    first, second = read_conversations(path)

    assert isinstance(first, Conversation)
    assert str(second) == (
        f"{path}:2: turn 1: a part 'tool_use' is another format's call or result; say which with 'format'"
    )
