"""ATIF trajectories (Harbor's RFC 0001, `ATIF-v1.x`): steps with their tool calls and observations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.plain import as_text, is_list, items, kind_of, mapping, string
from adjudge.pipeline.readers.build import NotAConversationError, Notes, one_a_record
from adjudge.pipeline.readers.openai import native_messages
from adjudge.pipeline.readers.runs import named, without
from adjudge.pipeline.readers.source import Source, Unreadable, first_of
from adjudge.pipeline.readers.turns import media_part

name = "atif"

_ROLES = {"system": "system", "user": "user", "agent": "assistant"}
_OF_STEP = (
    "step_id",
    "source",
    "message",
    "tool_calls",
    "observation",
    "is_copied_context",
    "llm_call_count",
)
_OF_RESULT = ("source_call_id", "content", "subagent_trajectory_ref", "extra")


def recognises(value: Any) -> bool:
    """Whether the first record calls itself a version of ATIF and has steps."""
    record = mapping(first_of(value))
    return string(record.get("schema_version")).startswith("ATIF") and is_list(record.get("steps"))


def read(source: Source) -> Iterator[Conversation | Unreadable]:
    """A conversation from each trajectory; the steps of nested ones stay in the metadata."""
    return one_a_record(source, _fields)


def _fields(value: Any) -> dict[str, Any]:
    trajectory = mapping(value)
    if not is_list(trajectory.get("steps")):
        raise NotAConversationError("'steps' is missing or no list")
    notes = Notes()
    turns: list[dict[str, Any]] = []
    for step in trajectory["steps"]:
        _add(mapping(step), turns, notes)
    for nested in map(mapping, items(trajectory.get("subagent_trajectories"))):
        name = as_text(nested.get("trajectory_id"))
        notes.add(f"the steps of the nested trajectory {name!r} are in the metadata, not shown")
    follows = trajectory.get("continued_trajectory_ref")
    if follows:
        notes.add(f"goes on in {as_text(follows)!r}, which is not part of this file")
    identity = named(trajectory.get("trajectory_id")) or named(trajectory.get("session_id"))
    return {
        **({} if identity is None else {"id": identity}),
        "messages": native_messages(turns, notes),
        **({"agent_pov_incomplete": True} if follows else {}),
        "metadata": notes.into(without(trajectory, "steps", "trajectory_id")),
    }


def _add(step: dict[str, Any], turns: list[dict[str, Any]], notes: Notes) -> None:
    """Add a step to `turns`, as OpenAI messages: what was said and called, then what came back."""
    turn = len(turns) + 1
    role = _ROLES.get(string(step.get("source")))
    if role is None:
        said = kind_of(step.get("source"))
        raise NotAConversationError(f"turn {turn}: 'source' must be 'system', 'user' or 'agent', not {said}")
    if step.get("is_copied_context") is True:
        notes.add("copied from an earlier trajectory", turn)
    if step.get("llm_call_count") == 0:
        notes.add("done by the agent's program, no model was asked", turn)
    calls = [mapping(call) for call in items(step.get("tool_calls"))]
    turns.append(
        {
            **without(step, *_OF_STEP),
            "role": role,
            "content": _content(step.get("message")),
            "tool_calls": [_call(call, turn, notes) for call in calls],
        }
    )
    tools = {as_text(call.get("tool_call_id")): call.get("function_name") for call in calls}
    for result in map(mapping, items(mapping(step.get("observation")).get("results"))):
        identity = result.get("source_call_id")
        turns.append(
            {
                **without(result, *_OF_RESULT),
                **_outcome(result),
                "role": "tool",
                "name": tools.get(as_text(identity)),
                "tool_call_id": identity,
                "timestamp": step.get("timestamp"),
            }
        )


def _call(call: dict[str, Any], turn: int, notes: Notes) -> dict[str, Any]:
    if call.get("extra"):
        notes.add("'extra' of a call left out", turn)
    named_so = call.get("function_name")
    return {"id": call.get("tool_call_id"), "name": named_so, "arguments": call.get("arguments")}


def _content(content: Any) -> Any:
    return [_part(part) for part in content] if is_list(content) else content


def _part(part: Any) -> Any:
    """A part; of an image or a recording where it lies and what kind it is, since only its name is shown."""
    file = mapping(mapping(part).get("source"))
    if not file:
        return part
    return {
        **media_part(file.get("media_type"), filename=file.get("path")),
        "type": as_text(part.get("type")),
    }


def _outcome(result: dict[str, Any]) -> dict[str, Any]:
    """What came back, as an error where converters mark it so: ATIF itself has no word for one."""
    content, extra = _result(result), mapping(result.get("extra"))
    if extra.get("is_error") is not True or not isinstance(content, str):
        return {"content": content, "extra": extra}
    return {"content": None, "error": content, "extra": without(extra, "is_error")}


def _result(result: dict[str, Any]) -> Any:
    """What came back; nested trajectories that did the work are named."""
    nested = [
        {"type": "trajectory", "name": one.get("trajectory_id") or one.get("trajectory_path")}
        for one in map(mapping, items(result.get("subagent_trajectory_ref")))
    ]
    content = _content(result.get("content"))
    if not nested:
        return content
    if is_list(content):
        return [*content, *nested]
    return [*([] if content is None else [{"type": "text", "text": content}]), *nested]
