"""Gemini contents become native conversations, whatever case their keys are in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.evidence import render
from adjudge.pipeline.readers import read_conversations
from adjudge.pipeline.readers.source import Unreadable

DATA = Path(__file__).parents[1] / "data" / "readers" / "gemini"
GOLDEN = Path(__file__).parents[1] / "golden" / "evidence" / "gemini.txt"


def real(name: str) -> Conversation:
    (found,) = read_conversations(DATA / name)
    assert isinstance(found, Conversation), found
    return found


def read(tmp_path: Path, *records: Any) -> list[Conversation | Unreadable]:
    path = tmp_path / "file.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return list(read_conversations(path, "gemini"))


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


def answered(*parts: dict[str, Any], **candidate: Any) -> dict[str, Any]:
    """A request and a response with one candidate."""
    content = {"role": "model", "parts": list(parts)}
    request = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
    return {
        "request": request,
        "response": {"candidates": [{"content": content, **candidate}], "responseId": "r"},
    }


def test_a_conversation_is_shown_as_it_was() -> None:
    assert render(real("google_model_retry.conversation.json")).text + "\n" == GOLDEN.read_text()


def test_functions_answers_are_turns_of_the_tools_and_not_the_user_speaking() -> None:
    conversation = real("google_instructions_only_with_tool_calls.exchange.json")

    assert [message.role for message in conversation.messages[:7]] == [
        *("system", "user", "assistant", "tool", "tool", "tool", "assistant")
    ]


def test_parallel_calls_are_joined_to_results_by_id() -> None:
    calls = real("google_instructions_only_with_tool_calls.exchange.json").tool_calls

    assert [call.result for call in calls[:3]] == [
        *('{"return_value":"cars"}', '{"return_value":"penguins"}', '{"return_value":"cars"}')
    ]
    assert (calls[-1].name, calls[-1].result) == ("final_result", None)


def test_calls_without_ids_are_joined_by_name_and_order(tmp_path: Path) -> None:
    calls = [{"functionCall": {"name": name, "args": {"n": n}}} for name, n in (("a", 1), ("b", 2), ("a", 3))]
    results = [
        {"functionResponse": {"name": name, "response": {"output": said}}}
        for name, said in (("b", "two"), ("a", "one"), ("a", "three"))
    ]
    contents = [{"role": "model", "parts": calls}, {"role": "user", "parts": results}]

    called = one(tmp_path, {"contents": contents}).tool_calls

    assert [(call.arguments, call.result) for call in called] == [
        ({"n": 1}, "one"),
        ({"n": 2}, "two"),
        ({"n": 3}, "three"),
    ]


def test_an_error_in_a_functions_answer_is_a_tool_error() -> None:
    conversation = real("google_model_retry.conversation.json")

    assert conversation.tool_errors == 1
    assert (conversation.tool_calls[0].error or "").startswith("The country is not supported.")


def test_thoughts_and_their_signatures_are_kept_and_not_shown(tmp_path: Path) -> None:
    thought, call = {"text": "hm", "thought": True}, {"functionCall": {"name": "f"}, "thoughtSignature": "s"}

    conversation = one(tmp_path, answered(thought, call))

    content = conversation.messages[1].content
    assert isinstance(content, list)
    assert [(part.type, part.text) for part in content] == [("reasoning", "hm"), ("reasoning", None)]
    assert '"hm"' not in render(conversation).text


def test_a_blocked_candidate_is_a_turn_without_words_and_the_reason_why_it_ended() -> None:
    conversation = real("google_model_safety_settings.exchange.json")

    assert conversation.termination_reason == "SAFETY"
    assert (conversation.messages[-1].role, conversation.messages[-1].content) == ("assistant", None)


def test_a_blocked_prompt_has_no_reply(tmp_path: Path) -> None:
    record = answered()
    record["response"] = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}

    conversation = one(tmp_path, record)

    assert (conversation.termination_reason, len(conversation.messages)) == ("PROHIBITED_CONTENT", 1)


def test_a_candidate_without_content_is_a_turn_without_words(tmp_path: Path) -> None:
    record = answered(finishReason="MAX_TOKENS")
    del record["response"]["candidates"][0]["content"]

    assert spoken(one(tmp_path, record)) == [("user", "hi"), ("assistant", "")]


def test_empty_text_stays_a_turn() -> None:
    conversation = real("google_model_empty_assistant_response.conversation.json")

    assert [message.content for message in conversation.messages[:2]] == ["Hi", ""]


def test_a_video_is_named() -> None:
    shown = render(real("google_model_youtube_video_url_input.conversation.json")).turns[1][0]

    assert '{"type":"video","media_type":"video/mp4","url":"https://youtu.be/lCdaVNyHtjU"}' in shown


def test_what_a_reply_is_grounded_on_is_kept_and_noted() -> None:
    conversation = real("google_model_web_fetch_tool.exchange.json")

    assert notes(conversation) == ["turn 3: what the reply is grounded on is kept in the metadata alone"]
    assert "groundingMetadata" in conversation.metadata["candidates"][0]


def test_keys_in_snake_case_are_read_as_those_on_the_wire(tmp_path: Path) -> None:
    call = {"function_call": {"name": "f", "args": {"user_id": 1}}, "thought_signature": "s"}
    record = {
        "system_instruction": {"parts": [{"text": "S"}]},
        "contents": [{"role": "model", "parts": [call]}],
    }

    conversation = one(tmp_path, record)

    assert spoken(conversation)[0] == ("system", "S")
    assert [(made.name, made.arguments) for made in conversation.tool_calls] == [("f", {"user_id": 1})]


def test_code_that_the_model_ran_is_a_call_with_a_result(tmp_path: Path) -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "print(4)"}}
    ran = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "4\n"}}
    failed = {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "boom"}}

    conversation = one(tmp_path, answered(code, ran, {"text": "It is 4."}, code, failed))

    assert [(call.result, call.error) for call in conversation.tool_calls] == [
        ("4\n", None),
        ("", "OUTCOME_FAILED: boom"),
    ]
    assert [message.role for message in conversation.messages] == [
        *("user", "assistant", "tool", "assistant", "tool")
    ]


def test_the_reply_has_the_time_its_response_was_made(tmp_path: Path) -> None:
    record = answered({"text": "hi"})
    record["response"]["createTime"] = "2026-01-02T03:04:05Z"

    assert [message.timestamp for message in one(tmp_path, record).messages] == [None, "2026-01-02T03:04:05Z"]


def test_other_candidates_are_noted_and_kept(tmp_path: Path) -> None:
    record = answered({"text": "hi"})
    record["response"]["candidates"] += [{"content": {"parts": [{"text": "hello"}]}}]

    conversation = one(tmp_path, record)

    assert notes(conversation) == ["turn 2: 1 more candidates left out"]
    assert conversation.metadata["candidates"] == [{"content": {"parts": [{"text": "hello"}]}}]


def test_what_is_no_content_is_named_with_its_reason(tmp_path: Path) -> None:
    assert reason(tmp_path, {"contents": 3}) == "'contents' is missing or no list"
    assert reason(tmp_path, {"contents": [{"role": "ghost", "parts": []}]}) == (
        "turn 1: a content has a role user or model and a list of parts"
    )
