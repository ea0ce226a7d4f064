"""Anthropic messages become native conversations, block by block."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.evidence import render
from adjudge.pipeline.readers import read_conversations
from adjudge.pipeline.readers.source import Unreadable

DATA = Path(__file__).parents[1] / "data" / "readers" / "anthropic"
GOLDEN = Path(__file__).parents[1] / "golden" / "evidence" / "anthropic.txt"


def real(name: str) -> Conversation:
    (found,) = read_conversations(DATA / name)
    assert isinstance(found, Conversation), found
    return found


def read(tmp_path: Path, *records: Any) -> list[Conversation | Unreadable]:
    path = tmp_path / "file.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return list(read_conversations(path, "anthropic"))


def one(tmp_path: Path, *blocks: dict[str, Any], role: str = "assistant") -> Conversation:
    (found,) = read(tmp_path, {"messages": [{"role": role, "content": list(blocks)}]})
    assert isinstance(found, Conversation), found
    return found


def notes(conversation: Conversation) -> list[str]:
    return conversation.metadata.get("adjudge", {}).get("notes", [])


def test_a_conversation_is_shown_as_it_was() -> None:
    shown = render(real("anthropic_text_editor_code_execution_tool.conversation.json")).text

    assert shown + "\n" == GOLDEN.read_text()


def test_the_system_prompt_beside_the_messages_is_the_first_turn() -> None:
    conversation = real("anthropic_model_empty_message_on_history.conversation.json")

    assert (conversation.messages[0].role, conversation.messages[0].text) == (
        "system",
        "You are a helpful assistant.\n\n",
    )


def test_results_in_a_users_message_are_turns_of_the_tools_and_not_the_user_speaking() -> None:
    conversation = real("multiple_parallel_tool_calls.exchange.json")

    assert [message.role for message in conversation.messages] == [
        *("system", "user", "assistant", "tool", "tool", "tool", "tool", "assistant")
    ]
    assert [(call.arguments, call.result) for call in conversation.tool_calls] == [
        ({"name": "Alice"}, "alice is bob's wife"),
        ({"name": "Bob"}, "bob is alice's husband"),
        ({"name": "Charlie"}, "charlie is alice's son"),
        ({"name": "Daisy"}, "daisy is bob's daughter and charlie's younger sister"),
    ]


def test_words_beside_results_are_a_turn_of_the_user(tmp_path: Path) -> None:
    result = {"type": "tool_result", "tool_use_id": "a", "content": "4"}

    conversation = one(tmp_path, result, {"type": "text", "text": "Go on."}, role="user")

    assert [(message.role, message.text) for message in conversation.messages] == [
        ("tool", "4"),
        ("user", "Go on."),
    ]


def test_an_exchange_ends_with_the_response_and_is_named_after_it() -> None:
    conversation = real("multiple_parallel_tool_calls.exchange.json")

    assert conversation.id == "msg_01JVqZPgDwmnyb2kKC3MwCVf"
    assert conversation.termination_reason == "end_turn"
    assert conversation.messages[-1].text.startswith("Based on the retrieved information")
    assert conversation.metadata["response"]["usage"]["output_tokens"] == 77


def test_a_request_that_was_refused_is_a_failed_conversation() -> None:
    conversation = real("anthropic_explicit_effort_xhigh_unsupported_model_errors.exchange.json")

    assert conversation.status == "failed"
    assert conversation.error is not None
    assert conversation.error.startswith("HTTP 400: invalid_request_error: This model does not support")


def test_calls_of_server_tools_and_their_results_come_in_order_out_of_one_message() -> None:
    conversation = real("anthropic_text_editor_code_execution_tool.conversation.json")

    assert [message.role for message in conversation.messages[2:]] == [
        *("assistant", "tool", "tool", "assistant", "tool", "assistant", "tool", "assistant")
    ]


def test_a_failed_server_tool_is_an_error_of_its_result() -> None:
    conversation = real("anthropic_text_editor_code_execution_tool.conversation.json")

    assert conversation.tool_errors == 2
    error = conversation.tool_calls[0].error
    assert error is not None
    assert error.startswith("unavailable: Tool response parsing error for create")


def test_a_result_marked_as_an_error_is_one(tmp_path: Path) -> None:
    failed = {
        "type": "tool_result",
        "tool_use_id": "a",
        "is_error": True,
        "content": [{"type": "text", "text": "no"}],
    }

    (message,) = one(tmp_path, failed, role="user").messages

    assert (message.tool_call_id, message.content, message.error) == ("a", None, "no")


def test_thinking_is_kept_and_not_shown() -> None:
    conversation = real("anthropic_tool_with_thinking.conversation.json")

    content = conversation.messages[1].content
    assert isinstance(content, list)
    assert (content[0].type, (content[0].text or "")[:22]) == ("reasoning", "The user is asking abo")
    assert "The user is asking" not in render(conversation).text


def test_redacted_thinking_stays_what_it_is() -> None:
    conversation = real("anthropic_model_thinking_part_redacted.conversation.json")

    content = conversation.messages[1].content
    assert isinstance(content, list)
    assert [part.type for part in content] == ["redacted_thinking", "text"]
    assert "hidden reasoning (turns 2, 4)" in render(conversation).text


def test_an_image_is_named() -> None:
    shown = render(real("image_url_input.conversation.json")).turns[0][0]

    assert '{"type":"image","url":"https://t3.ftcdn.net/' in shown


def test_the_text_of_a_document_is_shown() -> None:
    shown = render(real("text_document_url_input.conversation.json")).turns[0][0]

    assert '{"type":"document","text":"TXT test file' in shown


def test_words_after_a_call_are_a_turn_of_their_own(tmp_path: Path) -> None:
    call: dict[str, Any] = {"type": "tool_use", "id": "a", "name": "look", "input": {}}

    conversation = one(tmp_path, {"type": "text", "text": "first"}, call, {"type": "text", "text": "then"})

    assert [(message.text, len(message.tool_calls)) for message in conversation.messages] == [
        ("first", 1),
        ("then", 0),
    ]


def test_an_empty_turn_of_the_agent_keeps_its_number(tmp_path: Path) -> None:
    (message,) = one(tmp_path).messages

    assert (message.role, message.content) == ("assistant", None)


def test_compaction_says_that_earlier_turns_are_missing(tmp_path: Path) -> None:
    conversation = one(tmp_path, {"type": "compaction", "content": "They talked about refunds."})

    assert conversation.agent_pov_incomplete is True
    assert notes(conversation) == ["turn 1: earlier turns were compacted and are not in the file"]
    assert "They talked about refunds." in render(conversation).text


def test_keys_that_are_not_represented_are_noted(tmp_path: Path) -> None:
    messages = [
        {"role": "assistant", "content": "hi", "stop_reason": "max_tokens", "usage": {"input_tokens": 1}}
    ]

    (conversation,) = read(tmp_path, {"messages": [*messages, {"role": "user", "content": "go on"}]})

    assert isinstance(conversation, Conversation)
    assert notes(conversation) == ["turn 1: 'stop_reason' left out", "turn 1: 'usage' left out"]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"messages": 3}, "'messages' is missing or no list"),
        ({"messages": ["hi"]}, "turn 1: not a message of the user, the assistant or the system"),
        (
            {"messages": [{"role": "user", "content": 3}]},
            "turn 1: content must be text or a list, not the number 3",
        ),
        (
            {"messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": "a"}]}]},
            "turn 1: a tool call has no name",
        ),
    ],
)
def test_what_is_no_conversation_is_named_with_its_reason(tmp_path: Path, record: Any, reason: str) -> None:
    (found,) = read(tmp_path, record)

    assert isinstance(found, Unreadable)
    assert found.reason == reason


def test_a_plain_conversation_is_read_where_the_format_is_said(tmp_path: Path) -> None:
    (found,) = read(tmp_path, {"id": "a", "test": "t", "messages": [{"role": "user", "content": "hi"}]})

    assert isinstance(found, Conversation)
    assert (found.id, found.test, found.messages[0].text) == ("a", "t", "hi")


def test_instructions_in_the_middle_stand_where_they_were_given(tmp_path: Path) -> None:
    (run,) = read(
        tmp_path,
        {
            "system": "Be kind.",
            "messages": [
                {"role": "user", "content": "Hi"},
                {
                    "role": "system",
                    "content": [{"type": "text", "text": "Speak French."}, {"type": "tool_addition"}],
                },
                {"role": "assistant", "content": [{"type": "text", "text": "Oui?"}]},
            ],
        },
    )

    assert isinstance(run, Conversation)
    assert [(message.role, message.text) for message in run.messages] == [
        ("system", "Be kind."),
        ("user", "Hi"),
        ("system", "Speak French."),
        ("assistant", "Oui?"),
    ]
    assert '"tool_addition"' in render(run).text
