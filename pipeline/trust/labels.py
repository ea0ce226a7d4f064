"""Labels: what people say of statements, in append-only files that know nothing of any run."""

from __future__ import annotations

import csv
import fcntl
import io
import os
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, TextIO

from pydantic import BaseModel, ConfigDict, ValidationError

from adjudge.judges.failure import UsageError
from adjudge.pipeline.explain import findings
from adjudge.pipeline.files import storage

Opinion = Literal["met", "not_met", "undecidable"]

WORDS: dict[str, Opinion] = {
    **dict.fromkeys(("true", "yes", "1", "pass", "passed"), "met"),
    **dict.fromkeys(("false", "no", "0", "fail", "failed", "not met"), "not_met"),
    **dict.fromkeys(("unknown", "unsure", "n/a"), "undecidable"),
}
"""What tables say for a label, too."""


class Label(BaseModel):
    """What one person says of one statement about one conversation: a line of a label file.

    It is about evidence and a statement, not about a run or a judge's answer, so it holds for every judge
    that is shown the same.

    Attributes:
        label: `undecidable` is an answer too; it is counted apart and enters no rate.
        grader: only where the statement stands in several graders with different meaning; usually None.
        evidence: digest of what was read (hex). A label with it never speaks of other evidence; one without
            it speaks of the conversation of that id, however it changes.
        reviewer: who says so.
        at: when, ISO 8601.
        note: why, in the reviewer's words.
        blind: whether it was given before the judge's decision was seen.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    conversation_id: str
    statement: str
    label: Opinion
    grader: str | None = None
    evidence: str | None = None
    reviewer: str = ""
    at: str = ""
    note: str = ""
    blind: bool = False

    @property
    def place(self) -> tuple[str, str | None, str]:
        """What it is about: evidence (or conversation id), grader, statement."""
        return (self.evidence or f"id {self.conversation_id}", self.grader, self.statement)


def read_labels(paths: Iterable[Path]) -> Iterator[Label]:
    """The labels of files, in order: JSON lines, or CSV with a header that names the fields of `Label`.

    Raises:
        UsageError: naming file and line, if a file or a line can't be read.
    """
    for path in paths:
        try:
            text = path.read_bytes().removeprefix(b"\xef\xbb\xbf").decode()
        except OSError as error:
            raise UsageError(f"labels {str(path)!r} can't be read: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise UsageError(f"labels {str(path)!r} are not UTF-8: {error.reason}") from None
        read = _json_lines if text.lstrip()[:1] in {"{", "[", ""} else _table
        yield from read(path, text)


def latest(labels: Iterable[Label]) -> list[Label]:
    """The last word of each reviewer about each place, in the order of first words."""
    last = {(label.reviewer, *label.place): label for label in labels}
    return list(last.values())


def append_label(path: Path, label: Label) -> None:
    """Add one label to a file: see `append_labels`."""
    append_labels(path, [label])


def append_labels(path: Path, labels: Iterable[Label]) -> None:
    """Add labels to a file of JSON lines; they are on the disk when this returns. One writer at a time.

    What a kill left half-written at the end of the file is cut off first.

    Raises:
        UsageError: if the file is a table; convert it to JSON lines first.
        StorageError: if it can't be written.
    """
    lines = b"".join(label.model_dump_json(exclude_defaults=True).encode() + b"\n" for label in labels)
    with storage(path, "write"):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "r+b", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            before = file.read()
            if before.strip() and not before.lstrip().startswith(b"{"):
                raise UsageError(
                    f"{str(path)!r} holds no JSON lines; `adjudge labels import` makes them of a table"
                )
            last = before[before.rfind(b"\n") + 1 :]
            start = b""
            if _is_label(last):
                start = b"\n"
            elif last:
                file.truncate(len(before) - len(last))
            file.write(start + lines)
            os.fsync(file.fileno())


def write_table(labels: Iterable[Label], stream: TextIO) -> None:
    """Write labels as CSV (RFC 4180) that `read_labels` reads back; `stream` is opened with `newline=""`.

    An apostrophe keeps a spreadsheet from running text as a formula; reading takes it off.
    """
    table = csv.DictWriter(stream, list(Label.model_fields))
    table.writeheader()
    for label in labels:
        values = label.model_dump()
        table.writerow({name: _guarded(value) for name, value in values.items()})


def _json_lines(path: Path, text: str) -> Iterator[Label]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield Label.model_validate_json(line)
            except ValidationError as error:
                raise _unreadable(path, number, error) from None


def _table(path: Path, text: str) -> Iterator[Label]:
    lines = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    needed = [name for name, field in Label.model_fields.items() if field.is_required()]
    try:
        if absent := set(needed).difference(lines.fieldnames or ()):
            raise UsageError(
                f"{path}:1: no JSON lines, and no table with the columns {', '.join(needed)}: "
                f"{', '.join(sorted(absent))} missing"
            )
        for row in lines:
            values = {name: _bare(value) for name, value in row.items() if value not in ("", None)}
            word = str(values.get("label", "")).strip().lower()
            values["label"] = WORDS.get(word, word)
            blind = str(values.pop("blind", "")).lower() in {"true", "1", "yes"}
            try:
                yield Label.model_validate({**values, "blind": blind})
            except ValidationError as error:
                raise _unreadable(path, lines.line_num, error) from None
    except csv.Error as error:
        raise UsageError(f"{path}:{lines.line_num}: not a CSV table: {error}") from None


def _unreadable(path: Path, number: int, error: ValidationError) -> UsageError:
    wrong = "; ".join(str(finding) for finding in findings(error, Label))
    return UsageError(f"{path}:{number}: {wrong}")


def _guarded(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and _runs(value) else value


def _bare(value: object) -> object:
    return value[1:] if isinstance(value, str) and value[:1] == "'" and _runs(value) else value


def _runs(text: str) -> bool:
    """Whether a spreadsheet would run `text`, or what stands behind its apostrophes, as a formula."""
    first = unicodedata.normalize("NFKC", text.lstrip("'"))[:1]
    return first in {"=", "+", "-", "@", "\t", "\r"}


def _is_label(line: bytes) -> bool:
    try:
        Label.model_validate_json(line)
    except ValidationError:
        return False
    return True
