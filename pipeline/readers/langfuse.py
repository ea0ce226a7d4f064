"""Langfuse exports: a trace with its observations a record, from any framework."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.plain import is_list, items, mapping, string
from adjudge.pipeline.readers.dialects import decoded
from adjudge.pipeline.readers.source import Record, Source, Unreadable, first_of
from adjudge.pipeline.readers.steps import Step
from adjudge.pipeline.readers.traces import conversations

name = "langfuse"

_ABOUT = ("name", "userId", "sessionId", "tags", "release", "version", "environment")
_NOISE = {"resourceAttributes", "scope", "attributes"}
_SCORE = ("name", "value", "stringValue", "source", "longStringValue", "comment", "dataType")


def recognises(value: Any) -> bool:
    """Whether the first record is a trace beside its observations, or with them in it."""
    first = mapping(first_of(value))
    trace = mapping(first.get("trace")) or first
    seen = items(first.get("observations"))
    return (
        "id" in trace
        and bool({"projectId", "sessionId"} & trace.keys())
        and (is_list(first.get("observations")) and all("traceId" in mapping(item) for item in seen))
    )


def read(source: Source) -> Iterator[Conversation | Unreadable]:
    """A conversation from each trace, or from all traces of the file with one session.

    Scores and corrections are kept in the metadata. All of the file is held.
    """
    traces: list[tuple[dict[str, Any], list[Any], int]] = []
    for record in source.records():
        if not isinstance(record, Record):
            yield record
            continue
        value = mapping(record.value)
        trace = mapping(value.get("trace")) or value
        # The observations inside a trace are stubs where the full ones stand beside it.
        seen = value.get("observations")
        if isinstance(trace.get("id"), str) and trace["id"] and is_list(seen):
            traces.append((trace, seen, record.line))
        else:
            yield source.unreadable(record.line, "must be a trace with an 'id' and its 'observations'")
    sessions = [trace.get("sessionId") for trace, _, _ in traces]
    shared = {session for session in map(string, sessions) if session and sessions.count(session) > 1}
    yield from conversations(source, [step for trace in traces for step in _steps(*trace, shared)])


def _steps(trace: dict[str, Any], seen: list[Any], line: int, shared: set[str]) -> Iterator[Step]:
    """The trace itself, which is around everything, and its observations."""
    session, identity = string(trace.get("sessionId")), trace["id"]
    yield Step(
        trace=identity,
        id=identity,
        begin=string(trace.get("timestamp")),
        given=decoded(decoded(trace.get("input"))),
        gave=decoded(decoded(trace.get("output"))),
        line=line,
        conversation=session if session in shared else identity,
        about=_about(trace),
    )
    for item in map(mapping, seen):
        yield _step(item, identity, line)


def _step(item: dict[str, Any], trace: str, line: int) -> Step:
    kind = string(item.get("type"))
    failed = item.get("level") == "ERROR"
    return Step(
        trace=trace,
        id=string(item.get("id")),
        parent=string(item.get("parentObservationId")) or trace,
        kind="model" if kind == "GENERATION" else "tool" if kind == "TOOL" else "other",
        begin=string(item.get("startTime")),
        end=string(item.get("endTime")) or None,
        given=decoded(item.get("input")),
        gave=decoded(item.get("output")),
        error=(string(item.get("statusMessage")) or "failed") if failed else None,
        tool=string(item.get("name")) or None,
        line=line,
    )


def _about(trace: dict[str, Any]) -> dict[str, Any]:
    about = {key: trace[key] for key in _ABOUT if trace.get(key)}
    own = {key: it for key, it in mapping(decoded(trace.get("metadata"))).items() if key not in _NOISE}
    told = {"metadata": own} if own else {}
    for key in ("scores", "corrections"):
        given = [_kept(score) for score in map(mapping, items(trace.get(key)))]
        told |= {key: given} if given else {}
    return about | told


def _kept(score: dict[str, Any]) -> dict[str, Any]:
    return {name: score[name] for name in _SCORE if score.get(name) not in (None, "")}
