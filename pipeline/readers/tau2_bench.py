"""tau2-bench results: one file with its `simulations`, or `results.json` with a folder of them beside it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from adjudge.judges.failure import UsageError
from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.plain import as_text, is_list, is_mapping, items, mapping, string
from adjudge.pipeline.readers.build import NotAConversationError, Notes
from adjudge.pipeline.readers.openai import native_messages
from adjudge.pipeline.readers.runs import failed, named, one_a_run, whole, without
from adjudge.pipeline.readers.source import Record, Source, Unreadable, first_of

name = "tau2_bench"

_FAILURES = {"infrastructure_error", "unexpected_error", "context_window_exceeded", "user_error"}
"""Reasons why a simulation ended that are the harness's or the simulated user's, not the agent's."""

_READ = ("id", "role", "content", "tool_calls", "requestor", "error", "turn_idx", "tool_messages", "is_audio")


def recognises(value: Any) -> bool:
    """Whether the first record is a run's results or one of its simulations."""
    record = mapping(first_of(value))
    is_run = "simulations" in record or "environment_info" in mapping(record.get("info"))
    return _is_simulation(record) or (is_run and {"info", "tasks"} <= record.keys())


def read(source: Source) -> Iterator[Conversation | Unreadable]:
    """A conversation from each simulation. Rewards and judged assertions stay in the metadata.

    What only the simulated user's tools did is part of the user's turns: the agent is not credited with it.
    """
    for record in source.records():
        if isinstance(record, Record):
            yield from _of_record(source, record)
        else:
            yield record


def _of_record(source: Source, record: Record) -> Iterator[Conversation | Unreadable]:
    results = mapping(record.value)
    if _is_simulation(results):
        yield from one_a_run(source, record.line, [results], partial(_fields, {}))
        return
    if not {"info", "tasks"} <= results.keys():
        yield source.unreadable(record.line, "neither the results of a run nor one of its simulations")
        return
    convert = partial(_fields, results)
    simulations = items(results.get("simulations"))
    if simulations:
        yield from one_a_run(source, record.line, simulations, convert)
        return
    paths = sorted((source.path.parent / "simulations").glob("*.json"))
    if not paths:
        reason = "holds no simulations, and there is no folder 'simulations' with them beside it"
        yield source.unreadable(record.line, reason)
    for path in paths:
        try:
            file = Source(path)
        except UsageError as error:
            yield source.unreadable(None, str(error))
            continue
        for part in file.records():
            if isinstance(part, Record):
                yield from one_a_run(file, part.line, [part.value], convert)
            else:
                yield part


def _is_simulation(record: dict[str, Any]) -> bool:
    kept = is_list(record.get("messages")) or is_list(record.get("ticks"))
    return kept and {"id", "task_id", "termination_reason", "start_time"} <= record.keys()


def _fields(results: dict[str, Any], value: Any) -> dict[str, Any]:
    simulation = mapping(value)
    if not any(is_list(simulation.get(key)) for key in ("messages", "ticks")):
        raise NotAConversationError("a simulation has neither 'messages' nor 'ticks'")
    spoken = items(simulation.get("messages")) or _of_ticks(items(simulation.get("ticks")))
    notes = Notes()
    incomplete = None if spoken else True
    if not spoken:
        notes.add("nothing that was said is in the file")
    turns = _turns(spoken, _policy(results, simulation), notes)
    ended = string(simulation.get("termination_reason"))
    said = string(mapping(simulation.get("info")).get("error"))
    identity = named(simulation.get("id"))
    return {
        **({} if identity is None else {"id": identity}),
        "test": named(simulation.get("task_id")),
        "rollout": whole(simulation.get("trial")),
        "messages": native_messages(turns, notes),
        "termination_reason": ended or None,
        **(failed(": ".join(filter(None, [ended, said]))) if ended in _FAILURES else {}),
        "agent_pov_incomplete": incomplete,
        "metadata": notes.into(_metadata(results, simulation)),
    }


def _metadata(results: dict[str, Any], simulation: dict[str, Any]) -> dict[str, Any]:
    """What is kept beside the messages: the rest of the simulation, its task, and how the run was set up."""
    task = next((task for task in items(results.get("tasks")) if _is_of(task, simulation)), None)
    info = mapping(results.get("info"))
    setup = {**info, "environment_info": without(mapping(info.get("environment_info")), "policy")}
    return {
        **without(simulation, "id", "messages", "ticks", "task_id", "trial", "policy"),
        **({} if task is None else {"task": task}),
        **({"run": setup} if info else {}),
    }


def _is_of(task: Any, simulation: dict[str, Any]) -> bool:
    return is_mapping(task) and task.get("id") == simulation.get("task_id")


def _policy(results: dict[str, Any], simulation: dict[str, Any]) -> str:
    """What the agent was told to keep to: part of its system prompt, which no message has."""
    environment = mapping(mapping(results.get("info")).get("environment_info"))
    return string(simulation.get("policy")) or string(environment.get("policy"))


def _turns(spoken: list[Any], policy: str, notes: Notes) -> list[dict[str, Any]]:
    """The messages of a simulation as OpenAI's, the policy before them."""
    turns: list[dict[str, Any]] = []
    if policy and mapping(spoken[0] if spoken else None).get("role") != "system":
        turns.append({"role": "system", "content": policy})
        notes.add("the policy of the run; what the agent was told around it is not in the file", 1)
    called: dict[str, str] = {}
    for value in spoken:
        for message in _flat(value):
            turns.append(_turn(message, len(turns) + 1, called, notes))
    return turns


def _flat(value: Any) -> list[dict[str, Any]]:
    """One message, or the several results that one holds."""
    if not is_mapping(value):
        raise NotAConversationError("a message of a simulation is no object")
    return [mapping(inner) for inner in items(value.get("tool_messages"))] or [value]


def _turn(message: dict[str, Any], turn: int, called: dict[str, str], notes: Notes) -> dict[str, Any]:
    raw = mapping(mapping(message.get("raw_data")).get("message"))
    rest = {**without(message, *_READ), "reasoning_content": raw.get("reasoning_content")}
    role, said = message.get("role"), message.get("content")
    if message.get("is_audio") is True:
        said = [{"type": "audio", "transcript": message.get("audio_script_gold")}]
    if role == "tool":
        return {**rest, **_result(message, turn, called, notes)}
    calls = items(message.get("tool_calls"))
    if role != "user" or not calls:
        return {**rest, "role": role, "content": said, "tool_calls": calls}
    notes.add("tools that the user called, not the agent, are parts of the user's turn", turn)
    parts = [{"type": "text", "text": said}] if said else []
    for call in map(mapping, calls):
        called[as_text(call.get("id"))] = string(call.get("name"))
        parts.append(_user_part("user_tool_call", string(call.get("name")), call.get("arguments")))
    return {**rest, "role": role, "content": parts}


def _result(message: dict[str, Any], turn: int, called: dict[str, str], notes: Notes) -> dict[str, Any]:
    identity, said = message.get("id"), message.get("content")
    fault = message.get("error") is True
    if message.get("requestor") == "user":
        notes.add("what a tool gave the user, not the agent, is the user's turn", turn)
        kind = "user_tool_error" if fault else "user_tool_result"
        return {"role": "user", "content": [_user_part(kind, called.get(as_text(identity), ""), said)]}
    error = (as_text(said) if said else "the tool failed without a message") if fault else None
    return {"role": "tool", "tool_call_id": identity, "content": None if fault else said, "error": error}


def _user_part(kind: str, tool: str, said: Any) -> dict[str, Any]:
    return {"type": kind, "name": tool, "text": as_text(said)}


def _of_ticks(ticks: list[Any]) -> list[dict[str, Any]]:
    """The messages of a full-duplex simulation, by when they begin: what one side says on end is one of them.

    Both sides may speak at once, so a message goes on as long as every tick adds to it.
    """
    found: list[dict[str, Any]] = []
    speaking: dict[str, dict[str, Any]] = {}
    for tick in map(mapping, ticks):
        for role, side in (("assistant", "agent"), ("user", "user")):
            at = {"role": role, "timestamp": tick.get("timestamp")}
            chunk = mapping(tick.get(f"{side}_chunk"))
            words = "" if chunk.get("is_audio") is True else string(chunk.get("content"))
            calls = items(tick.get(f"{side}_tool_calls"))
            if words and role in speaking:
                speaking[role]["content"] += words
            elif words:
                speaking[role] = {**at, "content": words}
                found.append(speaking[role])
            if calls:
                found.append({**at, "tool_calls": calls})
            if calls or not words:
                speaking.pop(role, None)
            found += items(tick.get(f"{side}_tool_results"))
    return found
