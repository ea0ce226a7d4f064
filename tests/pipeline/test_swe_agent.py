"""SWE-agent trajectories: agents that write or call, demonstrations, submissions, runs that were cut off."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adjudge.pipeline.conversation import Conversation, Part
from adjudge.pipeline.readers import swe_agent
from adjudge.pipeline.readers.source import Source, Unreadable

DATA = Path(__file__).parents[1] / "data" / "readers" / "swe_agent"


def real(name: str) -> Conversation:
    [found] = swe_agent.read(Source(DATA / name))
    assert isinstance(found, Conversation)
    return found


def one(path: Path, **record: Any) -> Conversation:
    """The conversation of one hand-made record."""
    file = path / "run.traj"
    file.write_text(json.dumps(record))
    assert swe_agent.recognises(Source(file).first())
    [found] = swe_agent.read(Source(file))
    assert isinstance(found, Conversation), found
    return found


def notes(conversation: Conversation) -> list[str]:
    return conversation.metadata.get("adjudge", {}).get("notes", [])


def said(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, "agent": "main", **more}


def test_calls_are_joined_to_results_by_the_list_of_ids() -> None:
    run = real("function_calling_simple.traj")

    assert [(call.name, call.arguments) for call in run.tool_calls][:2] == [
        ("find_file", {"file_name": "missing_colon.py"}),
        ("open", {"path": "tests/missing_colon.py"}),
    ]
    assert all(call.result for call in run.tool_calls)
    assert notes(run) == []


def test_a_thought_that_repeats_what_was_said_is_not_said_twice() -> None:
    run = real("function_calling_simple.traj")

    assert isinstance(run.messages[2].content, str)


def test_an_observation_in_the_users_name_is_the_result_of_the_command() -> None:
    run = real("ctf_misc_networking_1.traj")

    assert [message.role for message in run.messages] == [
        *("system", "user", "assistant", "tool", "assistant", "tool", "assistant", "tool", "assistant")
    ]
    assert [call.name for call in run.tool_calls] == ["tshark", "tshark", "tshark", "submit"]
    first = run.tool_calls[0]
    assert first.arguments == {"command": "tshark -n -r networking.pcap -q -z io,phs"}
    assert first.result is not None
    assert "Protocol Hierarchy Statistics" in first.result
    assert run.tool_calls[3].result is None
    assert notes(run)[0] == (
        "turns 4, 6, 8: what a command gave back, the user's in the file, is a tool's result"
    )


def test_the_task_itself_stays_the_users_though_it_is_marked_as_an_observation() -> None:
    run = real("marshmallow-1867.traj")

    assert (run.messages[1].role, run.messages[1].text[:24]) == ("user", "We're currently solving ")


def test_a_demonstration_is_part_of_the_prompt_and_never_the_agents_doing() -> None:
    run = real("test-repo-i1.traj")

    assert (run.messages[1].role, run.messages[1].name) == ("system", "demonstration")
    assert run.messages[2].role == "user"
    assert notes(run)[0] == "turn 2: a demonstration in the agent's prompt, shown as a system turn"


def test_calls_in_a_demonstration_do_not_count(tmp_path: Path) -> None:
    run = one(
        tmp_path,
        history=[
            said("assistant", "```\nls\n```", action="ls", is_demo=True),
            said("user", "a.py", is_demo=True),
            said("user", "Now you."),
            said("assistant", "```\npwd\n```", action="pwd"),
        ],
    )

    assert [call.name for call in run.tool_calls] == ["pwd"]
    assert [message.role for message in run.messages] == ["system", "system", "user", "assistant"]


def test_how_it_ended_and_what_was_submitted_are_kept() -> None:
    run = real("ctf_misc_networking_1.traj")

    assert (run.status, run.termination_reason) == ("completed", "submitted")
    assert run.agent_output == "flag{d316759c281bf925d600be698a4973d5}"
    assert run.metadata["info"]["model_stats"]["api_calls"] == 0
    assert "the state and the times of 'trajectory' left out" in notes(run)


def test_the_test_is_the_problem_also_where_the_configuration_is_encoded_twice(tmp_path: Path) -> None:
    config = json.dumps({"problem_statement": {"id": "repo__issue-1"}})
    run = one(tmp_path, history=[said("user", "Solve it.")], replay_config=config)

    assert real("marshmallow-1867.traj").test == "marshmallow-code__marshmallow-1867"
    assert run.test == "repo__issue-1"
    assert run.metadata["replay_config"] == {"problem_statement": {"id": "repo__issue-1"}}


@pytest.mark.parametrize(
    ("ended", "status"),
    [
        ("submitted (exit_cost)", "completed"),
        ("exit_cost", "completed"),
        ("exit_context", "completed"),
        ("exit_api", "failed"),
        ("exit_environment_error", "failed"),
        ("exit_error", "failed"),
    ],
)
def test_a_limit_leaves_a_run_complete_and_a_broken_environment_does_not(
    tmp_path: Path, ended: str, status: str
) -> None:
    run = one(tmp_path, history=[said("user", "x")], info={"exit_status": ended})

    assert (run.status, run.termination_reason) == (status, ended)


@pytest.mark.parametrize("info", [{"exit_status": None}, {"model_stats": {"api_calls": 3}}])
def test_a_run_without_an_exit_status_was_cut_off(tmp_path: Path, info: dict[str, Any]) -> None:
    run = one(tmp_path, history=[said("user", "x")], info=info)

    assert (run.status, run.error) == ("failed", "cut off: the run has no exit status")


def test_a_file_without_any_info_is_not_said_to_be_cut_off() -> None:
    assert real("function_calling_simple.traj").status == "completed"


def test_hidden_thinking_is_reasoning(tmp_path: Path) -> None:
    blocks = [{"type": "thinking", "thinking": "Hm.", "signature": "s"}]
    message = said("assistant", "I look.", thought="A plan apart.", thinking_blocks=blocks)
    run = one(tmp_path, history=[message])

    assert run.messages[0].content == [
        Part.model_validate({"type": "reasoning", "signature": "s", "text": "Hm."}),
        Part(type="reasoning", text="A plan apart."),
        Part(type="text", text="I look."),
    ]


def test_one_observation_of_several_calls_answers_the_first_and_names_the_others(tmp_path: Path) -> None:
    calls = [{"id": name, "function": {"name": name, "arguments": "{}"}} for name in ("a", "b")]
    run = one(
        tmp_path,
        history=[
            said("assistant", "both", tool_calls=calls),
            said("tool", "done", tool_call_ids=["a", "b"]),
        ],
    )

    assert [(call.name, call.result) for call in run.tool_calls] == [("a", "done"), ("b", None)]
    assert notes(run) == ["turn 2: answers the calls a, b"]


def test_several_agents_are_named(tmp_path: Path) -> None:
    run = one(tmp_path, history=[said("user", "x"), {**said("assistant", "y"), "agent": "reviewer"}])

    assert notes(run) == ["the work of several agents: main, reviewer"]


def test_a_trajectory_alone_is_read_as_what_was_done(tmp_path: Path) -> None:
    steps = [
        {"action": "ls\n", "observation": "a.py", "response": "I look.\n```\nls\n```", "thought": "I look."},
        {"action": "submit", "observation": "", "response": "Done.", "thought": "Done."},
    ]
    run = one(tmp_path, trajectory=steps)

    assert [(call.name, call.result) for call in run.tool_calls] == [("ls", "a.py"), ("submit", "")]
    assert run.messages[0].text == "I look.\n```\nls\n```"


def test_a_record_with_neither_is_named_with_its_reason(tmp_path: Path) -> None:
    file = tmp_path / "run.traj"
    file.write_text('{"history": [], "info": {}}')
    [fault] = swe_agent.read(Source(file))

    assert isinstance(fault, Unreadable)
    assert fault.reason == "has neither a 'history' nor a 'trajectory'"
