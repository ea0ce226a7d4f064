"""Files that a promptfoo configuration names with `file://`: those in its own directory, and no others."""

from __future__ import annotations

import csv
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

from adjudge.pipeline.plain import items
from adjudge.pipeline.suite.strict_yaml import MAX_BYTES, parse_yaml

MAX_FILES = 200
"""Files that are read for one configuration at most."""

_PREFIX = "file://"


class NotTakenError(ValueError):
    """A file that is not read. Its text says why."""


class Beside:
    """The files beside a configuration."""

    def __init__(self, config: Path) -> None:
        """Those in the directory of `config` and below it."""
        self._directory = config.parent.resolve()
        self._left = MAX_FILES

    def value(self, reference: Any) -> Any:
        """What the file holds that `reference` names; anything but a `file://` text as it is.

        The value of YAML, JSON or JSON lines; a mapping for each row of a CSV; the text of any other file. A
        name with wildcards stands for all that match it: a list of what they hold, lists joined.

        Raises:
            NotTakenError: it is outside the directory, a program, missing, too large or not well-formed.
        """
        if not is_reference(reference):
            return reference
        name = reference.removeprefix(_PREFIX)
        if not any(sign in name for sign in "*?["):
            return self._content(self._directory / name)
        try:
            found = [path for path in sorted(self._directory.glob(name)) if path.is_file()]
        except (ValueError, NotImplementedError, OSError):
            raise NotTakenError("it is no name of files in the configuration's directory") from None
        if not found:
            raise NotTakenError("no file has such a name")
        each = map(self._content, found)
        return [one for value in each for one in (items(value) or [value])]

    def _content(self, path: Path) -> Any:
        self._left -= 1
        if self._left < 0:
            raise NotTakenError(f"the configuration names more than {MAX_FILES} files")
        try:
            whole = path.resolve()
            if not whole.is_relative_to(self._directory):
                raise NotTakenError("it is outside the configuration's directory")
            reads = _READS.get(whole.suffix.lower(), _text)
            if whole.suffix.lower() in _PROGRAMS or not whole.is_file():
                raise NotTakenError(
                    "a program, which is not run" if whole.is_file() else "there is no such file"
                )
            with whole.open("rb") as file:
                content = file.read(MAX_BYTES + 1)
        except (OSError, ValueError, RuntimeError) as error:
            if isinstance(error, NotTakenError):
                raise
            raise NotTakenError("it can't be read") from None
        if len(content) > MAX_BYTES:
            raise NotTakenError("it is larger than 1 MiB")
        try:
            return reads(content.decode("utf-8-sig"))
        except UnicodeDecodeError:
            raise NotTakenError("it is not UTF-8") from None


def is_reference(value: Any) -> bool:
    """Whether `value` names a file."""
    return isinstance(value, str) and value.startswith(_PREFIX)


def _text(content: str) -> str:
    return content.strip()


def _yaml(content: str) -> Any:
    document = parse_yaml(content)
    if document.problems:
        raise NotTakenError(f"line {document.problems[0].line}: {document.problems[0].message}")
    return document.data


def _lines(content: str) -> list[Any]:
    return [_yaml(line) for line in content.splitlines() if line.strip()]


def _rows(content: str) -> list[dict[str, Any]]:
    """The tests in a CSV: columns are variables, but for those whose name begins with two underscores."""
    try:
        return [_of_row(row) for row in csv.DictReader(StringIO(content), restkey="__more", restval="")]
    except csv.Error as error:
        raise NotTakenError(f"it is no CSV: {error}") from None


def _of_row(row: dict[str, Any]) -> dict[str, Any]:
    expected = [text for name, text in row.items() if name.startswith("__expected") and text]
    return {
        "description": row.get("__description") or "",
        "vars": {name: text for name, text in row.items() if not name.startswith("__")},
        "assert": [_asserted(text) for text in expected],
    }


def _asserted(text: str) -> dict[str, str]:
    """An assertion as a cell of a CSV has it: `type: value`, or what the output must equal."""
    kind, colon, value = text.partition(":")
    if not colon or not kind.replace("-", "").isalpha():
        return {"type": "equals", "value": text}
    return {"type": "llm-rubric" if kind == "grade" else kind, "value": value.strip()}


_READS: dict[str, Callable[[str], Any]] = {
    ".yaml": _yaml,
    ".yml": _yaml,
    ".json": _yaml,
    ".jsonl": _lines,
    ".csv": _rows,
}
_PROGRAMS = {".py", ".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".rb", ".sh"}
