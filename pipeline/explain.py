"""What pydantic found wrong with a value, in words: which key, what it must be, and what was meant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from adjudge.pipeline.plain import kind_of

Where = tuple[str | int, ...]
"""The place of a value in the data: keys and indices from the top."""

_MAX_DETAILS = 200
_LONGEST_NAME = 1000  # what is longer was not mistyped


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing wrong with a value.

    Attributes:
        where: the place of the value, or of the unknown key.
        message: what is wrong and what to do; it does not name the place.
        about_key: whether the key itself is wrong, not its value.
    """

    where: Where
    message: str
    about_key: bool = False

    def __str__(self) -> str:
        """The place, then the message."""
        place = dotted(self.where[:-1] if self.about_key else self.where)
        return f"{place}: {self.message}" if place else self.message


def findings(error: ValidationError, model: type[BaseModel]) -> list[Finding]:
    """What `error` says about a value that was to be a `model`, in its order; of very much the first part.

    What pydantic says once for each member of a union becomes one finding, and the names of the members
    are left out of `where`.
    """
    schema = _schema(model)
    groups: dict[Where, list[_Complaint]] = {}
    for detail in error.errors(include_url=False)[:_MAX_DETAILS]:
        complaint = _complaint(detail, schema)
        groups.setdefault(complaint.group, []).append(complaint)
    return [finding for group in groups.values() for finding in _merged(group)]


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """`unknown key 'treshold'; did you mean 'threshold'?`, or the names there are."""
    names = list(known)
    close = get_close_matches(name, names, n=1, cutoff=0.6) if len(name) < _LONGEST_NAME else []
    if close:
        return f"unknown {what} {name!r}; did you mean {close[0]!r}?"
    if not names:
        return f"unknown {what} {name!r}; there is none"
    return f"unknown {what} {name!r}; known: {', '.join(names)}"


def dotted(where: Where) -> str:
    """A place in the words of people who read JSON: `messages[2].content`."""
    text = ""
    for step in where:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


_WANTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
}
_LIMITS = {
    "greater_than_equal": "at least {ge:g}",
    "less_than_equal": "at most {le:g}",
    "greater_than": "more than {gt:g}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Complaint:
    """One of pydantic's errors. `group` is the place of the union it lies in, or its own place and kind."""

    where: Where
    group: Where
    message: str
    wanted: str | None = None
    value: object = None
    about_key: bool = False


def _complaint(detail: ErrorDetails, schema: dict[str, Any]) -> _Complaint:
    kind, steps, value = detail["type"], detail["loc"], detail["input"]
    place = _walk(schema, steps[:-1] if kind in ("extra_forbidden", "missing") else steps)
    if kind == "extra_forbidden":
        key = str(steps[-1])
        where, message = (*place.where, key), unknown("key", key, place.keys)
        return _Complaint(where=where, group=place.union or (*where, kind), message=message, about_key=True)
    context = detail.get("ctx", {})
    wanted = context["expected"] if kind == "literal_error" else _WANTED.get(kind)
    message = (
        f"{str(steps[-1])!r} is missing" if kind == "missing" else _words(kind, context, value, detail["msg"])
    )
    group = place.union or (*place.where, kind, message)
    return _Complaint(where=place.where, group=group, message=message, wanted=wanted, value=value)


def _merged(group: list[_Complaint]) -> Iterator[Finding]:
    """What the members of a union say, as one: the one that got furthest, or all that could have been."""
    depth = max(len(complaint.where) for complaint in group)
    deepest = [complaint for complaint in group if len(complaint.where) == depth]
    wanted = list(dict.fromkeys(c.wanted for c in deepest if c.wanted))
    if "a number" in wanted and "a whole number" in wanted:
        wanted.remove("a whole number")
    if len(wanted) > 1:
        first = deepest[0]
        yield Finding(where=first.where, message=f"must be {' or '.join(wanted)}, not {kind_of(first.value)}")
        return
    for complaint in deepest:
        yield Finding(where=complaint.where, message=complaint.message, about_key=complaint.about_key)


def _words(kind: str, context: Mapping[str, Any], value: object, otherwise: str) -> str:
    if kind in _WANTED:
        return f"must be {_WANTED[kind]}, not {kind_of(value)}{_how_to_write(_WANTED[kind], value)}"
    if kind in _LIMITS:
        return f"must be {_LIMITS[kind].format(**context)}, not {value}"
    if kind == "literal_error":
        return _not_one_of(context["expected"], value)
    if kind == "value_error":
        return str(context["error"])
    if kind in ("string_too_short", "too_short"):
        return "must not be empty"
    return _words_about_tags(kind, context) or otherwise


def _words_about_tags(kind: str, context: Mapping[str, Any]) -> str | None:
    if kind == "union_tag_not_found":
        return f"{context['discriminator']} is missing; it says what kind this is"
    if kind == "union_tag_invalid":
        expected = context["expected_tags"].replace(", ", " or ")
        return f"{context['discriminator']} must be {expected}, not {context['tag']!r}"
    return None


def _how_to_write(wanted: str, value: object) -> str:
    if wanted == "text" and isinstance(value, bool | int | float):
        return "; put it in quotes"
    if (
        wanted.endswith("number")
        and isinstance(value, str)
        and re.fullmatch(r"[-+]?[\d_]*\.?\d+(e[-+]?\d+)?", value)
    ):
        return "; write it without quotes, as plain digits"
    return ""


def _not_one_of(expected: str, value: object) -> str:
    names = re.findall("'([^']*)'", expected)
    close = get_close_matches(value, names, n=1) if isinstance(value, str) else []
    return f"must be {expected}" + (f"; did you mean {close[0]!r}?" if close else f", not {kind_of(value)}")


@cache
def _schema(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema()


@dataclass(slots=True)
class _Place:
    """Where a walk through a schema ended: the keys known there, and the place of the first union passed."""

    where: Where
    union: Where | None
    keys: list[str]


def _walk(schema: dict[str, Any], steps: Iterable[str | int]) -> _Place:
    """Follow pydantic's `steps` through a JSON schema. At a union a step names the member, not a key."""
    definitions: dict[str, Any] = schema.get("$defs", {})
    node, where, union = schema, (), None
    for step in steps:
        node = _resolved(node, definitions)
        members = node.get("discriminator", {}).get("mapping", {})
        if step in members:
            node = {"$ref": members[step]}
        elif "anyOf" in node and (member := _member(node["anyOf"], str(step))):
            union, node = union or where, member
        else:
            node = _with_keys(node, definitions)
            where = (*where, step)
            node = node.get("items") if isinstance(step, int) else _value(node, step)
    last = _with_keys(_resolved(node, definitions), definitions)
    return _Place(where, union, list(last.get("properties", {})))


def _member(options: list[dict[str, Any]], label: str) -> dict[str, Any]:
    """The member of a union that pydantic calls `label`: `str`, `constrained-int`, `list[Part]`, `Part`."""
    names = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}
    names |= {"list": "array", "dict": "object"}
    word = label.removeprefix("constrained-").partition("[")[0]
    for option in options:
        if word == "literal":
            found = "enum" in option or "const" in option
        elif word in names:
            found = option.get("type") == names[word] and "enum" not in option
        else:
            found = str(option.get("$ref", "")).endswith(f"/{word}")
        if found:
            return option
    return {}


def _with_keys(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """The member of a shorthand (`a sentence or {text, required}`) that has keys; any other node as it is."""
    options = [_resolved(option, definitions) for option in node.get("anyOf", ())]
    return next((option for option in options if "properties" in option), node)


def _value(node: dict[str, Any], key: str) -> Any:
    return node.get("properties", {}).get(key) or node.get("additionalProperties")


def _resolved(node: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema itself behind references and `or null`."""
    while isinstance(node, dict):
        found = cast("dict[str, Any]", node)
        options = [option for option in found.get("anyOf", ()) if option.get("type") != "null"]
        if "$ref" in found:
            node = definitions[str(found["$ref"]).rsplit("/", 1)[-1]]
        elif len(options) == 1:
            node = options[0]
        else:
            return found
    return {}
