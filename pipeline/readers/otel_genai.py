"""OpenTelemetry's GenAI conventions in OTLP JSON: messages in attributes of spans, or in log records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.plain import mapping, string
from adjudge.pipeline.readers import openinference
from adjudge.pipeline.readers.dialects import decoded, messages
from adjudge.pipeline.readers.instants import of_nanoseconds
from adjudge.pipeline.readers.otlp import Span, any_value, first_attributes
from adjudge.pipeline.readers.otlp import read as read_otlp
from adjudge.pipeline.readers.source import Source, Unreadable
from adjudge.pipeline.readers.steps import Step

name = "otel_genai"

_MODELS = {"chat", "text_completion", "generate_content"}
_CONTENT = {"gen_ai.input.messages", "gen_ai.output.messages"}
_EVENTS = {f"gen_ai.{role}.message": role for role in ("system", "developer", "user", "assistant", "tool")}


def recognises(value: Any) -> bool:
    """Whether the first record is OTLP JSON; with spans of OpenInference it is in that format."""
    return first_attributes(value) is not None and not openinference.recognises(value)


def read(source: Source) -> Iterator[Conversation | Unreadable]:
    """A conversation from the traces with one `gen_ai.conversation.id`, or from each trace that has none."""
    return read_together([source])


def read_together(sources: Sequence[Source]) -> Iterator[Conversation | Unreadable]:
    """The same of several files, such as one of spans and one of the log records that hold the messages."""
    return read_otlp(sources, openinference.step_of, step_of)


def step_of(span: Span, logs: list[Span]) -> Step | None:
    """The step that a span of these conventions is."""
    told = span.attributes
    given, gave = _messages(span, logs)
    operation = told.get("gen_ai.operation.name")
    about = {"agent": told["gen_ai.agent.name"]} if told.get("gen_ai.agent.name") else {}
    step = replace(span.step(), conversation=string(told.get("gen_ai.conversation.id")) or None, about=about)
    if logs and not span.raw:
        times = sorted(_time(log) for log in logs)
        step = replace(step, begin=times[0].zfill(20), end=of_nanoseconds(times[-1]))
    if operation == "execute_tool":
        return replace(
            step,
            kind="tool",
            tool=string(told.get("gen_ai.tool.name")) or None,
            call=string(told.get("gen_ai.tool.call.id")) or None,
            given=told.get("gen_ai.tool.call.arguments"),
            gave=told.get("gen_ai.tool.call.result"),
        )
    if operation is None and not given and not gave:
        return None
    is_model = operation in _MODELS or operation is None
    return replace(step, kind="model" if is_model else "other", given=given, gave=gave)


def _messages(span: Span, logs: list[Span]) -> tuple[list[Any], list[Any]]:
    """What a model was given and gave: in the span's attributes, its events, or the log records of it."""
    given: list[Any] = []
    gave: list[Any] = []
    told = [("", span.attributes, None), *span.events()]
    told += [(_event_name(log), log.attributes, any_value(log.raw.get("body"))) for log in logs]
    for event, attributes, body in told:
        given += _of_attributes(attributes, "gen_ai.input.messages", "user")
        gave += _of_attributes(attributes, "gen_ai.output.messages", "assistant")
        content = mapping(body) or attributes
        if event in _EVENTS:
            given.append(_message(_EVENTS[event], content))
        elif event == "gen_ai.choice" and content.get("index") in (None, 0, "0"):
            gave.append(_message("assistant", mapping(decoded(content.get("message"))) or content))
    return given, gave


def _of_attributes(attributes: dict[str, Any], key: str, speaker: str) -> list[Any]:
    found = messages(attributes[key], speaker) if key in attributes else []
    instructions = attributes.get("gen_ai.system_instructions")
    if speaker == "user" and instructions:
        found = [{"role": "system", "parts": decoded(instructions)}, *found]
    return found


def _message(role: str, content: dict[str, Any]) -> dict[str, Any]:
    """A message of the older layout: its role is in the event's name, a result's call under `id`."""
    call = {"tool_call_id": content.get("id")} if role == "tool" else {}
    parts = {key: decoded(content[key]) for key in ("tool_calls",) if key in content}
    return {"role": role, **call, **content, **parts}


def _event_name(log: Span) -> str:
    return string(log.raw.get("eventName")) or string(log.attributes.get("event.name"))


def _time(log: Span) -> str:
    return str(log.raw.get("timeUnixNano") or log.raw.get("observedTimeUnixNano") or "")
