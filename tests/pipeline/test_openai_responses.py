"""Responses and their items become native conversations, joined where one continues another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.evidence import render
from adjudge.pipeline.readers import read_conversations
from adjudge.pipeline.readers.source import Unreadable

DATA = Path(__file__).parents[1] / "data" / "readers" / "openai_responses"
GOLDEN = Path(__file__).parents[1] / "golden" / "evidence" / "openai_responses.txt"


def real(name: str) -> Conversation:
    (found,) = read_conversations(DATA / name)
    assert isinstance(found, Conversation), found
    return found


def read(tmp_path: Path, *records: Any) -> list[Conversation | Unreadable]:
    path = tmp_path / "file.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return list(read_conversations(path, "openai_responses"))


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


def exchange(identity: str, asked: str, answered: str, **more: Any) -> dict[str, Any]:
    """A request and its response; `more` stands in both."""
    output = [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": answered}]}
    ]
    response = {"object": "response", "id": identity, "status": "completed", "output": output, **more}
    return {"request": {"input": asked, **more}, "response": response}


def test_a_conversation_is_shown_as_it_was() -> None:
    shown = render(real("mcp_server_tool.exchange.json")).text

    assert shown + "\n" == GOLDEN.read_text()


def test_calls_are_joined_to_results_by_their_call_id() -> None:
    conversation = real("simple_response_with_tool_call.exchange.json")

    (call,) = conversation.tool_calls
    assert (call.id, call.name) == ("call_YfwRsW8sUxDKipwyhWTzOXCA", "get_capital")
    assert (call.arguments, call.result) == ({"country": "PotatoLand"}, "Potato City")


def test_the_instructions_are_the_system_prompt() -> None:
    conversation = real("phase_live.conversation.json")

    assert spoken(conversation)[0] == (
        "system",
        "Briefly narrate what you are about to do before calling each tool.",
    )


def test_reasoning_words_and_calls_of_one_step_are_one_turn() -> None:
    conversation = real("phase_live.conversation.json")

    assert [message.role for message in conversation.messages] == [
        *("system", "user", "assistant", "tool", "assistant")
    ]
    assert conversation.messages[2].text == 'I\'ll check the capital lookup tool for "PotatoLand."'
    assert conversation.messages[2].tool_calls[0].name == "get_capital"


def test_two_messages_in_one_response_stay_two_turns(tmp_path: Path) -> None:
    record = exchange("r", "hi", "one moment")
    record["response"]["output"] += [{"type": "message", "role": "assistant", "content": "done"}]

    assert spoken(one(tmp_path, record))[1:] == [("assistant", "one moment"), ("assistant", "done")]


def test_reasoning_is_kept_by_its_summary_and_not_shown() -> None:
    conversation = real("thinking_with_tool_calls.conversation.json")

    content = conversation.messages[2].content
    assert isinstance(content, list)
    assert content[0].type == "reasoning"
    assert (content[0].text or "").startswith("**Creating a structured poem**")
    assert "Creating a structured poem" not in render(conversation).text


def test_a_hosted_tool_without_a_result_in_the_file_is_shown_to_have_run() -> None:
    conversation = real("web_search_tool_with_user_location.conversation.json")

    assert [(call.name, call.arguments) for call in conversation.tool_calls] == [
        ("web_search", {"action": {"query": "weather: Utrecht, Netherlands", "type": "search"}})
    ]
    assert '"parts":[{"type":"web_search_call"}]' in render(conversation).text
    assert notes(conversation) == ["turn 4: the result of 'web_search' is not in the file"]


def test_a_failed_call_of_an_mcp_server_is_a_tool_error(tmp_path: Path) -> None:
    error = {"type": "mcp_tool_execution_error", "code": 500, "message": "down"}
    call = {
        "type": "mcp_call",
        "id": "m",
        "name": "ask",
        "server_label": "s",
        "arguments": "{}",
        "error": error,
    }

    conversation = one(tmp_path, {"items": [call]})

    assert [(called.name, called.error) for called in conversation.tool_calls] == [
        ("ask", "500: mcp_tool_execution_error: down")
    ]


def test_what_a_code_interpreter_printed_is_its_result(tmp_path: Path) -> None:
    outputs = [{"type": "logs", "logs": "4"}]
    call = {"type": "code_interpreter_call", "id": "c", "code": "print(2+2)", "outputs": outputs}

    (called,) = one(tmp_path, {"items": [call]}).tool_calls

    assert (called.arguments, called.result) == ({"code": "print(2+2)"}, '[{"type":"logs","logs":"4"}]')


def test_arguments_that_are_not_json_stay_text(tmp_path: Path) -> None:
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{"}

    conversation = one(tmp_path, {"items": [call]})

    assert conversation.tool_calls[0].arguments == "{"
    assert notes(conversation) == ["turn 1: a call's arguments are not JSON, kept as text"]


def test_compacted_history_is_known_to_be_missing() -> None:
    conversation = real("compact_messages.exchange.json")

    assert conversation.agent_pov_incomplete is True
    assert '{"turn":2,"role":"assistant","parts":[{"type":"compaction"}]}' in render(conversation).text


def test_an_image_is_named() -> None:
    shown = render(real("image_url_input.conversation.json")).turns[0][0]

    assert '["hello",{"type":"image","url":"https://t3.ftcdn.net/' in shown


def test_a_refused_request_is_a_failed_conversation() -> None:
    conversation = real("http_error.exchange.json")

    assert conversation.status == "failed"
    assert (conversation.error or "").startswith("HTTP 400: decimal_below_min_value")


def test_the_reply_has_the_time_of_its_response() -> None:
    conversation = real("simple_response_with_tool_call.exchange.json")

    assert [message.timestamp for message in conversation.messages] == [
        *(None, None, None, "2025-10-24T16:32:27.000Z")
    ]


def test_a_response_that_hit_a_limit_is_completed_and_says_so(tmp_path: Path) -> None:
    cut = exchange("r", "hi", "he")
    cut["response"] |= {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}

    conversation = one(tmp_path, cut)

    assert (conversation.status, conversation.termination_reason) == ("completed", "max_output_tokens")


def test_a_response_that_was_still_running_failed(tmp_path: Path) -> None:
    running: dict[str, Any] = {"object": "response", "id": "r", "status": "in_progress", "output": []}

    conversation = one(tmp_path, running)

    assert conversation.status == "failed"
    assert conversation.error == "the response was still 'in_progress' when it was recorded"


def test_a_cancelled_response_is_a_canceled_conversation(tmp_path: Path) -> None:
    cancelled = exchange("r", "hi", "")
    cancelled["response"]["status"] = "cancelled"

    assert one(tmp_path, cancelled).status == "canceled"


def test_a_response_is_joined_to_the_one_it_continues(tmp_path: Path) -> None:
    first, other = exchange("r1", "hi", "hello"), exchange("r2", "who", "me")
    last = exchange("r3", "and you?", "fine", previous_response_id="r1")

    found = read(tmp_path, first, other, last)

    assert [(record.id, spoken(record)) for record in found if isinstance(record, Conversation)] == [
        ("r2", [("user", "who"), ("assistant", "me")]),
        ("r3", [("user", "hi"), ("assistant", "hello"), ("user", "and you?"), ("assistant", "fine")]),
    ]


def test_responses_of_one_stored_conversation_are_joined(tmp_path: Path) -> None:
    first = exchange("r1", "hi", "hello", conversation="conv_1")
    last = exchange("r2", "bye", "goodbye", conversation={"id": "conv_1"})

    conversation = one(tmp_path, first, last)

    assert conversation.id == "conv_1"
    assert [text for _, text in spoken(conversation)] == ["hi", "hello", "bye", "goodbye"]


def test_a_response_whose_history_is_not_in_the_file_is_known_to_be_incomplete(tmp_path: Path) -> None:
    conversation = one(tmp_path, exchange("r2", "more", "ok", previous_response_id="r1"))

    assert conversation.agent_pov_incomplete is True
    assert notes(conversation) == ["the turns before it, up to the response 'r1', are not in the file"]


def test_a_list_of_items_is_one_conversation(tmp_path: Path) -> None:
    path = tmp_path / "items.json"
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    path.write_text(json.dumps([{"role": "user", "content": "hi"}, call]))

    (found,) = read_conversations(path)

    assert isinstance(found, Conversation)
    assert [message.role for message in found.messages] == ["user", "assistant"]


def test_what_is_no_item_is_named_with_its_reason(tmp_path: Path) -> None:
    assert reason(tmp_path, {"items": [3]}) == "turn 1: an item must be an object"
    assert reason(tmp_path, {"items": [{"type": "message"}]}) == (
        "turn 1: an item is a message without a known role"
    )
    assert reason(tmp_path, {"nothing": 1}) == "'items' is missing or no list"
