"""Botium scripts in four layouts: what is expected of a bot is never shown as what it said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.evidence import render
from adjudge.pipeline.readers import botium
from adjudge.pipeline.readers.source import Source, Unreadable

DATA = Path(__file__).parents[1] / "data" / "readers" / "botium"
SCRIPT = "a script: what the bot is expected to say; that it was said is not recorded"


def read(file: Path) -> list[Conversation | Unreadable]:
    return list(botium.read(Source(file)))


def conversations(file: Path) -> list[Conversation]:
    found = read(file)
    assert not [fault for fault in found if isinstance(fault, Unreadable)], found
    return [run for run in found if isinstance(run, Conversation)]


def written(path: Path, text: str, name: str = "x.convo.txt") -> Path:
    file = path / name
    file.write_text(text)
    return file


def one(path: Path, text: str, name: str = "x.convo.txt") -> Conversation:
    [run] = conversations(written(path, text, name))
    return run


def steps(path: Path, *given_steps: Any, **beside: Any) -> Conversation:
    """The conversation of a hand-made JSON script."""
    convo = {"name": "n", "steps": given_steps}
    return one(path, json.dumps({"convos": [convo], **beside}), "x.json")


def notes(conversation: Conversation) -> list[str]:
    return conversation.metadata["adjudge"]["notes"]


def spoken(conversation: Conversation) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in conversation.messages]


def parts(conversation: Conversation, turn: int) -> list[dict[str, Any]]:
    content = conversation.messages[turn - 1].content
    assert isinstance(content, list)
    return [part.model_dump(exclude_none=True) for part in content]


def test_a_text_script_has_its_title_and_the_turns_of_both_sides() -> None:
    [run] = conversations(DATA / "2stepsfailing.convo.txt")

    assert (run.id, run.test) == ("2stepsfailing", "2 steps")
    assert spoken(run)[2:] == [
        ("user", "Hello again!"),
        ("assistant", "Hello again FAILING!"),
        ("user", "not reached"),
    ]


def test_it_is_said_that_a_script_is_no_record() -> None:
    [run] = conversations(DATA / "1step.convo.txt")

    assert notes(run) == [SCRIPT]


def test_what_the_bot_must_not_say_is_not_shown_as_said() -> None:
    [run] = conversations(DATA / "2stepsoptneg.convo.txt")

    assert run.messages[1].text == ""
    assert parts(run, 2) == [{"type": "must_not_say", "text": "Hugo"}]
    assert run.agent_pov_incomplete is True
    assert notes(run) == [
        SCRIPT,
        "turn 2: the bot may leave this out",
        "turn 2: what the bot says is not in the script",
    ]
    assert '"parts":[{"type":"must_not_say","text":"Hugo"}]' in render(run).text


def test_an_optional_answer_is_shown_without_its_mark_and_noted() -> None:
    [run] = conversations(DATA / "2stepsopt.convo.txt")

    assert spoken(run)[1] == ("assistant", "Hello")
    assert "turn 2: the bot may leave this out" in notes(run)


def test_a_doubled_mark_is_meant_literally(tmp_path: Path) -> None:
    run = one(tmp_path, "t\n#me\nhi\n#bot\n!!Attention\n#bot\n??Really\n")

    assert spoken(run)[1:] == [("assistant", "!Attention"), ("assistant", "?Really")]


def test_marks_in_what_the_user_says_are_words(tmp_path: Path) -> None:
    assert spoken(one(tmp_path, "t\n#me\n?what\n#bot\nyes\n"))[0] == ("user", "?what")


def test_lines_of_a_turn_stay_lines_and_a_channel_is_no_sender(tmp_path: Path) -> None:
    run = one(tmp_path, "title\nabout it\n\n#me web\none\ntwo\n\n#bot\nthree\n")

    assert spoken(run) == [("user", "one\ntwo"), ("assistant", "three")]
    assert run.metadata["description"] == "about it"


def test_assertions_are_parts_and_hooks_are_noted(tmp_path: Path) -> None:
    run = one(
        tmp_path, "t\n#me\nBUTTON yes|Yes\nPAUSE 500\n#bot\nFine.\nBUTTONS a|b\n!INTENT bye\n#end\nPAUSE 1\n"
    )

    assert parts(run, 1) == [{"type": "button", "text": "yes|Yes"}]
    assert parts(run, 2) == [
        {"type": "text", "text": "Fine."},
        {"type": "expected", "name": "BUTTONS", "text": "a|b"},
        {"type": "must_not_be", "name": "INTENT", "text": "bye"},
    ]
    assert notes(run) == [SCRIPT, "turn 1: 'PAUSE 500' left out", "turn 3: 'PAUSE 1' left out"]


def test_shouting_is_no_assertion(tmp_path: Path) -> None:
    assert spoken(one(tmp_path, "t\n#me\nHELP ME\n#bot\nSTAY CALM\n")) == [
        ("user", "HELP ME"),
        ("assistant", "STAY CALM"),
    ]


def test_an_unknown_section_is_named_with_its_line(tmp_path: Path) -> None:
    [fault] = read(written(tmp_path, "t\n#me\nhi\n#robot\nx\n"))

    assert isinstance(fault, Unreadable)
    assert fault.reason == "line 4: the section 'robot' must be one of begin, include, me, bot, end"


def test_rows_of_a_csv_are_grouped_by_conversation(tmp_path: Path) -> None:
    text = 'conversationId;sender;text\na;me;"hi; there"\na;bot;hello\nb;me;bye\n'
    runs = conversations(written(tmp_path, text, "x.csv"))

    assert [(run.id, spoken(run)) for run in runs] == [
        ("a", [("user", "hi; there"), ("assistant", "hello")]),
        ("b", [("user", "bye")]),
    ]


def test_the_real_csv_is_one_conversation() -> None:
    [run] = conversations(DATA / "convos_sender_basic.csv")

    assert (run.id, spoken(run)) == ("first", [("user", "test 1"), ("assistant", "test 2")])


def test_a_csv_of_questions_and_answers_is_read_but_not_recognised(tmp_path: Path) -> None:
    file = written(tmp_path, "question,answer\nWho?,Me.\nWhy?,So.\n", "x.csv")

    assert not botium.recognises(Source(file).first())
    assert [spoken(run)[1][1] for run in conversations(file)] == ["Me.", "So."]


def test_a_row_of_nobody_is_named_with_its_line(tmp_path: Path) -> None:
    found = read(written(tmp_path, "conversationId,sender,text\na,me,hi\nb,robot,x\n", "x.csv"))

    assert isinstance(found[0], Conversation)
    assert isinstance(found[1], Unreadable)
    assert (found[1].line, found[1].reason) == (
        3,
        "a step is of 'robot', not of one of begin, include, me, bot, end",
    )


def test_a_csv_with_other_columns_says_which_are_needed(tmp_path: Path) -> None:
    [fault] = read(written(tmp_path, "a,b\n1,2\n", "x.csv"))

    assert isinstance(fault, Unreadable)
    assert fault.reason == "the columns must be conversationId, sender and text, or question and answer"


def test_both_ways_to_write_a_markdown_script_mean_the_same() -> None:
    first, second = conversations(DATA / "convos_precompiler_markdown.md")

    assert (first.test, second.test) == ("Test Case 1", "Test Case 2")
    assert first.messages == second.messages
    assert parts(first, 2) == [
        {"type": "text", "text": "hello meat bag"},
        {"type": "expected", "name": "BUTTONS", "text": "checkbutton|checkbutton2"},
    ]


def test_a_json_script_has_a_conversation_for_each_convo() -> None:
    first, second = conversations(DATA / "convos_and_utterances.json")

    assert (first.id, first.test) == ("convos_and_utterances-1", "goodbye")
    assert first.metadata["description"] == "desc of convo goodbye"
    assert parts(first, 2) == [{"type": "must_not_say", "text": "hello"}]
    assert parts(second, 2) == [
        {"type": "must_not_be", "name": "TEXT", "text": "hello"},
        {"type": "expected", "name": "INTENT", "text": "intent_greeting"},
    ]
    assert spoken(second)[2] == ("assistant", "what can i do for you?")


def test_the_assertion_of_a_text_is_the_bots_words(tmp_path: Path) -> None:
    asserted = {"asserter": "TEXT", "args": "hello"}

    assert spoken(steps(tmp_path, {"me": ["hi"]}, {"bot": [asserted]}))[1] == ("assistant", "hello")


@pytest.mark.parametrize(
    ("key", "kind"),
    [("INTENT", "expected"), ("NOT_INTENT", "must_not_be"), ("OPTIONAL_NOT_INTENT", "must_not_be")],
)
def test_an_assertion_may_be_written_by_its_name(tmp_path: Path, key: str, kind: str) -> None:
    run = steps(tmp_path, {"bot": [{key: ["greet", "bye"]}]})

    assert parts(run, 1) == [{"type": kind, "name": "INTENT", "text": "greet|bye"}]
    assert ("turn 1: the bot may leave this out" in notes(run)) is key.startswith("OPTIONAL_")


def test_the_name_of_utterances_is_said_to_stand_for_them(tmp_path: Path) -> None:
    run = steps(
        tmp_path, {"me": ["GREETING"]}, {"bot": ["ok"]}, utterances={"GREETING": ["hi", "hello"], "X": []}
    )

    assert run.metadata["utterances"] == {"GREETING": ["hi", "hello"]}
    assert notes(run)[1] == "turn 1: 'GREETING' stands for one of its utterances, which are in the metadata"


def test_a_step_of_nobody_does_not_hide_the_next_convo(tmp_path: Path) -> None:
    bad, good = {"steps": [{"robot": ["x"]}]}, {"steps": [{"me": ["hi"]}]}
    fault, run = read(written(tmp_path, json.dumps({"convos": [bad, good]}), "x.json"))

    assert isinstance(fault, Unreadable)
    assert fault.reason == "a step must be of one of begin, include, me, bot, end, not a mapping"
    assert isinstance(run, Conversation)


def test_a_file_that_is_not_utf8_is_named_so(tmp_path: Path) -> None:
    file = tmp_path / "x.convo.txt"
    file.write_bytes("t\n#me\ngrüß\n#bot\nhi\n".encode("latin-1"))
    [fault] = read(file)

    assert isinstance(fault, Unreadable)
    assert fault.reason.startswith("damaged: 'utf-8' codec can't decode byte 0xfc")


@pytest.mark.parametrize("text", ["# Notes\n\n- me\n- bot\n", "#!/bin/sh\n#me\n", "a,b\n1,2\n", "hello\n"])
def test_other_texts_are_not_recognised(tmp_path: Path, text: str) -> None:
    assert not botium.recognises(Source(written(tmp_path, text)).first())


LINES = st.sampled_from(
    [
        "#me",
        "#bot",
        "#begin",
        "#x",
        "# Convos",
        "## A",
        "- me",
        "- bot",
        "  - hi",
        "    - x",
        "TEXT",
        "!",
        "?",
    ]
)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(st.one_of(LINES, st.text(max_size=12)), max_size=12))
def test_any_text_gives_conversations_or_reasons(tmp_path: Path, lines: list[str]) -> None:
    file = tmp_path / "x.txt"
    file.write_bytes("\n".join(lines).encode(errors="replace"))

    for found in read(file):
        assert isinstance(found, Conversation | Unreadable)
