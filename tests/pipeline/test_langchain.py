"""LangChain messages become native conversations, in whichever of the three encodings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.evidence import render
from adjudge.pipeline.readers import read_conversations
from adjudge.pipeline.readers.source import Unreadable

DATA = Path(__file__).parents[1] / "data" / "readers" / "langchain"
GOLDEN = Path(__file__).parents[1] / "golden" / "evidence" / "langchain.txt"


def real(name: str) -> Conversation:
    (found,) = read_conversations(DATA / name)
    assert isinstance(found, Conversation), found
    return found


def read(tmp_path: Path, *records: Any) -> list[Conversation | Unreadable]:
    path = tmp_path / "file.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return list(read_conversations(path, "langchain"))


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


RUN = [f"airline_task12.{name}.json" for name in ("state", "messages_to_dict", "lc_serialized")]


def ai(content: Any = "", **more: Any) -> dict[str, Any]:
    return {"type": "ai", "content": content, **more}


def human(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "human", "content": words, **more}


def test_a_conversation_is_shown_as_it_was() -> None:
    assert render(real("airline_task12.lc_serialized.json")).text + "\n" == GOLDEN.read_text()


def test_the_three_encodings_of_one_run_are_read_alike() -> None:
    shown = {render(real(name)).text for name in RUN}

    assert len(shown) == 1


def test_calls_and_results_are_joined_and_the_tools_named() -> None:
    call = real("airline_task12.state.json").tool_calls[0]

    assert (call.name, call.arguments) == ("get_user_details", {"user_id": "amelia_sanchez_4739"})
    assert (call.result or "").startswith('{"name": {"first_name": "Amelia"')


def test_a_failed_tool_is_a_tool_error_and_ids_may_be_used_again() -> None:
    conversation = real("airline_task0_turns_12_to_26.state.json")

    assert conversation.tool_errors == 1
    assert [(call.name, call.result) for call in conversation.tool_calls if call.name == "calculate"] == [
        ("calculate", "255.0"),
        ("calculate", "55.0"),
    ]


def test_an_empty_tool_result_stays_empty() -> None:
    thought = [
        call for call in real("airline_task0_turns_12_to_26.state.json").tool_calls if call.name == "think"
    ]

    assert [(call.result, call.error) for call in thought] == [("", None)]


def test_why_the_model_stopped_is_why_the_conversation_ended() -> None:
    assert real("airline_task12.state.json").termination_reason == "stop"


def test_calls_in_openais_words_are_read_where_there_are_no_others(tmp_path: Path) -> None:
    called = {"id": "c", "function": {"name": "f", "arguments": '{"a": 1}'}}

    conversation = one(tmp_path, {"messages": [ai(additional_kwargs={"tool_calls": [called]})]})

    assert [(call.id, call.name, call.arguments) for call in conversation.tool_calls] == [
        ("c", "f", {"a": 1})
    ]


def test_calls_with_invalid_arguments_are_calls_with_the_text(tmp_path: Path) -> None:
    invalid = [{"id": "c", "name": "f", "args": "{", "error": "cut"}]

    conversation = one(tmp_path, {"messages": [ai(invalid_tool_calls=invalid)]})

    assert conversation.tool_calls[0].arguments == "{"
    assert notes(conversation) == ["turn 1: a call's arguments could not be read: cut"]


def test_blocks_that_repeat_a_call_are_read_once_and_thinking_is_not_shown(tmp_path: Path) -> None:
    blocks: list[Any] = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "let me look"},
        {"type": "tool_use", "id": "c", "name": "f", "input": {}},
    ]
    message = ai(blocks, tool_calls=[{"id": "c", "name": "f", "args": {}}])

    conversation = one(tmp_path, {"messages": [message]})

    assert [(call.id, call.name) for call in conversation.tool_calls] == [("c", "f")]
    assert spoken(conversation) == [("assistant", "let me look")]
    assert "hm" not in render(conversation).text


def test_a_message_the_agent_forgot_is_kept_and_noted(tmp_path: Path) -> None:
    forgotten = {"type": "remove", "id": "m1", "content": ""}

    conversation = one(tmp_path, {"messages": [human("hi", id="m1"), ai("hello"), forgotten]})

    assert spoken(conversation) == [("user", "hi"), ("assistant", "hello")]
    assert notes(conversation) == ["the agent forgot the message 'm1' later; it is kept"]


def test_of_two_forms_of_a_message_the_last_counts(tmp_path: Path) -> None:
    conversation = one(tmp_path, {"messages": [human("helo", id="m1"), ai("yes?"), human("hello", id="m1")]})

    assert spoken(conversation) == [("user", "hello"), ("assistant", "yes?")]
    assert notes(conversation) == ["an earlier form of the message 'm1' left out"]


def test_the_fullest_state_of_a_thread_is_its_conversation(tmp_path: Path) -> None:
    config = {"configurable": {"thread_id": "t1"}}
    states = [
        {"values": {"messages": [human("hi"), ai("hello")]}, "config": config},
        {"values": {"messages": [human("hi")]}, "config": config},
        {"messages": [human("other")]},
    ]

    found = read(tmp_path, *states)

    assert [(record.id, len(record.messages)) for record in found if isinstance(record, Conversation)] == [
        ("t1", 2),
        ("file-3", 1),
    ]


def test_a_message_a_line_is_one_conversation(tmp_path: Path) -> None:
    assert spoken(one(tmp_path, human("hi"), ai("hello"))) == [("user", "hi"), ("assistant", "hello")]


def test_roles_of_chat_messages_and_developers_are_kept(tmp_path: Path) -> None:
    told = {"type": "system", "content": "S", "additional_kwargs": {"__openai_role__": "developer"}}
    chat = {"type": "chat", "role": "assistant", "content": "A"}

    assert spoken(one(tmp_path, {"messages": [told, chat]})) == [("developer", "S"), ("assistant", "A")]


def test_what_is_no_message_is_named_with_its_reason(tmp_path: Path) -> None:
    assert reason(tmp_path, {"messages": [{"type": "ghost", "content": ""}]}) == (
        "turn 1: not a message of LangChain: the text 'ghost'"
    )
    assert reason(tmp_path, {"values": {}}) == "'messages' is missing or no list"
