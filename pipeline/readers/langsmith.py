"""LangSmith runs, one a record, and the batches that its SDKs send."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.plain import is_list, is_mapping, items, mapping, string
from adjudge.pipeline.readers.dialects import messages
from adjudge.pipeline.readers.parts import words
from adjudge.pipeline.readers.source import Record, Source, Unreadable, first_of
from adjudge.pipeline.readers.steps import Step
from adjudge.pipeline.readers.traces import conversations

name = "langsmith"

_THREAD = ("thread_id", "session_id", "conversation_id")
_ABOUT = ("tags", "session_name", "reference_example_id", "feedback_stats", "session_id")
_TRACE = "Traceback (most recent call last)"


def recognises(value: Any) -> bool:
    """Whether the first record is a run, or a batch of them."""
    first = mapping(first_of(value))
    runs = [*items(first.get("post")), *items(first.get("patch")), *items(first.get("runs"))] or [first]
    return all({"run_type", "trace_id"} <= run.keys() or "dotted_order" in run for run in map(mapping, runs))


def read(source: Source) -> Iterator[Conversation | Unreadable]:
    """A conversation from the traces of one thread, or from each trace that is of none.

    All of the file is held: a thread's traces stand anywhere in it.
    """
    runs: dict[str, tuple[dict[str, Any], int]] = {}
    for record in source.records():
        if not isinstance(record, Record):
            yield record
            continue
        for run in _runs(record.value):
            identity = run.get("id") if is_mapping(run) else None
            if not isinstance(identity, str) or not identity:
                yield source.unreadable(record.line, "a run is an object with an 'id'")
                continue
            known, line = runs.get(identity, ({}, record.line))
            runs[identity] = _joined(known, run), line
    yield from conversations(source, [_step(identity, *run) for identity, run in runs.items()])


def _runs(value: Any) -> list[Any]:
    """The runs of a record: itself, or those of a batch, the beginnings first."""
    record = mapping(value)
    if is_list(record.get("post")) or is_list(record.get("patch")):
        return [*items(record.get("post")), *items(record.get("patch"))]
    return record["runs"] if is_list(record.get("runs")) else [value]


def _joined(known: dict[str, Any], run: dict[str, Any]) -> dict[str, Any]:
    """A run of which more is told: what is told later counts, but not where it is empty."""
    return known | {
        key: value for key, value in run.items() if key not in known or value not in (None, {}, [], "")
    }


def _step(identity: str, run: dict[str, Any], line: int) -> Step:
    extra, root = mapping(run.get("extra")), not run.get("parent_run_id")
    metadata = mapping(extra.get("metadata"))
    thread = next((metadata[key] for key in _THREAD if metadata.get(key)), None)
    example = string(run.get("reference_example_id"))
    about = {key: run[key] for key in _ABOUT if run.get(key)} | ({"metadata": metadata} if metadata else {})
    step = Step(
        trace=string(run.get("trace_id")) or identity,
        id=identity,
        parent=string(run.get("parent_run_id")) or None,
        kind="model" if run.get("run_type") == "llm" else "other",
        begin=string(run.get("start_time")),
        end=string(run.get("end_time")) or None,
        given=run.get("inputs"),
        gave=run.get("outputs"),
        error=_error(run),
        line=line,
        conversation=str(thread) if isinstance(thread, str | int) else None,
        about=about if root else {},
        fields={"test": example} if example and root else {},
    )
    return _tool(step, run, extra) if run.get("run_type") == "tool" else step


def _tool(step: Step, run: dict[str, Any], extra: dict[str, Any]) -> Step:
    """The run of a tool: the id of the call may stand in the message that it gave."""
    output = mapping(run.get("outputs")).get("output", run.get("outputs"))
    message = next(iter(messages(output, "tool")), None) if is_mapping(output) else None
    answers = string(mapping(message).get("tool_call_id"))
    given = mapping(run.get("inputs"))
    return replace(
        step,
        kind="tool",
        tool=string(run.get("name")) or None,
        call=string(extra.get("tool_call_id")) or answers or None,
        given=given.get("input", given) if len(given) == 1 else given,
        gave=words(message) if message and answers else output,
    )


def _error(run: dict[str, Any]) -> str | None:
    """What went wrong, without the traceback; a root that never ended was cut off."""
    error = string(run.get("error"))
    if error:
        return error.partition(_TRACE)[0].strip() or error.strip().splitlines()[-1]
    cut = "end_time" in run and not run["end_time"] and not run.get("parent_run_id")
    return "the run has no end: it was cut off, or exported while it went on" if cut else None
