"""The results of promptfoo become native conversations; its verdicts stay metadata."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.evidence import render
from adjudge.pipeline.readers import read_conversations
from adjudge.pipeline.readers.source import Unreadable

DATA = Path(__file__).parents[1] / "data" / "readers" / "promptfoo"
GOLDEN = Path(__file__).parents[1] / "golden" / "evidence" / "promptfoo.txt"


def read(tmp_path: Path, *records: Any) -> list[Conversation | Unreadable]:
    path = tmp_path / "file.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return list(read_conversations(path, "promptfoo"))


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


FILE = "eval_support_5_of_16.output.json"


def all_real() -> list[Conversation]:
    return [record for record in read_conversations(DATA / FILE) if isinstance(record, Conversation)]


def result(raw: str = "hi", **more: Any) -> dict[str, Any]:
    return {
        "prompt": {"raw": raw, "label": "p"},
        "testIdx": 0,
        "promptIdx": 0,
        "success": True,
        "score": 1,
        **more,
    }


def test_a_conversation_is_shown_as_it_was() -> None:
    assert render(all_real()[2]).text + "\n" == GOLDEN.read_text()


def test_every_result_is_a_conversation_of_its_test_with_its_id() -> None:
    assert [(found.id[:8], found.test) for found in all_real()] == [
        ("2ab7f064", "refund confirmed"),
        ("06f58e5c", "refund confirmed"),
        ("0fdf7bae", "leaks internal note"),
        ("936b2890", "no assertions"),
        ("cfc49f65", "leaks internal note"),
    ]


def test_a_prompt_that_is_a_chat_is_its_messages() -> None:
    assert [role for role, _ in spoken(all_real()[1])] == ["system", "user", "assistant"]


def test_a_failed_assertion_is_no_failure_of_the_conversation() -> None:
    failed = all_real()[2]

    assert (failed.status, failed.error) == ("completed", None)
    assert failed.metadata["success"] is False
    assert failed.metadata["error"].startswith("Invalid regex pattern")


def test_a_failed_provider_is_a_failed_conversation_without_a_reply() -> None:
    failed = all_real()[4]

    assert failed.status == "failed"
    assert (failed.error or "").startswith("Error: upstream 503: overloaded")
    assert [role for role, _ in spoken(failed)] == ["user"]


def test_verdicts_and_scores_are_metadata_and_no_labels() -> None:
    found = all_real()[0]

    assert found.metadata["gradingResult"]["pass"] is True
    assert found.metadata["score"] == 1
    assert (found.statements, found.graders) == ({}, None)


def test_the_variables_the_prompt_and_the_evaluation_are_kept() -> None:
    metadata = all_real()[2].metadata

    assert metadata["vars"] == {"reply": "INTERNAL: customer flagged. Sorry, no refund."}
    assert metadata["prompt"] == "Bot reply: {{reply}}"
    assert metadata["evalId"] == "eval-EXg-2026-11-30T15:53:59"
    assert metadata["timestamp"] == "2026-11-30T15:53:59.197Z"


def test_an_output_that_is_an_object_is_shown_as_json(tmp_path: Path) -> None:
    conversation = one(tmp_path, result(response={"output": {"refund": True}}))

    assert spoken(conversation)[1] == ("assistant", '{"refund":true}')
    assert notes(conversation) == ["turn 2: the output is no text, shown as JSON"]


def test_an_output_of_tool_calls_is_the_calls(tmp_path: Path) -> None:
    calls = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}]

    (call,) = one(tmp_path, result(response={"output": calls})).tool_calls

    assert (call.turn, call.name, call.arguments) == (2, "f", {"a": 1})


def test_results_of_one_test_prompt_and_provider_are_rollouts(tmp_path: Path) -> None:
    results = [
        result(response={"output": "a"}),
        result(response={"output": "b"}),
        result(promptIdx=1, response={}),
    ]

    found = read(tmp_path, {"evalId": "e", "results": {"version": 3, "results": results}})

    assert [record.rollout for record in found if isinstance(record, Conversation)] == [1, 2, None]


def test_a_result_a_line_is_read_too(tmp_path: Path) -> None:
    found = read(tmp_path, result(id="a", response={"output": "x"}), result(id="b", response={"output": "y"}))

    assert [record.id for record in found if isinstance(record, Conversation)] == ["a", "b"]


def test_what_is_no_result_is_named_with_its_reason(tmp_path: Path) -> None:
    assert (
        reason(tmp_path, {"evalId": "e", "results": {"results": [3]}}) == "result 1: no prompt and response"
    )
