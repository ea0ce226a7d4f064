"""tau2-bench results: the `nl_assertions` of each simulation's task are its test's statements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.plain import items, mapping, string
from adjudge.pipeline.readers import tau2_bench
from adjudge.pipeline.readers.source import Source, Unreadable
from adjudge.pipeline.reports.listing import everything
from adjudge.pipeline.seeding.seeds import Seeds
from adjudge.pipeline.seeding.tau2_tasks import assertions, leave_out_programs, purpose

title = "tau2-bench results"

recognises = tau2_bench.recognises


def seed(source: Source, seeds: Seeds) -> Iterator[Conversation | Unreadable]:
    """A conversation from each simulation. Its task's other criteria are named as left out."""
    seen: set[str | None] = set()
    for found in everything([source.path], tau2_bench.name):
        if isinstance(found, Unreadable):
            yield found
            continue
        task = mapping(found.metadata.get("task"))
        if found.test not in seen:
            seen.add(found.test)
            leave_out_programs(task, seeds)
        yield seeds.ask(found, assertions(task) or _judged(found.metadata), title=purpose(task))


def _judged(metadata: dict[str, Any]) -> list[str]:
    """The assertions that were judged, where the file does not have the task. Not what was said of them."""
    judged = items(mapping(metadata.get("reward_info")).get("nl_assertions"))
    return [string(mapping(assertion).get("nl_assertion")) for assertion in judged]
