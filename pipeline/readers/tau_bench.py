"""tau-bench results: a list of `{"task_id", "trial", "reward", "info", "traj"}`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.plain import is_list, mapping, string
from adjudge.pipeline.readers.build import NotAConversationError, Notes, one_a_record
from adjudge.pipeline.readers.openai import native_messages
from adjudge.pipeline.readers.runs import failed, repeat_of, without
from adjudge.pipeline.readers.source import Source, Unreadable, first_of

name = "tau_bench"

_STOP = "###STOP###"


def recognises(value: Any) -> bool:
    """Whether the first record has a trajectory, a task and a reward."""
    record = mapping(first_of(value))
    return is_list(record.get("traj")) and {"task_id", "reward"} <= record.keys()


def read(source: Source) -> Iterator[Conversation | Unreadable]:
    """A conversation from each run. The reward is a program's verdict: it stays in the metadata."""
    return one_a_record(source, partial(_fields, source))


def _fields(source: Source, value: Any) -> dict[str, Any]:
    record = mapping(value)
    trajectory = record.get("traj")
    if not is_list(trajectory):
        raise NotAConversationError("'traj' is missing or no list")
    notes = Notes()
    messages = [_with_error(message) for message in native_messages(trajectory, notes)]
    return {
        **repeat_of(source, record.get("task_id"), record.get("trial")),
        "messages": messages,
        "termination_reason": "user_stop" if _is_stopped(trajectory) else None,
        **failed(mapping(record.get("info")).get("error")),
        "metadata": notes.into(without(record, "traj", "task_id", "trial")),
    }


def _with_error(message: dict[str, Any]) -> dict[str, Any]:
    """`message` with the error that it is, if it is one: tools of tau-bench say so in their first word."""
    said = string(message["content"])
    failure = message["role"] == "tool" and said.startswith("Error:")
    return {**message, "content": None, "error": said} if failure else message


def _is_stopped(trajectory: list[Any]) -> bool:
    """Whether the simulated user ended the conversation."""
    last = mapping(trajectory[-1]) if trajectory else {}
    return last.get("role") == "user" and _STOP in string(last.get("content"))
