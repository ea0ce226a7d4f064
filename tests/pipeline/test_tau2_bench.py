"""tau2-bench results: two layouts, whose tools were called, and verdicts that stay metadata."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adjudge.pipeline.conversation import Conversation, Part
from adjudge.pipeline.evidence import render
from adjudge.pipeline.readers import tau2_bench
from adjudge.pipeline.readers.source import Source, Unreadable

DATA = Path(__file__).parents[1] / "data" / "readers" / "tau2_bench"
VOICE = "49b22f0c-4a56-41c5-922f-bc2a56e53a23"


def read(file: Path) -> list[Conversation | Unreadable]:
    return list(tau2_bench.read(Source(file)))


def conversations(file: Path) -> list[Conversation]:
    found = read(file)
    assert not [fault for fault in found if isinstance(fault, Unreadable)]
    return [run for run in found if isinstance(run, Conversation)]


def one(path: Path, **fields: Any) -> Conversation:
    """The conversation of one hand-made simulation."""
    simulation = {"id": "s", "task_id": "t", "start_time": "", "termination_reason": "user_stop", **fields}
    file = path / "simulation.json"
    file.write_text(json.dumps(simulation))
    [found] = conversations(file)
    return found


def notes(conversation: Conversation) -> list[str]:
    return conversation.metadata.get("adjudge", {}).get("notes", [])


def parts(conversation: Conversation, turn: int) -> list[tuple[str, str | None]]:
    content = conversation.messages[turn - 1].content
    assert isinstance(content, list)
    return [(part.type, part.text) for part in content]


def test_a_simulation_keeps_its_id_task_and_trial() -> None:
    [run] = conversations(DATA / "healthcare.json")

    assert run.id == "590ad242-06b1-4201-ba72-cc8a53eb1b83"
    assert (run.test, run.rollout) == ("[crear_sic]refraccion_ges_valida[PERSONA:None]", 0)
    assert (run.status, run.termination_reason) == ("completed", "user_stop")


def test_the_policy_is_the_first_turn_and_said_to_be_only_part_of_the_prompt() -> None:
    [run] = conversations(DATA / "healthcare.json")

    assert run.messages[0].role == "system"
    assert run.messages[0].text.startswith("# Política del Agente de Interconsultas")
    assert notes(run)[0] == (
        "turn 1: the policy of the run; what the agent was told around it is not in the file"
    )
    assert "policy" not in run.metadata["run"]["environment_info"]


def test_messages_keep_their_times_and_results_are_joined_by_the_calls_id() -> None:
    [run] = conversations(DATA / "healthcare.json")

    assert run.messages[1].timestamp == "2026-04-06T20:15:37.201161"
    assert run.messages[4].tool_call_id == "call_7f474e99"
    assert run.tool_calls[0].name == "identificar_medico"
    assert run.tool_calls[0].arguments == {"rut": "12345678-9"}
    assert all(call.result for call in run.tool_calls)


def test_judged_assertions_and_rewards_are_metadata_and_no_verdicts() -> None:
    run = conversations(DATA / "ecommerce.json")[1]

    [assertion] = run.metadata["reward_info"]["nl_assertions"]
    assert assertion["met"] is False
    assert run.metadata["task"]["id"] == run.test
    assert (run.statements, run.graders) == ({}, None)


def test_mojibake_stays_as_it_is() -> None:
    run = conversations(DATA / "ecommerce.json")[0]

    [assertion] = run.metadata["reward_info"]["nl_assertions"]
    assert "estÃ¡ en estado" in assertion["nl_assertion"]


def test_what_repeats_or_counts_is_noted_as_left_out() -> None:
    [run] = conversations(DATA / "healthcare.json")

    assert [note.split(": ")[1] for note in notes(run)[1:]] == [
        "'cost' left out",
        "'usage' left out",
        "'raw_data' left out",
    ]


def test_a_folder_of_simulations_is_read_through_its_results_file() -> None:
    [run] = conversations(DATA / "voice" / "results.json")

    assert (run.id, run.test) == (VOICE, "40")
    assert run.metadata["run"]["audio_native_config"]["model"] == "gpt-realtime-2"


def test_ticks_without_words_are_incomplete_evidence() -> None:
    [run] = conversations(DATA / "voice" / "simulations" / f"{VOICE}.json")

    assert (run.messages, run.agent_pov_incomplete) == ([], True)
    assert notes(run) == ["nothing that was said is in the file"]


def test_a_results_file_without_simulations_says_where_they_should_be(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    file.write_text((DATA / "voice" / "results.json").read_text())
    [fault] = read(file)

    assert isinstance(fault, Unreadable)
    assert fault.reason == "holds no simulations, and there is no folder 'simulations' with them beside it"


def test_a_broken_file_of_a_folder_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    (tmp_path / "simulations").mkdir()
    (tmp_path / "results.json").write_text((DATA / "voice" / "results.json").read_text())
    (tmp_path / "simulations" / "a.json").write_text('{"id": "a"')
    good = (DATA / "voice" / "simulations" / f"{VOICE}.json").read_text()
    (tmp_path / "simulations" / "b.json").write_text(good)
    fault, run = read(tmp_path / "results.json")

    assert isinstance(fault, Unreadable)
    assert fault.file == str(tmp_path / "simulations" / "a.json")
    assert isinstance(run, Conversation)


def test_a_list_of_tasks_is_no_conversation(tmp_path: Path) -> None:
    file = tmp_path / "tasks.json"
    file.write_text(json.dumps([{"id": "0", "user_scenario": {}, "evaluation_criteria": {}}]))
    [fault] = read(file)

    assert not tau2_bench.recognises(Source(file).first())
    assert isinstance(fault, Unreadable)
    assert fault.reason == "neither the results of a run nor one of its simulations"


TOGGLE = {"id": "u1", "name": "toggle_airplane_mode", "arguments": {"on": False}, "requestor": "user"}


@pytest.fixture
def phone(tmp_path: Path) -> Conversation:
    """A user who uses tools of their own beside an agent who does."""
    return one(
        tmp_path,
        messages=[
            {"role": "assistant", "content": "Please turn airplane mode off."},
            {"role": "user", "content": None, "tool_calls": [TOGGLE]},
            {
                "role": "tool",
                "id": "u1",
                "requestor": "user",
                "content": "Airplane mode is off",
                "error": False,
            },
            {"role": "user", "content": None, "tool_calls": [{**TOGGLE, "id": "u2", "name": "reboot"}]},
            {"role": "tool", "id": "u2", "requestor": "user", "content": "Error: no battery", "error": True},
            {"role": "assistant", "tool_calls": [{"id": "a1", "name": "look_up", "arguments": {}}]},
            {
                "role": "tool",
                "id": "a1",
                "requestor": "assistant",
                "content": "Error: no line",
                "error": True,
            },
        ],
    )


def test_the_agent_is_not_credited_with_what_the_users_tools_did(phone: Conversation) -> None:
    assert [(call.name, call.error) for call in phone.tool_calls] == [("look_up", "Error: no line")]
    assert phone.tool_errors == 1


def test_a_users_calls_and_results_are_parts_of_the_users_turns(phone: Conversation) -> None:
    assert [message.role for message in phone.messages] == [
        *("assistant", "user", "user", "user", "user", "assistant", "tool")
    ]
    assert parts(phone, 2) == [("user_tool_call", '{"on":false}')]
    assert parts(phone, 3) == [("user_tool_result", "Airplane mode is off")]
    assert parts(phone, 5) == [("user_tool_error", "Error: no battery")]
    assert notes(phone) == [
        "turns 2, 4: tools that the user called, not the agent, are parts of the user's turn",
        "turns 3, 5: what a tool gave the user, not the agent, is the user's turn",
    ]


def test_a_judge_sees_what_the_user_did_with_which_tool(phone: Conversation) -> None:
    evidence = render(phone)

    assert (
        '{"type":"user_tool_call","text":"{\\"on\\":false}","name":"toggle_airplane_mode"}' in evidence.text
    )
    assert '"name":"toggle_airplane_mode"' in evidence.text.splitlines()[3]


def test_a_message_with_several_results_is_a_turn_for_each(tmp_path: Path) -> None:
    calls: list[Any] = [{"id": str(n), "name": f"f{n}", "arguments": {}} for n in (1, 2)]
    results = [{"role": "tool", "id": str(n), "content": f"r{n}"} for n in (2, 1)]
    run = one(
        tmp_path,
        messages=[
            {"role": "assistant", "tool_calls": calls},
            {"role": "tool", "tool_messages": results},
        ],
    )

    assert [(call.name, call.result) for call in run.tool_calls] == [("f1", "r1"), ("f2", "r2")]


def test_reasoning_in_the_raw_reply_is_kept_as_reasoning(tmp_path: Path) -> None:
    raw = {"message": {"content": "Hi", "reasoning_content": "They greet me."}}
    run = one(tmp_path, messages=[{"role": "assistant", "content": "Hi", "raw_data": raw}])

    assert run.messages[0].content == [
        Part(type="reasoning", text="They greet me."),
        Part(type="text", text="Hi"),
    ]


def test_audio_in_place_of_text_is_a_part_named_by_what_was_said(tmp_path: Path) -> None:
    run = one(
        tmp_path,
        messages=[{"role": "user", "content": "UklGRg==", "is_audio": True, "audio_script_gold": "Hello?"}],
    )

    assert parts(run, 1) == [("audio", None)]
    assert '{"type":"audio","transcript":"Hello?"}' in render(run).text
    assert "UklGRg" not in render(run).text


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("max_steps", "completed"),
        ("timeout", "completed"),
        ("too_many_errors", "completed"),
        ("agent_error", "completed"),
        ("user_error", "failed"),
        ("infrastructure_error", "failed"),
        ("unexpected_error", "failed"),
        ("context_window_exceeded", "failed"),
    ],
)
def test_a_limit_leaves_a_run_complete_and_a_broken_harness_does_not(
    tmp_path: Path, reason: str, status: str
) -> None:
    said = [{"role": "user", "content": "hi"}]
    run = one(tmp_path, messages=said, termination_reason=reason, reward_info=None)

    assert (run.status, run.termination_reason) == (status, reason)
    assert run.error == (reason if status == "failed" else None)


def test_what_the_harness_says_about_its_error_is_the_error(tmp_path: Path) -> None:
    said = [{"role": "user", "content": "hi"}]
    run = one(
        tmp_path,
        messages=said,
        termination_reason="infrastructure_error",
        info={"error": "503 from the model"},
    )

    assert run.error == "infrastructure_error: 503 from the model"


def test_speech_in_ticks_is_a_message_as_long_as_it_goes_on(tmp_path: Path) -> None:
    def tick(at: int, agent: str = "", user: str = "", **more: Any) -> dict[str, Any]:
        chunks = {"agent_chunk": {"content": agent or None}, "user_chunk": {"content": user or None}}
        return {"tick_id": at, "timestamp": f"t{at}", **chunks, **more}

    call = {"id": "1", "name": "look_up", "arguments": {"q": 1}}
    run = one(
        tmp_path,
        mode="full_duplex",
        ticks=[
            tick(0, agent="How can "),
            tick(1, agent="I help?", user="My "),
            tick(2, user="order."),
            tick(
                3,
                agent_tool_calls=[call],
                agent_tool_results=[{"role": "tool", "id": "1", "content": "found"}],
            ),
            tick(4, agent="Found it."),
        ],
    )

    assert [(m.role, m.text, m.timestamp) for m in run.messages] == [
        ("assistant", "How can I help?", "t0"),
        ("user", "My order.", "t1"),
        ("assistant", "", "t3"),
        ("tool", "found", None),
        ("assistant", "Found it.", "t4"),
    ]
    assert [(c.name, c.result) for c in run.tool_calls] == [("look_up", "found")]
