"""SWE-agent trajectories (`.traj`): `{"history", "trajectory", "info", "environment"}`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.plain import as_text, is_list, is_mapping, items, mapping, string
from adjudge.pipeline.readers.build import NotAConversationError, Notes, one_a_record
from adjudge.pipeline.readers.openai import arguments, native_messages
from adjudge.pipeline.readers.runs import failed, named, without
from adjudge.pipeline.readers.source import Source, Unreadable, first_of

name = "swe_agent"

_FAILURES = {"exit_api", "exit_environment_error", "exit_error"}
"""Ways to end that are not the agent's doing."""

_OF_MESSAGE = (
    "agent",
    "message_type",
    "thought",
    "action",
    "is_demo",
    "tool_call_ids",
    "thinking_blocks",
    "tags",
)


def recognises(value: Any) -> bool:
    """Whether the first record has a history of agents' messages, or a trajectory of actions."""
    record = mapping(first_of(value))
    history, trajectory = items(record.get("history")), items(record.get("trajectory"))
    if history:
        return all({"role", "agent"} <= mapping(message).keys() for message in history)
    return bool(trajectory) and all({"action", "observation"} <= mapping(step).keys() for step in trajectory)


def read(source: Source) -> Iterator[Conversation | Unreadable]:
    """A conversation from each record. The history counts; the trajectory repeats it.

    In files of text-only agents, what a command printed stands as the user's words: it is a tool's result
    here. Demonstrations are part of the agent's prompt and never its doing, so they are system turns.
    """
    return one_a_record(source, _fields)


def _fields(value: Any) -> dict[str, Any]:
    record = mapping(value)
    history = items(record.get("history")) or _history(items(record.get("trajectory")))
    if not history:
        raise NotAConversationError("has neither a 'history' nor a 'trajectory'")
    notes = Notes()
    turns: list[dict[str, Any]] = []
    for message in history:
        _add(message, turns, notes)
    agents = dict.fromkeys(as_text(message["agent"]) for message in history if message.get("agent"))
    if len(agents) > 1:
        notes.add(f"the work of several agents: {', '.join(agents)}")
    metadata = without(record, "history", "trajectory")
    if is_list(record.get("trajectory")) and record.get("history"):
        notes.add("the state and the times of 'trajectory' left out")
    if isinstance(record.get("replay_config"), str):
        metadata["replay_config"] = arguments(record["replay_config"], len(turns), Notes())
    problem = mapping(mapping(metadata.get("replay_config")).get("problem_statement")).get("id")
    return {
        "test": named(problem),
        "messages": native_messages(turns, notes),
        **_outcome(mapping(record.get("info"))),
        "metadata": notes.into(metadata),
    }


def _outcome(info: dict[str, Any]) -> dict[str, Any]:
    """How the run ended. SWE-agent writes while it runs: without an exit status it was cut off."""
    ended = string(info.get("exit_status"))
    error = (
        "cut off: the run has no exit status" if info and not ended else ended if ended in _FAILURES else None
    )
    return {
        "termination_reason": ended or None,
        "agent_output": string(info.get("submission")) or None,
        **failed(error),
    }


def _history(trajectory: list[Any]) -> list[dict[str, Any]]:
    """The history that a trajectory alone tells of."""
    history: list[dict[str, Any]] = []
    for step in map(mapping, trajectory):
        said = step.get("response") or step.get("thought")
        history.append({"role": "assistant", "content": said, "action": step.get("action")})
        history.append({"role": "user", "content": step.get("observation")})
    return history


def _add(message: Any, turns: list[dict[str, Any]], notes: Notes) -> None:
    """Add a message of the history to `turns`, as OpenAI's."""
    if not is_mapping(message):
        raise NotAConversationError(f"turn {len(turns) + 1}: a message of the history is no object")
    turn, role = len(turns) + 1, message.get("role")
    head = {**without(message, *_OF_MESSAGE), "role": role}
    answered = [named(identity) for identity in items(message.get("tool_call_ids"))]
    previous = turns[-1] if turns else {}
    if message.get("is_demo") is True:
        notes.add("a demonstration in the agent's prompt, shown as a system turn", turn)
        turns.append({"role": "system", "name": "demonstration", "content": message.get("content")})
    elif role == "assistant":
        turns.append({**head, "content": _thoughts(message), "tool_calls": _calls(message, turn)})
    elif role == "user" and previous.get("role") == "assistant" and previous["tool_calls"]:
        notes.add("what a command gave back, the user's in the file, is a tool's result", turn)
        turns.append({**head, "role": "tool", **_answered(mapping(previous["tool_calls"][0]))})
    elif answered:
        if len(answered) > 1:
            notes.add(f"answers the calls {', '.join(map(as_text, answered))}", turn)
        turns.append({**head, "tool_call_id": answered[0]})
    else:
        turns.append(head)


def _thoughts(message: dict[str, Any]) -> Any:
    """What the agent wrote; thoughts that are no part of it are reasoning."""
    content, thought = message.get("content"), string(message.get("thought"))
    blocks = [mapping(block) for block in items(message.get("thinking_blocks"))]
    hidden = [
        {**without(block, "thinking"), "type": "reasoning", "text": block.get("thinking")} for block in blocks
    ]
    if isinstance(content, str) and thought.strip() and thought.strip() not in content:
        hidden.append({"type": "reasoning", "text": thought})
    if not hidden:
        return content
    return [
        *hidden,
        *(content if is_list(content) else [{"type": "text", "text": content}] if content else []),
    ]


def _calls(message: dict[str, Any], turn: int) -> list[Any]:
    """The calls; where the agent only writes text, the command it wrote, named by its first word."""
    action = string(message.get("action")).strip()
    given = items(message.get("tool_calls"))
    if given or not action:
        return given
    return [{"id": f"action-{turn}", "name": action.split()[0], "arguments": {"command": action}}]


def _answered(call: dict[str, Any]) -> dict[str, Any]:
    tool = call.get("name") or mapping(call.get("function")).get("name")
    return {"tool_call_id": call.get("id"), "name": tool}
