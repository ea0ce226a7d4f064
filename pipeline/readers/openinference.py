"""OpenInference spans in OTLP JSON: messages in attributes whose names are flattened paths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.plain import is_mapping, items, mapping, string
from adjudge.pipeline.readers.otlp import Span, first_attributes
from adjudge.pipeline.readers.otlp import read as read_otlp
from adjudge.pipeline.readers.source import Source, Unreadable
from adjudge.pipeline.readers.steps import Step

name = "openinference"

_KIND = "openinference.span.kind"


def recognises(value: Any) -> bool:
    """Whether a span of the first record has an OpenInference kind."""
    return any(_KIND in attributes for attributes in first_attributes(value) or [])


def read(source: Source) -> Iterator[Conversation | Unreadable]:
    """A conversation from the traces with one `session.id`, or from each trace that has none."""
    return read_together([source])


def read_together(sources: Sequence[Source]) -> Iterator[Conversation | Unreadable]:
    """The same of several files: an exporter begins a new one within a trace."""
    return read_otlp(sources, step_of)


def step_of(span: Span, logs: list[Span]) -> Step | None:
    """The step that a span of this format is; log records are no part of it."""
    told = span.attributes
    if _KIND not in told:
        return None
    about = {key: told[key] for key in ("user.id", "tag.tags") if told.get(key)}
    step = replace(
        span.step(),
        conversation=string(told.get("session.id")) or None,
        about=about,
        given=told.get("input.value"),
        gave=told.get("output.value"),
    )
    match told[_KIND]:
        case "LLM":
            given, gave = _messages(told, "llm.input_messages"), _messages(told, "llm.output_messages")
            return replace(step, kind="model", given=given or step.given, gave=gave or step.gave)
        case "TOOL":
            named = string(told.get("tool.name")) or string(span.raw.get("name"))
            return replace(step, kind="tool", tool=named, call=string(told.get("tool_call.id")) or None)
        case _:
            return step


def _messages(told: dict[str, Any], prefix: str) -> list[Any]:
    """The messages under `prefix`, in the order of their numbers, as OpenAI ones."""
    nested = _nested({name: value for name, value in told.items() if name.startswith(f"{prefix}.")})
    for key in prefix.split("."):
        nested = mapping(nested).get(key)
    return [_message(mapping(item.get("message"))) for item in map(mapping, items(nested))]


def _message(message: dict[str, Any]) -> dict[str, Any]:
    calls = [mapping(call.get("tool_call")) for call in map(mapping, items(message.get("tool_calls")))]
    contents = [
        _part(mapping(part.get("message_content"))) for part in map(mapping, items(message.get("contents")))
    ]
    found = {**message, "content": contents or message.get("content")}
    if calls:
        found["tool_calls"] = calls
    if message.get("function_call_name"):
        arguments = message.get("function_call_arguments_json")
        found["function_call"] = {"name": message["function_call_name"], "arguments": arguments}
    return found


def _part(part: dict[str, Any]) -> dict[str, Any]:
    """A part of a message; of an image its address stands two levels down."""
    url = mapping(mapping(part.get("image")).get("image")).get("url")
    return {"type": "image", "url": url} if url else part


def _nested(flat: dict[str, Any]) -> Any:
    """Flattened paths as nested values; numbers in a path are places in a list, sorted as numbers."""
    tree: dict[str, Any] = {}
    for path, value in flat.items():
        *outer, last = path.split(".")
        place: Any = tree
        for key in outer:
            inner = place.get(key)
            if not is_mapping(inner):
                inner = place[key] = {}
            place = inner
        place[last] = value
    return _listed(tree)


def _listed(tree: Any) -> Any:
    if not is_mapping(tree):
        return tree
    each = {key: _listed(value) for key, value in tree.items()}
    if each and all(key.isascii() and key.isdigit() for key in each):
        return [each[key] for key in sorted(each, key=int)]
    return each
