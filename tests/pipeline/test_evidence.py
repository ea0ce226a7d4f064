"""What of a conversation a judge is shown, and what is said of the rest (J5, S12)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.judges.citations import quote_stands
from adjudge.judges.request import Evidence, digest
from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.evidence import EvidenceOptions, render

IMAGE = "data:image/png;base64," + "iVBORw0KGgo" * 40


def conversation(*turns: dict[str, Any], **more: Any) -> Conversation:
    return Conversation.model_validate({"id": "c", "messages": list(turns), **more})


def said(role: str, content: Any = None, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def header(evidence: Evidence) -> dict[str, Any]:
    return json.loads(evidence.text.split("\n")[0])


def lines(evidence: Evidence) -> list[dict[str, Any]]:
    return [json.loads(line) for line in evidence.text.split("\n")[1:]]


CALL = said(
    "assistant",
    tool_calls=[{"id": "c1", "name": "find", "arguments": {"q": 'a "b"', "n": [1, {"k": "deep"}]}}],
)
RESULT = said("tool", '{"ok": true}', tool_call_id="c1", name="find")


def test_every_turn_is_one_json_line_with_its_number() -> None:
    evidence = render(
        conversation(said("system", "Be kind."), said("user", "Hi\nthere", name="Ann"), CALL, RESULT)
    )
    assert lines(evidence) == [
        {"turn": 1, "role": "system", "text": "Be kind."},
        {"turn": 2, "role": "user", "name": "Ann", "text": "Hi\nthere"},
        {"turn": 3, "role": "assistant", "tool_calls": CALL["tool_calls"]},
        {"turn": 4, "role": "tool", "name": "find", "tool_call_id": "c1", "result": '{"ok": true}'},
    ]


def test_the_digest_is_that_of_the_text() -> None:
    evidence = render(conversation(said("user", "Hi")))
    assert evidence.digest == digest(evidence.text)


def test_equal_conversations_give_equal_evidence() -> None:
    assert render(conversation(CALL, RESULT)) == render(conversation(CALL, RESULT))


def test_the_agents_own_record_is_shown_where_there_is_one() -> None:
    both = conversation(
        said("user", "theirs"), agent_messages=[said("user", "own"), said("assistant", "record")]
    )
    assert [line["text"] for line in lines(render(both))] == ["own", "record"]


def test_the_header_says_who_spoke_and_how_it_ended() -> None:
    evidence = render(
        conversation(
            said("user", "a"),
            said("assistant", "b"),
            said("user", "c"),
            termination_reason="max_turns",
            agent_pov_incomplete=True,
        )
    )
    assert header(evidence) == {
        "turns": 3,
        "by_role": {"user": 2, "assistant": 1},
        "status": "completed",
        "termination_reason": "max_turns",
        "incomplete": True,
    }


def test_the_header_does_not_speak_of_a_completeness_that_is_not_known() -> None:
    assert "incomplete" not in header(render(conversation(said("user", "a"))))


def test_a_conversation_without_messages_is_only_a_header() -> None:
    assert header(render(conversation())) == {"turns": 0, "by_role": {}, "status": "completed"}
    assert lines(render(conversation())) == []


def test_a_tool_error_is_shown_beside_its_result() -> None:
    (line,) = lines(render(conversation(said("tool", "partial", error="Timeout after 3 s"))))
    assert (line["result"], line["error"]) == ("partial", "Timeout after 3 s")


def test_arguments_that_are_not_json_are_shown_as_they_are() -> None:
    (line,) = lines(
        render(conversation(said("assistant", tool_calls=[{"name": "f", "arguments": '{"x": 1,'}])))
    )
    assert line["tool_calls"] == [{"id": None, "name": "f", "arguments": '{"x": 1,'}]


def test_what_json_libraries_choke_on_is_shown() -> None:
    arguments = {"big": 2**70, "half": "\ud800"}
    evidence = render(conversation(said("assistant", tool_calls=[{"name": "f", "arguments": arguments}])))
    assert lines(evidence)[0]["tool_calls"][0]["arguments"] == arguments
    evidence.text.encode()


def test_timestamps_are_shown_unless_they_are_not_selected() -> None:
    timed = conversation(
        said("user", "a", timestamp="2026-01-01T00:00:00Z"), said("user", "b", timestamp=1.5)
    )
    assert [line["timestamp"] for line in lines(render(timed))] == ["2026-01-01T00:00:00Z", 1.5]
    assert "timestamp" not in render(timed, EvidenceOptions(timestamps=False)).text


def test_only_the_selected_metadata_is_shown() -> None:
    evidence = render(
        conversation(metadata={"channel": "voice", "label": "met"}),
        EvidenceOptions(metadata=("channel", "x")),
    )
    assert header(evidence)["metadata"] == {"channel": "voice"}
    assert "label" not in evidence.text


def test_text_parts_are_joined() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert lines(render(conversation(said("user", parts))))[0]["text"] == "a\nb"


@pytest.mark.parametrize("kind", ["reasoning", "thinking", "redacted_thinking"])
def test_reasoning_is_never_shown_and_that_is_said(kind: str) -> None:
    parts = [{"type": kind, "text": "secret plan", "signature": "sealed"}, {"type": "text", "text": "Hello"}]
    evidence = render(conversation(said("assistant", parts)))
    assert "secret" not in evidence.text
    assert "sealed" not in evidence.text
    assert not any("secret" in text for text in evidence.turns[0])
    assert lines(evidence)[0]["text"] == "Hello"
    assert evidence.left_out == ("hidden reasoning (turn 1; 11 characters): nothing that was said or done",)
    assert header(evidence)["left_out"] == list(evidence.left_out)


THOUGHT = {"type": "reasoning", "text": "secret plan", "signature": "sealed"}
VISIBLE = EvidenceOptions(reasoning="visible")


def test_selected_reasoning_is_a_part_of_its_own_and_the_first_line_says_what_that_is() -> None:
    evidence = render(conversation(said("assistant", [THOUGHT, {"type": "text", "text": "Hello"}])), VISIBLE)
    assert lines(evidence)[0]["parts"] == [{"type": "reasoning", "text": "secret plan"}, "Hello"]
    assert "nothing that it said or did" in header(evidence)["reasoning"]
    assert evidence.left_out == ()
    assert quote_stands(evidence.turns[0], "secret plan")
    assert "sealed" not in evidence.text


@pytest.mark.parametrize(
    "part",
    [
        {"type": "redacted_thinking", "data": "SEALED"},
        {"type": "redacted_thinking", "text": "SEALED"},
        {"type": "reasoning", "text": "SEALED", "redacted": True},
        {"type": "reasoning", "encrypted_content": "SEALED"},
        {"type": "reasoning", "text": ""},
    ],
    ids=["redacted", "redacted text", "marked redacted", "encrypted", "empty"],
)
def test_reasoning_that_is_sealed_is_not_shown_though_it_is_selected(part: dict[str, Any]) -> None:
    evidence = render(conversation(said("assistant", [part])), VISIBLE)
    assert "SEALED" not in evidence.text
    assert evidence.left_out[0].endswith("encrypted, redacted or empty")


def test_parts_that_are_not_text_are_named_in_their_place() -> None:
    parts = [
        {"type": "text", "text": "See"},
        {"type": "image_url", "image_url": {"url": IMAGE, "detail": "high"}},
        {"type": "file", "filename": "bill.pdf", "media_type": "application/pdf", "data": "JVBERi0x" * 50},
        {
            "type": "input_audio",
            "input_audio": {"data": "UklGR" * 50, "format": "wav"},
            "transcript": "hello",
        },
    ]
    evidence = render(conversation(said("user", parts)))
    assert lines(evidence)[0]["parts"] == [
        "See",
        {"type": "image_url", "url": "data:image/png;base64"},
        {"type": "file", "filename": "bill.pdf", "media_type": "application/pdf"},
        {"type": "input_audio", "transcript": "hello", "format": "wav"},
    ]
    assert [what.partition(" (")[0] for what in evidence.left_out] == [
        "image_url part",
        "file part",
        "input_audio part",
    ]


def test_a_refusal_part_is_shown_with_its_words() -> None:
    evidence = render(
        conversation(said("assistant", [{"type": "refusal", "refusal": "I can't help with that."}]))
    )
    assert lines(evidence)[0]["parts"] == [{"type": "refusal", "refusal": "I can't help with that."}]
    assert quote_stands(evidence.turns[0], "I can't help")


@pytest.mark.parametrize(
    "turn",
    [
        said("user", f"look ![x]({IMAGE}) here"),
        said("tool", json.dumps({"image": IMAGE})),
        said("tool", json.dumps({"image": IMAGE.replace("K", "\\n")})),
        said("assistant", tool_calls=[{"name": "f", "arguments": {"image": [IMAGE]}}]),
        said("tool", "x", error=IMAGE),
    ],
    ids=["text", "result", "wrapped result", "arguments", "error"],
)
def test_the_data_of_a_data_url_is_cut_out_of_any_text(turn: dict[str, Any]) -> None:
    evidence = render(conversation(turn))
    assert "iVBORw" not in evidence.text
    assert "characters not shown]" in evidence.text
    assert "base64 data (turn 1; " in evidence.left_out[0]
    assert len(lines(evidence)) == 1


def test_a_system_prompt_that_is_not_selected_keeps_its_turn_and_is_counted() -> None:
    with_policy = conversation(said("system", "Never say no."), said("user", "a"), said("developer", "More."))
    evidence = render(with_policy, EvidenceOptions(system_prompt=False))
    assert lines(evidence) == [
        {"turn": 1, "role": "system", "left_out": "system prompt, 13 characters"},
        {"turn": 2, "role": "user", "text": "a"},
        {"turn": 3, "role": "developer", "left_out": "system prompt, 5 characters"},
    ]
    assert evidence.left_out == ("system prompt (turns 1, 3; 18 characters): not selected",)
    assert not quote_stands(evidence.turns[0], "Never say no.")


def test_tool_results_that_are_not_selected_are_counted_and_their_errors_shown() -> None:
    evidence = render(
        conversation(CALL, said("tool", "x" * 99, error="Broken")), EvidenceOptions(tool_results="none")
    )
    assert lines(evidence)[1] == {
        "turn": 2,
        "role": "tool",
        "left_out": "tool result, 99 characters",
        "error": "Broken",
    }
    assert evidence.left_out == ("tool result (turn 2; 99 characters): not selected",)


def test_a_cut_tool_result_says_how_much_is_missing_and_only_the_shown_part_can_be_quoted() -> None:
    evidence = render(conversation(said("tool", "shown words" + "y" * 90)), EvidenceOptions(tool_results=11))
    assert lines(evidence)[0]["result"] == "shown words"
    assert lines(evidence)[0]["left_out"] == "the last 90 of 101 characters of the result"
    assert evidence.left_out == (
        "rest of tool result (turn 1; 90 characters): each result is cut at 11 characters",
    )
    assert quote_stands(evidence.turns[0], "shown words")
    assert not quote_stands(evidence.turns[0], "yyyyyyyyyyyyyyyyyyyy")


def test_a_result_within_the_limit_is_whole() -> None:
    assert render(conversation(RESULT), EvidenceOptions(tool_results=12)) == render(conversation(RESULT))


def test_a_limit_of_no_characters_is_refused() -> None:
    with pytest.raises(ValueError, match="1 or more"):
        EvidenceOptions(tool_results=0)


def test_many_places_are_counted_and_not_all_listed() -> None:
    turns = [said("assistant", [{"type": "reasoning", "text": "x"}, {"type": "text", "text": "y"}])] * 300
    (left_out,) = render(conversation(*turns)).left_out
    assert left_out.startswith(
        "hidden reasoning (turns 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 290 more; 300 characters)"
    )


def test_a_final_output_of_its_own_stands_at_the_end() -> None:
    turns = [said("user", "a"), said("assistant", "done")]
    assert lines(render(conversation(*turns, agent_output="report.md written")))[-1] == {
        "agent_output": "report.md written"
    }
    assert render(conversation(*turns, agent_output="done")).text == render(conversation(*turns)).text


def test_a_turns_line_words_and_argument_strings_can_be_quoted() -> None:
    evidence = render(conversation(CALL, RESULT))
    assert len(evidence.turns) == 2
    assert evidence.turns[0][1:] == ('a "b"', "deep")
    for quote in ('a "b"', 'a \\"b\\"', '"name":"find"', '{"k": "deep"}', '"n":[1,{"k":"deep"}]'):
        assert quote_stands(evidence.turns[0], quote)
    for quote in ('{"ok": true}', '{\\"ok\\": true}', '"result":"{\\"ok\\": true}"'):
        assert quote_stands(evidence.turns[1], quote)


TEXT = st.text(st.characters(codec=None))


@given(st.lists(TEXT, max_size=6))
def test_any_words_stay_in_their_turn_and_read_back(words: list[str]) -> None:
    evidence = render(conversation(*[said("user", text) for text in words]))
    assert len(evidence.text.splitlines()) == len(words) + 1
    assert [line["text"] for line in lines(evidence)] == words
    assert [turn[1] for turn in evidence.turns] == words
    assert "\u202e" not in evidence.text
