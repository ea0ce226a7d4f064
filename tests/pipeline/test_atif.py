"""ATIF trajectories: steps as turns, results of the same step, nested ones, copied context and media."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.evidence import render
from adjudge.pipeline.readers import atif
from adjudge.pipeline.readers.source import Source, Unreadable

DATA = Path(__file__).parents[1] / "data" / "readers" / "atif"


def real(name: str) -> Conversation:
    [found] = atif.read(Source(DATA / name))
    assert isinstance(found, Conversation)
    return found


def read(path: Path, *steps: Any, **fields: Any) -> Conversation | Unreadable:
    """What is made of one hand-made trajectory."""
    file = path / "run.json"
    file.write_text(json.dumps({"schema_version": "ATIF-v1.7", "agent": {}, "steps": steps, **fields}))
    [found] = atif.read(Source(file))
    return found


def one(path: Path, *steps: Any, **fields: Any) -> Conversation:
    found = read(path, *steps, **fields)
    assert isinstance(found, Conversation), found
    return found


def notes(conversation: Conversation) -> list[str]:
    return conversation.metadata.get("adjudge", {}).get("notes", [])


def call(identity: str, tool: str = "f") -> dict[str, Any]:
    return {"tool_call_id": identity, "function_name": tool, "arguments": {}}


def test_an_agents_step_is_its_turn_and_one_for_each_result() -> None:
    run = real("tau_airline_26.trajectory.json")

    assert run.id == "tau-airline-26"
    assert [message.role for message in run.messages[:4]] == ["system", "user", "assistant", "user"]
    assert {call.name for call in run.tool_calls[:2]} == {"get_reservation_details"}
    assert all(call.result is not None for call in run.tool_calls)


def test_a_result_that_is_marked_as_an_error_is_one() -> None:
    run = real("tau_airline_26.trajectory.json")

    assert [call.error for call in run.tool_calls if call.error] == ["Error: payment method not found"]
    assert notes(run) == []


def test_the_reward_stays_metadata() -> None:
    run = real("tau_airline_26.trajectory.json")

    assert run.metadata["extra"] == {"reward": 1.0}
    assert (run.statements, run.graders) == ({}, None)


def test_reasoning_is_kept_and_not_shown() -> None:
    run = real("swe_function_calling_simple.trajectory.json")

    content = run.messages[2].content
    assert isinstance(content, list)
    assert [part.type for part in content] == ["reasoning", "text"]
    assert 'left_out":["hidden reasoning (turns 3, 5, 7, 9, 11;' in render(run).text


def test_a_trajectory_without_an_id_is_named_after_its_file() -> None:
    assert real("swe_function_calling_simple.trajectory.json").id == (
        "swe_function_calling_simple.trajectory-1"
    )


def test_the_id_of_a_document_goes_before_that_of_a_session_which_others_share(tmp_path: Path) -> None:
    assert one(tmp_path, trajectory_id="t", session_id="s").id == "t"
    assert one(tmp_path, session_id="s").id == "s"


def test_parallel_calls_are_joined_to_results_in_another_order(tmp_path: Path) -> None:
    results = [{"source_call_id": "b", "content": "B"}, {"source_call_id": "a", "content": "A"}]
    run = one(
        tmp_path,
        {
            "source": "agent",
            "message": "",
            "tool_calls": [call("a", "first"), call("b", "second")],
            "observation": {"results": results},
            "timestamp": "2026-01-01T10:00:00Z",
        },
    )

    assert [(c.name, c.result) for c in run.tool_calls] == [("first", "A"), ("second", "B")]
    assert [message.name for message in run.messages] == [None, "second", "first"]
    assert {message.timestamp for message in run.messages} == {"2026-01-01T10:00:00Z"}


def test_what_comes_back_without_a_call_is_a_tools_turn(tmp_path: Path) -> None:
    step = {"source": "system", "message": "Compacted.", "observation": {"results": [{"content": "done"}]}}
    run = one(tmp_path, step)

    assert [(m.role, m.text, m.tool_call_id) for m in run.messages] == [
        ("system", "Compacted.", None),
        ("tool", "done", None),
    ]


def test_images_and_recordings_are_named_by_kind_and_place(tmp_path: Path) -> None:
    parts = [
        {"type": "text", "text": "Look:"},
        {"type": "image", "source": {"media_type": "image/png", "path": "images/a.png"}},
        {"type": "audio", "source": {"media_type": "audio/wav", "path": "a.wav"}},
    ]
    run = one(tmp_path, {"source": "user", "message": parts})

    assert json.loads(render(run).text.splitlines()[1])["parts"] == [
        "Look:",
        {"type": "image", "filename": "images/a.png", "media_type": "image/png"},
        {"type": "audio", "filename": "a.wav", "media_type": "audio/wav"},
    ]


def test_a_nested_trajectory_is_named_in_the_result_and_kept_in_the_metadata(tmp_path: Path) -> None:
    child = {"trajectory_id": "child", "steps": [{"source": "user", "message": "hi"}]}
    run = one(
        tmp_path,
        {
            "source": "agent",
            "message": "I delegate.",
            "tool_calls": [call("a")],
            "observation": {
                "results": [{"source_call_id": "a", "subagent_trajectory_ref": [{"trajectory_id": "child"}]}]
            },
        },
        subagent_trajectories=[child],
    )

    assert json.loads(render(run).text.splitlines()[2])["parts"] == [{"type": "trajectory", "name": "child"}]
    assert run.metadata["subagent_trajectories"] == [child]
    assert notes(run) == ["the steps of the nested trajectory 'child' are in the metadata, not shown"]


def test_copied_context_and_steps_without_a_model_are_noted(tmp_path: Path) -> None:
    run = one(
        tmp_path,
        {"source": "user", "message": "hi", "is_copied_context": True},
        {"source": "agent", "message": "menu", "llm_call_count": 0},
    )

    assert notes(run) == [
        "turn 1: copied from an earlier trajectory",
        "turn 2: done by the agent's program, no model was asked",
    ]


def test_a_trajectory_that_goes_on_elsewhere_is_incomplete(tmp_path: Path) -> None:
    run = one(tmp_path, continued_trajectory_ref="next.json")

    assert run.agent_pov_incomplete is True
    assert notes(run) == ["goes on in 'next.json', which is not part of this file"]


def test_metrics_and_other_bookkeeping_are_noted_as_left_out(tmp_path: Path) -> None:
    step = {"source": "agent", "message": "hi", "metrics": {"cost_usd": 1}, "model_name": "m", "step_id": 1}
    run = one(tmp_path, {**step, "tool_calls": [{**call("a"), "extra": {"timeout": 1}}]})

    assert notes(run) == [
        "turn 1: 'extra' of a call left out",
        "turn 1: 'metrics' left out",
        "turn 1: 'model_name' left out",
    ]


@pytest.mark.parametrize("source", [None, "tool", 3])
def test_a_step_of_nobody_is_named_with_its_turn(tmp_path: Path, source: Any) -> None:
    fault = read(tmp_path, {"source": "user", "message": "hi"}, {"source": source, "message": "x"})

    assert isinstance(fault, Unreadable)
    assert fault.reason.startswith("turn 2: 'source' must be 'system', 'user' or 'agent', not ")
