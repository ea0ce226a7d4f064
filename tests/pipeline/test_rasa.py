"""Rasa trackers: order, sessions, answers without words, actions and what takes them back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.evidence import render
from adjudge.pipeline.readers import rasa
from adjudge.pipeline.readers.source import Source, Unreadable

FILE = (
    Path(__file__).parents[1] / "data" / "readers" / "rasa" / "rasa_tracker_moodbot_with_new_utterances.json"
)
LISTEN = {"event": "action", "name": "action_listen"}


def real() -> Conversation:
    [found] = rasa.read(Source(FILE))
    assert isinstance(found, Conversation)
    return found


def read(path: Path, *events: dict[str, Any], **tracker: Any) -> list[Conversation]:
    """The conversations of one hand-made tracker."""
    file = path / "tracker.json"
    file.write_text(json.dumps({"sender_id": "me", **tracker, "events": events}))
    assert rasa.recognises(Source(file).first())
    found = list(rasa.read(Source(file)))
    assert not [fault for fault in found if isinstance(fault, Unreadable)]
    return [run for run in found if isinstance(run, Conversation)]


def one(path: Path, *events: dict[str, Any], **tracker: Any) -> Conversation:
    [run] = read(path, *events, **tracker)
    return run


def notes(conversation: Conversation) -> list[str]:
    return conversation.metadata.get("adjudge", {}).get("notes", [])


def user(text: Any, **more: Any) -> dict[str, Any]:
    return {"event": "user", "text": text, **more}


def bot(text: Any, **data: Any) -> dict[str, Any]:
    return {"event": "bot", "text": text, "data": data}


def action(name: str) -> dict[str, Any]:
    return {"event": "action", "name": name}


def spoken(conversation: Conversation) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in conversation.messages]


def test_events_stand_in_the_order_they_are_listed_though_their_times_go_back() -> None:
    run = real()

    assert run.id == "mysender"
    assert spoken(run)[::2] == [("user", "/greet"), ("user", "/mood_great"), ("user", "/mood_great")]
    assert [message.timestamp for message in run.messages[:2]] == [
        "2018-02-05T09:08:46.200Z",
        "2018-02-05T09:08:46.200Z",
    ]


def test_an_answer_whose_text_is_not_in_the_file_is_named_and_the_evidence_incomplete() -> None:
    run = real()

    assert run.agent_pov_incomplete is True
    assert '"parts":[{"type":"answer","name":"utter_greet"}]' in render(run).text
    assert "turns 2, 4, 6: the text of this answer is not in the file" in notes(run)


def test_what_was_parsed_is_noted_where_it_is_not_what_was_said() -> None:
    assert "turn 5: what was parsed is 'my mood is so great!'" in notes(real())


def test_an_answer_with_its_text_is_said_once(tmp_path: Path) -> None:
    run = one(tmp_path, user("hi"), action("utter_greet"), bot("Hello."), LISTEN)

    assert spoken(run) == [("user", "hi"), ("assistant", "Hello.")]
    assert (run.agent_pov_incomplete, notes(run)) == (None, [])


def test_buttons_images_and_custom_payloads_are_named_parts(tmp_path: Path) -> None:
    buttons = [{"title": "Yes", "payload": "/affirm"}]
    run = one(tmp_path, bot(None, buttons=buttons, image="https://example.org/a.png", custom={"x": 1}))

    assert json.loads(render(run).text.splitlines()[1])["parts"] == [
        {"type": "buttons", "text": '[{"title":"Yes","payload":"/affirm"}]'},
        {"type": "image", "url": "https://example.org/a.png"},
        {"type": "custom", "text": '{"x":1}'},
    ]


def test_a_custom_action_is_a_call_and_the_slots_it_sets_its_result(tmp_path: Path) -> None:
    run = one(
        tmp_path,
        user("Berlin please"),
        {"event": "slot", "name": "city", "value": "Berlin"},
        action("action_find_flight"),
        bot("One moment."),
        {"event": "slot", "name": "flight", "value": "LH1"},
        LISTEN,
    )

    assert [(call.name, call.result) for call in run.tool_calls] == [
        ("action_find_flight", '{"slots":{"flight":"LH1"}}')
    ]
    assert notes(run) == ["1 'slot' event left out"]


def test_an_action_that_refused_to_run_is_an_error(tmp_path: Path) -> None:
    rejected = {"event": "action_execution_rejected", "name": "order_form"}
    run = one(tmp_path, user("hi"), rejected)

    assert [(call.name, call.error) for call in run.tool_calls] == [
        ("order_form", "the action refused to run")
    ]


def test_two_runs_of_one_action_keep_their_own_results(tmp_path: Path) -> None:
    run = one(
        tmp_path,
        action("action_a"),
        action("action_a"),
        {"event": "slot", "name": "x", "value": 2},
    )

    assert [call.result for call in run.tool_calls] == [None, '{"slots":{"x":2}}']


def test_what_is_rewound_was_said_and_stays_with_a_note(tmp_path: Path) -> None:
    run = one(
        tmp_path,
        user("hi"),
        action("utter_greet"),
        bot("Hello."),
        LISTEN,
        user("asdf"),
        action("utter_default"),
        bot("Pardon?"),
        {"event": "rewind"},
        LISTEN,
        user("Book a flight"),
    )

    assert [text for _, text in spoken(run)] == ["hi", "Hello.", "asdf", "Pardon?", "Book a flight"]
    assert notes(run) == ["turns 3, 4: taken out of the bot's memory by a 'rewind', though it was said"]


def test_undo_takes_back_the_last_action_alone(tmp_path: Path) -> None:
    run = one(tmp_path, user("hi"), action("utter_greet"), bot("Hello."), {"event": "undo"})

    assert notes(run) == ["turn 2: taken out of the bot's memory by a 'undo', though it was said"]


def test_a_restart_takes_everything_back(tmp_path: Path) -> None:
    run = one(tmp_path, user("hi"), bot("Hello."), {"event": "restart"}, user("again"))

    assert notes(run) == ["turns 1, 2: taken out of the bot's memory by a 'restart', though it was said"]


def test_each_session_of_a_sender_is_a_conversation(tmp_path: Path) -> None:
    begins = [action("action_session_start"), {"event": "session_started"}, LISTEN]
    runs = read(tmp_path, *begins, user("Monday"), *begins, user("Friday"), slots={"name": None})

    assert [(run.id, spoken(run)) for run in runs] == [
        ("me-1", [("user", "Monday")]),
        ("me-2", [("user", "Friday")]),
    ]
    assert runs[1].metadata["slots"] == {"name": None}


def test_a_person_who_took_over_is_noted(tmp_path: Path) -> None:
    run = one(tmp_path, {"event": "agent", "text": "This is Ann."})

    assert spoken(run) == [("assistant", "This is Ann.")]
    assert notes(run) == ["turn 1: said by a person, not the bot"]


def test_other_events_are_counted_as_left_out(tmp_path: Path) -> None:
    run = one(tmp_path, {"event": "pause"}, {"event": "followup"}, {"event": "followup"})

    assert notes(run) == ["1 'pause' event left out", "2 'followup' events left out"]


def test_a_record_without_events_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "tracker.json"
    file.write_text('{"sender_id": "a"}')
    [fault] = rasa.read(Source(file))

    assert str(fault).endswith("tracker.json:1: 'events' is missing or no list")
