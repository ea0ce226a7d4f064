"""OpenTelemetry's OTLP JSON: spans and log records of any number of traces, and the messages in them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.plain import is_mapping, items, mapping, string
from adjudge.pipeline.readers.instants import of_nanoseconds
from adjudge.pipeline.readers.source import Record, Source, Unreadable, first_of
from adjudge.pipeline.readers.steps import Step
from adjudge.pipeline.readers.traces import conversations

_ERROR = (2, "STATUS_CODE_ERROR")


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A span, or a log record, which is an event of one.

    Attributes:
        trace: the trace's id.
        id: the span's id.
        attributes: by name, as plain values.
        raw: everything else, as it stands in the file.
        line: the line of the file; None where there are several.
    """

    trace: str
    id: str
    attributes: dict[str, Any]
    raw: dict[str, Any]
    line: int | None

    def step(self) -> Step:
        """The step of a trace that this span is, but for what it was given and gave."""
        status = mapping(self.raw.get("status"))
        failed = status.get("code") in _ERROR
        began = string(self.raw.get("startTimeUnixNano")) or str(self.raw.get("startTimeUnixNano"))
        return Step(
            trace=self.trace,
            id=self.id,
            parent=string(self.raw.get("parentSpanId")) or None,
            begin=began.zfill(20),
            end=of_nanoseconds(self.raw.get("endTimeUnixNano")),
            error=(string(status.get("message")) or self._exception() or "failed") if failed else None,
            line=self.line,
        )

    def events(self) -> Iterator[tuple[str, dict[str, Any], Any]]:
        """The span's events: name, attributes, body."""
        for event in map(mapping, items(self.raw.get("events"))):
            yield string(event.get("name")), attributes_of(event), any_value(event.get("body"))

    def _exception(self) -> str:
        told = (found.get("exception.message") for name, found, _ in self.events() if name == "exception")
        return string(next(told, None))


StepOf = Callable[[Span, list[Span]], Step | None]
"""Makes a step of a span and the log records that are of it; None if the span is none of its format."""


def read(sources: Sequence[Source], *step_of: StepOf) -> Iterator[Conversation | Unreadable]:
    """The conversations in OTLP files. All is held: spans come in any order, logs apart from them.

    Args:
        sources: the files, read as one: export requests, one a record.
        step_of: what makes steps; the first that takes a span counts.
    """
    spans: list[Span] = []
    logs: defaultdict[tuple[str, str], list[Span]] = defaultdict(list)
    for source, record in ((one, record) for one in sources for record in one.records()):
        if not isinstance(record, Record):
            yield record
            continue
        for kind, value in _entries(record.value):
            span = _span(value, record.line if len(sources) == 1 else None)
            if isinstance(span, str):
                yield source.unreadable(record.line, span)
            elif kind == "spans":
                spans.append(span)
            else:
                logs[span.trace, span.id].append(span)
    # Of a span that is not in the file, the log records are all there is.
    known = {(span.trace, span.id) for span in spans}
    spans += [replace(own[0], attributes={}, raw={}) for place, own in logs.items() if place not in known]
    each = ((span, logs.get((span.trace, span.id), [])) for span in spans)
    steps = (next(filter(None, (make(span, own) for make in step_of)), span.step()) for span, own in each)
    yield from conversations(sources[0], list(steps))


def first_attributes(value: Any) -> list[dict[str, Any]] | None:
    """The attributes of every span and log record in a file's first record; None if it is no OTLP."""
    record = mapping(first_of(value))
    if not {"resourceSpans", "resourceLogs"} & record.keys():
        return None
    entries = [mapping(entry) for _, entry in _entries(record)]
    return [{**attributes_of(entry), "eventName": entry.get("eventName")} for entry in entries]


def attributes_of(entry: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a span, an event or a log record, as plain values by name."""
    each = map(mapping, items(entry.get("attributes")))
    return {string(attribute.get("key")): any_value(attribute.get("value")) for attribute in each}


def any_value(value: Any) -> Any:
    """The plain value in OTLP's `AnyValue`; anything else as it is."""
    if not is_mapping(value) or len(value) != 1:
        return value
    kind, inner = next(iter(value.items()))
    match kind:
        case "arrayValue":
            return [any_value(item) for item in items(mapping(inner).get("values"))]
        case "kvlistValue":
            return attributes_of({"attributes": mapping(inner).get("values")})
        case "intValue":
            return int(inner) if isinstance(inner, str) and inner.lstrip("-").isdecimal() else inner
        case "stringValue" | "boolValue" | "doubleValue" | "bytesValue":
            return inner
        case _:
            return value


def _entries(value: Any) -> Iterator[tuple[str, Any]]:
    """Every span and log record of an export request, with which of the two it is."""
    for outer, middle, inner in (("Spans", "scopeSpans", "spans"), ("Logs", "scopeLogs", "logRecords")):
        for resource in items(mapping(value).get(f"resource{outer}")):
            for scope in items(mapping(resource).get(middle)):
                yield from ((inner, entry) for entry in items(mapping(scope).get(inner)))


def _span(value: Any, line: int | None) -> Span | str:
    """The span or log record, or what is wrong with it."""
    record = mapping(value)
    trace, identity = record.get("traceId"), record.get("spanId")
    if not isinstance(trace, str) or not isinstance(identity, str) or not trace:
        return "a span or log record has no 'traceId' and 'spanId'"
    raw = {key: record[key] for key in record if key != "attributes"}
    return Span(trace=trace, id=identity, attributes=attributes_of(record), raw=raw, line=line)
