"""Plain data, as JSON and YAML give it: looked into without trusting its shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

import orjson


def is_mapping(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether `value` is a mapping; in JSON and our YAML its keys are text."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Whether `value` is a list."""
    return isinstance(value, list)


def mapping(value: object) -> dict[str, Any]:
    """`value` if it is a mapping, else an empty one."""
    return value if is_mapping(value) else {}


def items(value: object) -> list[Any]:
    """`value` if it is a list, else an empty one."""
    return value if is_list(value) else []


def string(value: object) -> str:
    """`value` if it is text, else empty."""
    return value if isinstance(value, str) else ""


def as_text(value: object) -> str:
    """`value` if it is text, else its JSON."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def strings(value: object) -> Iterator[str]:
    """Every string inside a JSON value, keys aside."""
    if isinstance(value, str):
        yield value
    elif is_mapping(value):
        for inner in value.values():
            yield from strings(inner)
    elif is_list(value):
        for inner in value:
            yield from strings(inner)


def kind_of(value: object) -> str:
    """What a value is, in the words of JSON and YAML."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f"the text {value[:40]!r}"
    if isinstance(value, int | float):
        return f"the number {value}"
    return "a mapping" if isinstance(value, Mapping) else "a list"
