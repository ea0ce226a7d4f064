"""AI SDK messages become native conversations, from the interface and from the model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.evidence import render
from adjudge.pipeline.readers import read_conversations
from adjudge.pipeline.readers.source import Unreadable

DATA = Path(__file__).parents[1] / "data" / "readers" / "ai_sdk"
GOLDEN = Path(__file__).parents[1] / "golden" / "evidence" / "ai_sdk.txt"


def real(name: str) -> Conversation:
    (found,) = read_conversations(DATA / name)
    assert isinstance(found, Conversation), found
    return found


def read(tmp_path: Path, *records: Any) -> list[Conversation | Unreadable]:
    path = tmp_path / "file.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return list(read_conversations(path, "ai_sdk"))


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


def spoken(conversation: Conversation) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in conversation.messages]


def message(*parts: dict[str, Any], role: str = "assistant", **more: Any) -> dict[str, Any]:
    return {"id": "m", "role": role, "parts": list(parts), **more}


def called(state: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool-look", "toolCallId": "c", "state": state, "input": {"a": 1}, **more}


def test_a_conversation_is_shown_as_it_was() -> None:
    shown = render(real("weather_parallel_tool_error.ui-messages.json")).text

    assert shown + "\n" == GOLDEN.read_text()


def test_interface_and_model_messages_of_one_run_say_the_same() -> None:
    ui, model = (real(f"weather_parallel_tool_error.{kind}-messages.json") for kind in ("ui", "model"))

    assert spoken(ui) == spoken(model)
    assert [(call.id, call.name, call.arguments, call.result, call.error) for call in ui.tool_calls] == [
        (call.id, call.name, call.arguments, call.result, call.error) for call in model.tool_calls
    ]


def test_the_calls_of_a_step_are_one_turn_and_their_results_follow() -> None:
    conversation = real("weather_parallel_tool_error.ui-messages.json")

    assert [message.role for message in conversation.messages] == [
        *("user", "assistant", "tool", "tool", "assistant", "user", "assistant")
    ]
    assert [call.id for call in conversation.messages[1].tool_calls] == ["call_a", "call_b"]


def test_a_tools_error_text_is_a_tool_error() -> None:
    conversation = real("weather_parallel_tool_error.ui-messages.json")

    assert conversation.tool_calls[1].error == "An error occurred: city not found: Atlantis"


def test_an_image_is_named_without_its_data() -> None:
    shown = render(real("weather_parallel_tool_error.ui-messages.json")).turns[0][0]

    assert (
        '{"type":"image","filename":"window.png","media_type":"image/png","url":"data:image/png;base64"}'
        in shown
    )


def test_an_empty_message_keeps_its_turn() -> None:
    assert spoken(real("weather_parallel_tool_error.ui-messages.json"))[5] == ("user", "")


def test_words_after_a_call_come_after_its_result(tmp_path: Path) -> None:
    part = called("output-available", output="4")

    conversation = one(tmp_path, {"messages": [message(part, {"type": "text", "text": "It is 4."})]})

    assert spoken(conversation) == [("assistant", ""), ("tool", "4"), ("assistant", "It is 4.")]


def test_a_call_that_waits_for_approval_has_no_result(tmp_path: Path) -> None:
    conversation = one(tmp_path, {"messages": [message(called("approval-requested", approval={"id": "x"}))]})

    assert [(call.name, call.result, call.error) for call in conversation.tool_calls] == [
        ("look", None, None)
    ]
    assert notes(conversation) == ["turn 1: a call that waits for approval"]


def test_a_denied_call_is_a_tool_error(tmp_path: Path) -> None:
    part = called("output-denied", approval={"id": "x", "approved": False, "reason": "too dear"})

    assert one(tmp_path, {"messages": [message(part)]}).tool_calls[0].error == "denied: too dear"


def test_input_that_could_not_be_read_is_kept_as_it_was_written(tmp_path: Path) -> None:
    part = {"type": "dynamic-tool", "toolName": "look", "toolCallId": "c", "state": "output-error"}

    conversation = one(tmp_path, {"messages": [message({**part, "rawInput": "{", "errorText": "bad"})]})

    assert [(call.name, call.arguments, call.error) for call in conversation.tool_calls] == [
        ("look", "{", "bad")
    ]


def test_words_that_were_still_being_written_are_said_to_be_cut(tmp_path: Path) -> None:
    conversation = one(
        tmp_path, {"messages": [message({"type": "text", "text": "It", "state": "streaming"})]}
    )

    assert notes(conversation) == ["turn 1: was still being written: it is cut off"]


def test_the_time_in_a_messages_metadata_is_the_turns() -> None:
    conversation = real("weather_parallel_tool_error.ui-messages.json")

    assert [message.timestamp for message in conversation.messages[:2]] == [None, 1764518400000]


def test_a_time_that_is_no_time_is_left_out_and_noted(tmp_path: Path) -> None:
    conversation = one(
        tmp_path, {"messages": [message({"type": "text", "text": "hi"}, createdAt={"$date": 1})]}
    )

    assert conversation.messages[0].timestamp is None
    assert notes(conversation) == ["turn 1: a time that is a mapping left out"]


def test_a_model_tools_content_keeps_its_parts(tmp_path: Path) -> None:
    output = {
        "type": "content",
        "value": [{"type": "text", "text": "a cat"}, {"type": "media", "mediaType": "image/png"}],
    }
    result = {"type": "tool-result", "toolCallId": "c", "toolName": "look", "output": output}

    (found,) = one(tmp_path, {"messages": [{"role": "tool", "content": [result]}]}).messages

    assert (found.role, found.text, found.tool_call_id) == ("tool", "a cat", "c")
    assert isinstance(found.content, list)
    assert [part.type for part in found.content] == ["text", "image"]


def test_what_is_no_message_is_named_with_its_reason(tmp_path: Path) -> None:
    assert reason(tmp_path, {"messages": [{"role": "ghost", "parts": []}]}) == (
        "turn 1: not a message of the system, the user, the assistant or a tool"
    )


INVOKED = {"state": "result", "toolCallId": "c", "toolName": "look", "args": {"a": 1}, "result": {"b": 2}}


def of_version_4(*messages: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"id": "1", "role": "user", "content": "Look.", "createdAt": "2025-01-01T00:00:00Z"}, *messages]


def test_calls_of_version_4_beside_the_text_are_calls_with_their_results(tmp_path: Path) -> None:
    answer = {"id": "2", "role": "assistant", "content": "It is 2.", "toolInvocations": [INVOKED]}
    run = one(tmp_path, of_version_4(answer))

    assert spoken(run) == [
        ("user", "Look."),
        ("assistant", ""),
        ("tool", '{"b":2}'),
        ("assistant", "It is 2."),
    ]
    assert [(call.name, call.arguments, call.result) for call in run.tool_calls] == [
        ("look", {"a": 1}, '{"b":2}')
    ]
    assert notes(run) == [
        "turn 1: whether words or calls came first is not recorded: the calls are shown first"
    ]


def test_calls_of_version_4_among_the_parts_stand_where_they_happened(tmp_path: Path) -> None:
    parts: list[dict[str, Any]] = [
        {"type": "step-start"},
        {"type": "reasoning", "reasoning": "secret", "details": []},
        {"type": "text", "text": "One moment."},
        {"type": "tool-invocation", "toolInvocation": INVOKED},
        {"type": "step-start"},
        {"type": "text", "text": "It is 2."},
        {"type": "source", "source": {"sourceType": "url", "id": "s", "url": "https://example.org"}},
    ]
    answer = {"id": "2", "role": "assistant", "content": "One moment.It is 2.", "parts": parts}
    run = one(tmp_path, of_version_4(answer))

    assert [role for role, _ in spoken(run)] == ["user", "assistant", "tool", "assistant"]
    assert "https://example.org" in render(run).text
    assert "secret" not in render(run).text


def test_an_unanswered_call_of_version_4_is_a_call_without_a_result(tmp_path: Path) -> None:
    waiting = {**INVOKED, "state": "partial-call"}
    del waiting["result"]
    run = one(tmp_path, of_version_4({"role": "assistant", "content": "", "toolInvocations": [waiting]}))

    assert run.tool_calls[0].result is None
    assert notes(run) == ["turn 2: a call whose input was still being written"]


def test_messages_of_version_4_are_recognised_and_their_attachments_are_media(tmp_path: Path) -> None:
    attachment = {"name": "a.png", "contentType": "image/png", "url": "data:image/png;base64,iVBORw0KGgo="}
    messages = of_version_4(
        {"role": "user", "content": "See:", "experimental_attachments": [attachment]},
        {"role": "assistant", "content": "", "toolInvocations": [INVOKED]},
    )
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(messages))
    (run,) = read_conversations(path)

    assert isinstance(run, Conversation)
    assert '{"type":"image","filename":"a.png","media_type":"image/png"' in render(run).text
