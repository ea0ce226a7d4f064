"""YAML without its surprises: plain data, and the line and column of every key and value.

Refused: anchors, aliases, merge keys, tags, duplicate keys, several documents, nesting over 32, more than
1 MiB or 50,000 values. Only `true` and `false` are booleans; `null`, `~` and nothing are null; integers have
no leading zeros; decimals are plain (`0.75`) and must survive as a float. Everything else is text: `no`,
`010`, `12:30`, `2026-03-02`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn, cast

import yaml

from adjudge.judges.failure import UsageError
from adjudge.pipeline.suite.errors import Problem

MAX_BYTES = 1 << 20
MAX_DEPTH = 32
MAX_VALUES = 50_000
MAX_PROBLEMS = 200

Where = tuple[str | int, ...]
"""The place of a value in the data: keys and indices from the top."""

Mark = tuple[int, int]
"""Line and column, both from 1."""

Container = dict[str, Any] | list[Any]

_PLAIN: dict[str, bool | None] = {"": None, "~": None, "null": None, "true": True, "false": False}
_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)\.[0-9]+")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_SURROGATE = re.compile("[\ud800-\udfff]")
_INTEGER_DIGITS = 18


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A YAML file as read.

    Attributes:
        text: the file's content.
        data: dictionaries with text keys, lists, text, numbers, booleans, None.
        values: where each value begins.
        keys: where each key of a mapping begins, by the place of its value.
        problems: everything wrong with it as YAML; `data` is what could be read all the same.
        broken: whether it could not be read to its end.
    """

    text: str
    data: Any = None
    values: dict[Where, Mark] = field(default_factory=dict[Where, Mark])
    keys: dict[Where, Mark] = field(default_factory=dict[Where, Mark])
    problems: list[Problem] = field(default_factory=list[Problem])
    broken: bool = False


def load_yaml(path: Path) -> Document:
    """Read a YAML file.

    Raises:
        UsageError: if there is no such file or it can't be read.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"can't read {str(path)!r}: {error.strerror or error}") from None
    if len(content) > MAX_BYTES:
        return _unread("", "is larger than 1 MiB; keep conversations in files of their own")
    try:
        return parse_yaml(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return _unread("", f"is not UTF-8 (line {line}); save it as UTF-8")


def parse_yaml(text: str) -> Document:
    """Read YAML text. What is wrong with it is in the document's `problems`; nothing is raised."""
    if _SURROGATE.search(text):
        return _unread(text, "holds half of a character pair (a surrogate); save it as UTF-8")
    builder = _Builder()
    broken = False
    try:
        for event in _events(text):
            builder.take(event)
    except yaml.YAMLError as error:
        builder.problems.append(_syntax_problem(error, text))
        broken = True
    except _StopError:
        broken = True
    return Document(
        text=text,
        data=builder.data,
        values=builder.values,
        keys=builder.keys,
        problems=builder.problems,
        broken=broken,
    )


def _events(text: str) -> Iterator[yaml.Event]:
    # libyaml where PyYAML was built with it: ten times as fast, the same events.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    parse = cast("Callable[..., Iterator[yaml.Event]]", yaml.parse)  # pyright: ignore[reportUnknownMemberType]
    return parse(text, Loader=loader)


class _StopError(Exception):
    """Nothing sensible can be read from here on; the problem is noted."""


@dataclass(slots=True)
class _Open:
    """A mapping or list whose end has not come yet. `key` is the key that waits for its value."""

    container: Container
    where: Where
    key: str | None = None


class _Builder:
    """Data from parser events, without recursion and without ever following an alias."""

    def __init__(self) -> None:
        self.data: Any = None
        self.values: dict[Where, Mark] = {}
        self.keys: dict[Where, Mark] = {}
        self.problems: list[Problem] = []
        self._open: list[_Open] = []
        self._documents = 0

    def take(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                self._stop(event, "a second document begins here; keep one document in a file")
        elif isinstance(event, yaml.CollectionEndEvent):
            self._open.pop()
        elif isinstance(event, yaml.NodeEvent):
            if len(self.values) >= MAX_VALUES:
                self._stop(event, f"more than {MAX_VALUES} values; keep conversations in files of their own")
            self._refuse_oddities(event)
            if self._waits_for_key():
                self._take_key(event)
            else:
                self._take_value(event)

    def _waits_for_key(self) -> bool:
        return bool(self._open) and isinstance(self._open[-1].container, dict) and self._open[-1].key is None

    def _refuse_oddities(self, event: yaml.NodeEvent) -> None:
        if isinstance(event, yaml.ScalarEvent) and _SURROGATE.search(event.value):
            self._note(event, "holds half of a character pair (a surrogate); write the whole character")
        if isinstance(event, yaml.AliasEvent):
            self._note(event, f"alias '*{event.anchor}' is not allowed; write the value out")
        elif event.anchor:
            self._note(
                event, f"anchor '&{event.anchor}' is not allowed; write the value out where it is needed"
            )
        tag = getattr(event, "tag", None)
        if tag is not None:
            self._note(event, f"tag {tag!r} is not allowed; write plain values, text in quotes if need be")

    def _take_key(self, event: yaml.NodeEvent) -> None:
        top = self._open[-1]
        if isinstance(event, yaml.CollectionStartEvent):
            self._stop(event, "a key must be text, not a list or a mapping; is a quote missing?")
        key = event.value if isinstance(event, yaml.ScalarEvent) else f"*{event.anchor}"
        where = (*top.where, key)
        if isinstance(event, yaml.ScalarEvent) and key == "<<" and event.implicit[0]:
            self._note(event, "merge key '<<' is not allowed; write the keys out")
        elif key in top.container:
            self._note(event, f"duplicate key {key!r}; the first one is on line {self.keys[where][0]}")
        self.keys.setdefault(where, _mark(event))
        top.key = key

    def _take_value(self, event: yaml.NodeEvent) -> None:
        where = self._place()
        self.values.setdefault(where, _mark(event))
        if isinstance(event, yaml.ScalarEvent):
            self._attach(self._scalar(event))
        elif isinstance(event, yaml.CollectionStartEvent):
            if len(self._open) >= MAX_DEPTH:
                self._stop(event, f"nested more than {MAX_DEPTH} deep")
            container: Container = {} if isinstance(event, yaml.MappingStartEvent) else []
            self._attach(container)
            self._open.append(_Open(container, where))
        else:
            self._attach(None)

    def _place(self) -> Where:
        if not self._open:
            return ()
        top = self._open[-1]
        if isinstance(top.container, list):
            return (*top.where, len(top.container))
        return (*top.where, top.key or "")

    def _attach(self, value: Any) -> None:
        if not self._open:
            self.data = value
            return
        top = self._open[-1]
        if isinstance(top.container, list):
            top.container.append(value)
        else:
            top.container.setdefault(top.key or "", value)
            top.key = None

    def _scalar(self, event: yaml.ScalarEvent) -> Any:
        text = event.value
        if not event.implicit[0]:
            return text
        if text in _PLAIN:
            return _PLAIN[text]
        if _INTEGER.fullmatch(text):
            if len(text.lstrip("-")) > _INTEGER_DIGITS:
                self._note(
                    event, f"number has more than {_INTEGER_DIGITS} digits; put it in quotes if it is text"
                )
                return 0
            return int(text)
        if _DECIMAL.fullmatch(text):
            number = float(text)
            if Decimal(repr(number)) != Decimal(text):
                self._note(
                    event, "number has more digits than are kept; write 15 at most, or put it in quotes"
                )
            return number
        if _NOT_FINITE.fullmatch(text):
            self._note(event, f"{text} is not a number that can be used; put it in quotes if it is text")
        return text

    def _note(self, event: yaml.Event, message: str) -> None:
        line, column = _mark(event)
        self.problems.append(Problem(line=line, column=column, message=message))
        if len(self.problems) >= MAX_PROBLEMS:
            raise _StopError

    def _stop(self, event: yaml.Event, message: str) -> NoReturn:
        self._note(event, message)
        raise _StopError


def _mark(event: yaml.Event) -> Mark:
    return event.start_mark.line + 1, event.start_mark.column + 1


def _unread(text: str, message: str) -> Document:
    return Document(text=text, problems=[Problem(message=message)], broken=True)


def _syntax_problem(error: yaml.YAMLError, text: str) -> Problem:
    if isinstance(error, yaml.reader.ReaderError):
        before = text[: error.position]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        return Problem(
            line=line, column=column, message=f"character {chr(ord(text[error.position]))!r} is not allowed"
        )
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return Problem(message=f"is not YAML: {error}")
    mark, context = error.problem_mark, ""
    if error.context and error.context_mark and error.context_mark.line != mark.line:
        context = f" ({error.context} that began on line {error.context_mark.line + 1})"
    message = f"not YAML: {error.problem}{context}; is a quote, a bracket or an indent missing?"
    return Problem(line=mark.line + 1, column=mark.column + 1, message=message)
