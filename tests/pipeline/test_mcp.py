"""Logs of the Model Context Protocol become the calls of one agent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.evidence import render
from adjudge.pipeline.readers import read_conversations
from adjudge.pipeline.readers.source import Unreadable

DATA = Path(__file__).parents[1] / "data" / "readers" / "mcp"
GOLDEN = Path(__file__).parents[1] / "golden" / "evidence" / "mcp.txt"


def real(name: str) -> Conversation:
    (found,) = read_conversations(DATA / name)
    assert isinstance(found, Conversation), found
    return found


def read(tmp_path: Path, *records: Any) -> list[Conversation | Unreadable]:
    path = tmp_path / "file.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return list(read_conversations(path, "mcp"))


def one(tmp_path: Path, *records: Any) -> Conversation:
    (found,) = read(tmp_path, *records)
    assert isinstance(found, Conversation), found
    return found


def reason(tmp_path: Path, *records: Any) -> str:
    (found,) = read(tmp_path, *records)
    assert isinstance(found, Unreadable)
    return found.reason


def notes(conversation: Conversation) -> list[str]:
    return conversation.metadata.get("adjudge", {}).get("notes", [])


def asked(identity: Any, method: str = "tools/call", **params: Any) -> dict[str, Any]:
    params = params or {"name": "look", "arguments": {"at": identity}}
    return {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}


def answered(identity: Any, **result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "result": result}


def texts(*words: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text} for text in words]


def test_a_conversation_is_shown_as_it_was() -> None:
    assert render(real("stdio_session_orders.jsonl")).text + "\n" == GOLDEN.read_text()


def test_a_tool_that_failed_is_a_tool_error() -> None:
    conversation = real("stdio_session_orders.jsonl")

    assert [call.error for call in conversation.tool_calls] == [
        *(None, "Error executing tool get_order", "Unknown tool: nope", None)
    ]


def test_an_error_of_the_protocol_is_told_from_a_tools(tmp_path: Path) -> None:
    error = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "Unknown tool"}}

    assert one(tmp_path, asked(1), error).tool_calls[0].error == "protocol error -32602: Unknown tool"


def test_reading_a_resource_is_a_call() -> None:
    call = real("stdio_session_orders.jsonl").tool_calls[3]

    assert (call.name, call.arguments, call.result) == (
        "resources/read",
        {"uri": "orders://all"},
        '["1","2"]',
    )


def test_turns_have_the_times_of_the_log() -> None:
    assert real("stdio_session_orders.jsonl").messages[0].timestamp == 1796055348.3926253


def test_the_client_the_server_and_its_tools_are_kept() -> None:
    metadata = real("stdio_session_orders.jsonl").metadata

    assert metadata["client"]["clientInfo"] == {"name": "mcp", "version": "0.1.0"}
    assert metadata["server"]["serverInfo"] == {"name": "orders", "version": ""}
    assert [tool["name"] for tool in metadata["tools"]] == ["get_order", "slow"]


def test_answers_are_joined_by_id_in_any_order(tmp_path: Path) -> None:
    log = [asked(1), asked("b"), answered("b", content=texts("text")), answered(1, content=texts("number"))]

    assert [(call.id, call.result) for call in one(tmp_path, *log).tool_calls] == [
        ("1", "number"),
        ("b", "text"),
    ]


def test_an_answer_to_another_kind_of_id_is_no_answer(tmp_path: Path) -> None:
    conversation = one(tmp_path, asked(1), answered("1", content=texts("text")))

    assert [call.result for call in conversation.tool_calls] == [None]
    assert notes(conversation) == ["responses to no request of the file left out"]


def test_ids_are_of_one_direction(tmp_path: Path) -> None:
    sampling = asked(1, "sampling/createMessage", messages=[], maxTokens=9)
    log = [
        {"direction": "out", "message": asked(1)},
        {"direction": "in", "message": sampling},
        {"direction": "out", "message": answered(1, role="assistant", model="m")},
        {"direction": "in", "message": answered(1, content=texts("seen"))},
    ]

    conversation = one(tmp_path, *log)

    assert [call.result for call in conversation.tool_calls] == ["seen"]
    assert conversation.metadata["server_requests"][0]["result"] == {"role": "assistant", "model": "m"}
    assert notes(conversation) == ["turn 1: the server asked 'sampling/createMessage'; kept in the metadata"]


def test_a_call_without_an_answer_has_no_result() -> None:
    (call,) = real("spec_CallToolRequest.json").tool_calls

    assert (call.id, call.name, call.result) == ("call-tool-example", "get_weather", None)


def test_a_cancelled_call_is_a_tool_error(tmp_path: Path) -> None:
    params = {"requestId": 1, "reason": "took too long"}
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}

    assert one(tmp_path, asked(1), cancelled).tool_calls[0].error == "cancelled: took too long"


def test_other_messages_are_noted() -> None:
    conversation = real("spec_LoggingMessageNotification.json")

    assert (conversation.messages, notes(conversation)) == ([], ["messages 'notifications/message' left out"])


def test_structured_content_is_shown_unless_the_text_repeats_it(tmp_path: Path) -> None:
    same = answered(1, content=texts('{"n": 1}'), structuredContent={"n": 1})
    other = answered(2, content=texts("one"), structuredContent={"n": 1})

    conversation = one(tmp_path, asked(1), same, asked(2), other)

    assert [call.result for call in conversation.tool_calls] == ['{"n": 1}', 'one\n{"n":1}']


def test_images_and_resources_are_named_and_their_text_shown(tmp_path: Path) -> None:
    image = {"type": "image", "mimeType": "image/png", "data": "iVBO"}
    page = {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "text/plain", "text": "page"}}

    shown = render(one(tmp_path, asked(1), answered(1, content=[image, page]))).turns[1][0]

    assert '"parts":[{"type":"image","media_type":"image/png"},"page"]' in shown


def test_every_session_of_a_log_is_a_conversation(tmp_path: Path) -> None:
    opened = asked(0, "initialize", protocolVersion="2025-11-25")

    found = read(tmp_path, opened, asked(1), opened, asked(1), asked(2))

    assert [(record.id, len(record.tool_calls)) for record in found if isinstance(record, Conversation)] == [
        ("file-1", 1),
        ("file-2", 2),
    ]


def test_a_batch_is_its_messages(tmp_path: Path) -> None:
    assert len(one(tmp_path, [asked(1), asked(2)]).tool_calls) == 2


def test_what_is_no_message_is_named_with_its_reason(tmp_path: Path) -> None:
    assert reason(tmp_path, {"other": 1}) == "no JSON-RPC message"
