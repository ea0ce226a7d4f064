"""tau-bench results: the trajectory, how it ended, and verdicts that stay metadata."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.readers import tau_bench
from adjudge.pipeline.readers.source import Source, Unreadable

FILE = Path(__file__).parents[1] / "data" / "readers" / "tau_bench" / "airline.json"


def real(task: int) -> Conversation:
    """The conversation of a task in the real file."""
    return next(
        c for c in tau_bench.read(Source(FILE)) if isinstance(c, Conversation) and c.test == str(task)
    )


def found(path: Path, *records: Any) -> list[Conversation | Unreadable]:
    file = path / "runs.json"
    file.write_text(json.dumps(records))
    return list(tau_bench.read(Source(file)))


def one(path: Path, **record: Any) -> Conversation:
    [conversation] = found(path, {"task_id": 0, "trial": 0, "reward": 0.0, "info": {}, "traj": [], **record})
    assert isinstance(conversation, Conversation)
    return conversation


def test_a_run_is_named_after_its_file_task_and_trial() -> None:
    runs = [run for run in tau_bench.read(Source(FILE)) if isinstance(run, Conversation)]

    assert [(run.id, run.test, run.rollout) for run in runs] == [
        ("airline-12-0", "12", 0),
        ("airline-18-0", "18", 0),
        ("airline-26-0", "26", 0),
    ]


def test_the_policy_stays_the_system_turn_and_calls_are_joined_to_results() -> None:
    run = real(12)

    assert [message.role for message in run.messages[:3]] == ["system", "user", "assistant"]
    assert [(call.name, call.arguments) for call in run.tool_calls] == [
        ("get_user_details", {"user_id": "amelia_sanchez_4739"}),
        ("get_reservation_details", {"reservation_id": "3FRNFB"}),
    ]
    assert run.tool_calls[1].result is not None
    assert '"reservation_id": "3FRNFB"' in run.tool_calls[1].result


def test_a_call_has_no_words_where_the_content_is_null() -> None:
    turn = next(message for message in real(12).messages if message.tool_calls)

    assert turn.content is None


def test_a_result_that_begins_with_error_is_a_tools_error() -> None:
    run = real(26)

    assert [call.error for call in run.tool_calls if call.error] == ["Error: payment method not found"]
    assert run.tool_errors == 1


def test_a_user_who_speaks_of_an_error_makes_none(tmp_path: Path) -> None:
    run = one(tmp_path, traj=[{"role": "user", "content": "Error: I was charged twice"}])

    assert (run.tool_errors, run.messages[0].text) == (0, "Error: I was charged twice")


def test_a_simulated_user_who_stops_is_why_it_ended_and_stays_word_for_word() -> None:
    run = real(12)

    assert run.termination_reason == "user_stop"
    assert run.messages[-1].text.endswith("###STOP###")


def test_a_run_that_ends_with_a_transfer_names_no_reason() -> None:
    run = real(18)

    assert (run.messages[-1].role, run.messages[-1].text) == ("tool", "Transfer successful")
    assert run.termination_reason is None


def test_the_reward_is_metadata_and_no_verdict() -> None:
    run = real(12)

    assert run.metadata["reward"] == 1.0
    assert run.metadata["info"]["task"]["user_id"] == "amelia_sanchez_4739"
    assert (run.statements, run.graders, run.agent_output) == ({}, None, None)


def test_a_run_that_raised_an_error_has_failed(tmp_path: Path) -> None:
    run = one(tmp_path, info={"error": "rate limit", "traceback": "..."})

    assert (run.status, run.error, run.messages) == ("failed", "rate limit", [])


def test_a_call_whose_arguments_are_no_json_keeps_their_text(tmp_path: Path) -> None:
    call = {"id": "1", "function": {"name": "book", "arguments": '{"seat": '}}
    run = one(tmp_path, traj=[{"role": "assistant", "content": "", "tool_calls": [call]}])

    assert run.tool_calls[0].arguments == '{"seat": '
    assert run.metadata["adjudge"]["notes"] == ["turn 1: a call's arguments are not JSON, kept as text"]


def test_a_call_id_that_is_used_twice_is_answered_in_order(tmp_path: Path) -> None:
    def call(name: str) -> dict[str, Any]:
        return {
            "role": "assistant",
            "tool_calls": [{"id": "same", "function": {"name": name, "arguments": "{}"}}],
        }

    def result(text: str) -> dict[str, Any]:
        return {"role": "tool", "tool_call_id": "same", "content": text}

    run = one(tmp_path, traj=[call("first"), result("one"), call("second"), result("two")])

    assert [(c.name, c.result) for c in run.tool_calls] == [("first", "one"), ("second", "two")]


def test_a_record_without_a_trajectory_is_named_with_its_line(tmp_path: Path) -> None:
    [fault] = found(tmp_path, {"task_id": 1, "reward": 0.0})

    assert str(fault).endswith("runs.json:1: 'traj' is missing or no list")
