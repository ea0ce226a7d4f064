"""ShareGPT records become native conversations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.evidence import render
from adjudge.pipeline.readers import read_conversations
from adjudge.pipeline.readers.source import Unreadable

DATA = Path(__file__).parents[1] / "data" / "readers" / "sharegpt"
GOLDEN = Path(__file__).parents[1] / "golden" / "evidence" / "sharegpt.txt"


def read(tmp_path: Path, *records: Any) -> list[Conversation | Unreadable]:
    path = tmp_path / "file.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return list(read_conversations(path, "sharegpt"))


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


def first(name: str) -> Conversation:
    found = next(iter(read_conversations(DATA / name)))
    assert isinstance(found, Conversation)
    return found


def says(speaker: str, words: Any) -> dict[str, Any]:
    return {"from": speaker, "value": words}


def test_a_conversation_is_shown_as_it_was() -> None:
    assert render(first("tool_and_image_variants.json")).text + "\n" == GOLDEN.read_text()


def test_ids_are_the_datas_and_numbers_become_text() -> None:
    found = [*read_conversations(DATA / "dummy_conversation_000-002.json")]
    other = [*read_conversations(DATA / "tool_and_image_variants.json")]

    ids = [record.id for record in [*found, *other] if isinstance(record, Conversation)]
    assert ids == ["identity_0", "identity_1", "identity_2", "tool_and_image_variants-1", "7"]


def test_a_function_call_and_its_observation_are_a_call_and_its_result() -> None:
    (call,) = first("tool_and_image_variants.json").tool_calls

    assert (call.name, call.arguments, call.result) == ("get_weather", {"city": "Lima"}, '{"temp": 21}')


def test_parallel_calls_are_answered_in_their_order(tmp_path: Path) -> None:
    calls = says(
        "function_call", json.dumps([{"name": "a", "arguments": {}}, {"name": "b", "arguments": {}}])
    )
    record = {"conversations": [calls, says("observation", "1"), says("observation", "2")]}

    assert [(call.name, call.result) for call in one(tmp_path, record).tool_calls] == [("a", "1"), ("b", "2")]


def test_a_marked_image_is_named_after_the_words(tmp_path: Path) -> None:
    _, conversation = read_conversations(DATA / "tool_and_image_variants.json")

    assert isinstance(conversation, Conversation)
    assert '["<image>What is this?",{"type":"image","url":"img/1.jpg"}]' in render(conversation).text


def test_an_image_that_no_turn_marks_is_noted(tmp_path: Path) -> None:
    record = {"conversations": [says("human", "hi")], "images": ["a.jpg"]}

    assert notes(one(tmp_path, record)) == [
        "1 image files that no turn marks are named in the metadata alone"
    ]


def test_replies_to_compare_are_no_turns(tmp_path: Path) -> None:
    pair = {"chosen": says("gpt", "good"), "rejected": says("gpt", "bad")}

    conversation = one(tmp_path, {"conversations": [says("human", "hi")], **pair})

    assert spoken(conversation) == [("user", "hi")]
    assert conversation.metadata["chosen"] == {"from": "gpt", "value": "good"}
    assert notes(conversation) == [
        "'chosen' and 'rejected' are replies to compare, kept in the metadata: neither was said"
    ]


def test_a_speaker_nobody_knows_is_the_assistant_of_that_name(tmp_path: Path) -> None:
    conversation = one(tmp_path, {"items": [says("bing", "hi")]})

    assert [(message.role, message.name) for message in conversation.messages] == [("assistant", "bing")]
    assert notes(conversation) == ["turn 1: 'bing' is shown as the assistant of that name"]


def test_a_call_that_is_not_json_is_shown_as_text(tmp_path: Path) -> None:
    conversation = one(tmp_path, {"conversations": [says("function_call", "look(1)")]})

    assert (conversation.tool_calls, conversation.messages[0].text) == ([], "look(1)")
    assert notes(conversation) == ["turn 1: a call that is not JSON with a name, shown as text"]


def test_what_is_no_turn_is_named_with_its_reason(tmp_path: Path) -> None:
    assert reason(tmp_path, {"conversations": [{"value": "hi"}]}) == "turn 1: a turn says whom it is from"
    assert (
        reason(tmp_path, {"conversations": [says("gpt", None)]}) == "turn 1: 'value' must be text, not null"
    )
    assert reason(tmp_path, {"other": 1}) == "'conversations' is missing or no list"
