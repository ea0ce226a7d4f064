"""tau2-bench tasks: a list of them without simulations. Each is a test; its `nl_assertions` are asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.plain import items, mapping, string
from adjudge.pipeline.readers.runs import named
from adjudge.pipeline.readers.source import Record, Source, Unreadable, first_of
from adjudge.pipeline.seeding.seeds import Seeds, as_name

title = "tau2-bench tasks"

_OF_PROGRAMS = ("actions", "env_assertions", "communicate_info")


def recognises(value: Any) -> bool:
    """Whether the first record is a task."""
    task = mapping(first_of(value))
    return {"id", "evaluation_criteria", "user_scenario"} <= task.keys()


def seed(source: Source, seeds: Seeds) -> Iterator[Conversation | Unreadable]:
    """No conversation: a task has none. A record that is no task is `Unreadable`."""
    for record in source.records():
        if not isinstance(record, Record):
            yield record
            continue
        task = mapping(record.value)
        name = named(task.get("id"))
        if name is None or "evaluation_criteria" not in task:
            yield source.unreadable(record.line, "no task with an 'id' and 'evaluation_criteria'")
            continue
        leave_out_programs(task, seeds)
        seeds.add_test(name, assertions(task), title=purpose(task))


def assertions(task: dict[str, Any]) -> list[str]:
    """The task's assertions in words."""
    return [string(text) for text in items(mapping(task.get("evaluation_criteria")).get("nl_assertions"))]


def purpose(task: dict[str, Any]) -> str | None:
    """What the task is for."""
    description = task.get("description")
    told = string(description) or string(mapping(description).get("purpose"))
    return as_name(told) or None


def leave_out_programs(task: dict[str, Any], seeds: Seeds) -> None:
    """Note those of a task's criteria that a program decides."""
    criteria = mapping(task.get("evaluation_criteria"))
    for key in _OF_PROGRAMS:
        if items(criteria.get(key)):
            seeds.leave_out(f"{key!r} of a task", "a program decides it; write a verifier")
