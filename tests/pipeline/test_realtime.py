"""Event logs of voice models become the conversations they tell of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.evidence import render
from adjudge.pipeline.readers import read_conversations
from adjudge.pipeline.readers.source import Unreadable

DATA = Path(__file__).parents[1] / "data" / "readers" / "realtime"
GOLDEN = Path(__file__).parents[1] / "golden" / "evidence" / "realtime.txt"


def real(name: str) -> Conversation:
    (found,) = read_conversations(DATA / name)
    assert isinstance(found, Conversation), found
    return found


def read(tmp_path: Path, *records: Any) -> list[Conversation | Unreadable]:
    path = tmp_path / "file.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return list(read_conversations(path, "realtime"))


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


def event(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "event_id": "e", **more}


def item(identity: str, role: str, *parts: dict[str, Any], status: str = "completed") -> dict[str, Any]:
    return {"id": identity, "type": "message", "role": role, "status": status, "content": list(parts)}


def live(**content: Any) -> dict[str, Any]:
    return {"serverContent": content}


def heard(words: str) -> dict[str, Any]:
    return live(inputTranscription={"text": words})


def said(words: str) -> dict[str, Any]:
    return live(outputTranscription={"text": words})


def test_a_conversation_is_shown_as_it_was() -> None:
    assert render(real("openai_realtime_tool_call.jsonl")).text + "\n" == GOLDEN.read_text()


def test_calls_and_results_are_joined_by_call_id() -> None:
    (call,) = real("openai_realtime_tool_call.jsonl").tool_calls

    assert (call.id, call.name, call.arguments) == (
        "call_uMNE0Myi2tDTPu0w",
        "get_weather",
        {"city": "London"},
    )
    assert call.result == "It is foggy and 12 degrees in London."


def test_an_item_that_is_told_of_many_times_is_one_turn() -> None:
    assert spoken(real("openai_realtime_history.jsonl"))[1:] == [
        ("user", "My name is Alice and my favorite color is teal."),
        ("assistant", "Nice to meet you, Alice!"),
        ("user", "What is my name and favorite color?"),
        ("assistant", "Your name is Alice, and your favorite color is teal!"),
    ]


def test_a_transcript_that_comes_late_stands_where_the_user_spoke() -> None:
    conversation = real("openai_realtime_audio_in.jsonl")

    assert spoken(conversation)[1:] == [
        ("user", "Hello, my name is Marcelo."),
        ("assistant", "Hello, Marcelo! Great to meet you. How can I help you today?"),
    ]
    assert conversation.messages[1].timestamp == 1460


def test_the_systems_words_are_what_the_session_was_set_to() -> None:
    instructions = real("openai_realtime_tool_call.jsonl").messages[0]

    assert (instructions.role, instructions.text[:24]) == ("system", "Use the get_weather tool")


def test_the_id_is_the_conversations() -> None:
    assert real("openai_realtime_tool_call.jsonl").id == "conv_E6U11sxBUSqysB6D0eCmY"


def test_speech_that_was_stopped_says_when(tmp_path: Path) -> None:
    placed = event(
        "conversation.item.added", item=item("a", "assistant", {"type": "audio", "transcript": "On its way"})
    )
    stopped = event("conversation.item.truncated", item_id="a", content_index=0, audio_end_ms=900)

    (message,) = one(tmp_path, placed, stopped).messages

    assert isinstance(message.content, list)
    assert [(part.type, part.text) for part in message.content] == [
        ("text", "On its way"),
        ("interrupted", None),
    ]
    assert (
        "speech stopped after 900 ms; the words after that were not heard"
        in render(one(tmp_path, placed, stopped)).text
    )


def test_a_cancelled_reply_is_what_was_said_until_then(tmp_path: Path) -> None:
    cut = item("a", "assistant", {"type": "audio", "transcript": "Your ord"}, status="incomplete")
    response = {"status": "cancelled", "status_details": {"reason": "turn_detected"}, "output": [cut]}

    conversation = one(tmp_path, event("response.done", response=response))

    assert spoken(conversation) == [("assistant", "Your ord")]
    assert '{"type":"interrupted","title":"the reply was cut off here"}' in render(conversation).text
    assert conversation.termination_reason == "turn_detected"


def test_words_of_a_log_that_breaks_off_are_put_together_from_their_pieces(tmp_path: Path) -> None:
    pieces = [
        event("response.output_audio_transcript.delta", item_id="a", content_index=0, delta=piece)
        for piece in ("Your ", "ord")
    ]

    assert spoken(one(tmp_path, *pieces)) == [("assistant", "Your ord")]


def test_an_item_stands_after_the_one_it_names(tmp_path: Path) -> None:
    events = [
        event(
            "conversation.item.created",
            item=item(identity, "user", {"type": "input_text", "text": identity}),
            **more,
        )
        for identity, more in (("a", {}), ("c", {}), ("b", {"previous_item_id": "a"}))
    ]

    assert [text for _, text in spoken(one(tmp_path, *events))] == ["a", "b", "c"]


def test_items_that_were_sent_count_where_nothing_echoes_them(tmp_path: Path) -> None:
    sent = item("a", "user", {"type": "input_text", "text": "hi"})

    assert spoken(one(tmp_path, event("conversation.item.create", item=sent))) == [("user", "hi")]


def test_instructions_that_change_are_another_turn(tmp_path: Path) -> None:
    settings = [event("session.updated", session={"instructions": told}) for told in ("A", "B", "B", "C")]
    placed = event("conversation.item.added", item=item("u", "user", {"type": "input_text", "text": "hi"}))

    conversation = one(tmp_path, *settings[:2], placed, *settings[2:])

    assert spoken(conversation) == [("system", "B"), ("user", "hi"), ("system", "C")]


def test_a_failed_response_is_a_failed_conversation(tmp_path: Path) -> None:
    details = {"type": "failed", "error": {"type": "server_error", "message": "boom"}}
    response: dict[str, Any] = {"status": "failed", "status_details": details, "output": []}

    conversation = one(tmp_path, event("response.done", response=response))

    assert (conversation.status, conversation.error) == ("failed", "server_error: boom")


def test_an_error_that_did_not_end_the_session_is_noted(tmp_path: Path) -> None:
    error = event("error", error={"type": "invalid_request_error", "message": "no active response"})
    done = event("response.done", response={"status": "completed", "output": []})

    conversation = one(tmp_path, done, error)

    assert conversation.status == "completed"
    assert notes(conversation) == ["an error of the API: invalid_request_error: no active response"]


def test_every_session_of_a_log_is_a_conversation(tmp_path: Path) -> None:
    opened = [event("session.created", session={"id": identity}) for identity in ("s1", "s2")]

    found = read(tmp_path, event("session.update", session={"instructions": "S"}), *opened)

    assert [record.id for record in found if isinstance(record, Conversation)] == ["s1", "s2"]


def test_an_event_that_cannot_be_read_costs_its_session_alone(tmp_path: Path) -> None:
    path = tmp_path / "file.jsonl"
    opened = [json.dumps(event("session.created", session={"id": identity})) for identity in ("s1", "s2")]
    path.write_text("\n".join([opened[0], "{broken", opened[1]]))

    broken, conversation = read_conversations(path)

    assert isinstance(broken, Unreadable)
    assert broken.line == 2
    assert isinstance(conversation, Conversation)
    assert conversation.id == "s2"


def test_events_logged_as_json_text_have_the_time_of_their_record(tmp_path: Path) -> None:
    placed = event("conversation.item.added", item=item("u", "user", {"type": "input_text", "text": "hi"}))

    (message,) = one(tmp_path, {"ts": "2026-01-02T03:04:05Z", "event": json.dumps(placed)}).messages

    assert (message.text, message.timestamp) == ("hi", "2026-01-02T03:04:05Z")


def test_gemini_live_is_read_with_its_calls_and_transcripts() -> None:
    conversation = real("gemini_live_tool_call.jsonl")

    assert [message.role for message in conversation.messages] == [
        *("system", "user", "assistant", "tool", "assistant")
    ]
    assert [(call.name, call.arguments, call.result) for call in conversation.tool_calls] == [
        ("record_reading", {"zqx_measurement": 5}, "Recorded 5.")
    ]
    assert conversation.final_text == "A reading of 5 has been recorded."


def test_in_gemini_live_the_user_speaks_before_the_reply_however_late_the_transcript(tmp_path: Path) -> None:
    conversation = one(
        tmp_path, heard(" Hel"), said("Hi"), heard("lo"), said(" there."), live(turnComplete=True)
    )

    assert spoken(conversation) == [("user", "Hello"), ("assistant", "Hi there.")]


def test_in_gemini_live_an_interruption_is_marked_and_the_user_goes_on(tmp_path: Path) -> None:
    first = [heard("Hi"), said("Well, first"), live(interrupted=True), live(turnComplete=True)]

    conversation = one(tmp_path, *first, heard("Stop"), said("OK."), live(turnComplete=True))

    assert [text for _, text in spoken(conversation)] == ["Hi", "Well, first", "Stop", "OK."]
    content = conversation.messages[1].content
    assert isinstance(content, list)
    assert [part.type for part in content] == ["text", "interrupted"]


def test_sound_is_left_out_and_noted(tmp_path: Path) -> None:
    sound = event("response.output_audio.delta", item_id="a", delta="AAAA")
    part = {"inlineData": {"mimeType": "audio/pcm", "data": "AAAA"}}

    assert notes(one(tmp_path, sound)) == ["sound left out: its transcript stands for it"]
    assert notes(one(tmp_path, live(modelTurn={"parts": [part]}))) == notes(one(tmp_path, sound))


def test_what_is_no_event_is_named_with_its_reason(tmp_path: Path) -> None:
    assert reason(tmp_path, {"other": 1}) == "no event of a realtime model"
