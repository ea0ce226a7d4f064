"""A file of conversations as JSON records or text, whatever its encoding, compression or layout."""

from __future__ import annotations

import codecs
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, cast

import orjson

from adjudge.judges.failure import UsageError
from adjudge.pipeline.plain import items
from adjudge.pipeline.readers.document import pieces

MAX_RECORD = 256 << 20
"""Bytes of one record that are read at most."""

MAX_DEPTH = 200
"""How deep a record may be nested: deeper ones could be read, but not written again."""

_SAMPLE = 32
_HEAD = 1 << 16
_FIRST_LINE = 1 << 20
_GZIP = b"\x1f\x8b"
_DAMAGE = (EOFError, OSError, zlib.error, UnicodeDecodeError)
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_TOO_DEEP = f"nested more than {MAX_DEPTH} deep"
_DIGITS = bytes(ord("0") if chr(byte).isdigit() and byte < 128 else ord(" ") for byte in range(256))
_LONG = b"0" * 19
_BRACKETS = bytes.maketrans(b"{}", b"[]")
_NOT_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A record that could not be read. The others are graded; the run can't pass (spec section 7).

    Attributes:
        file: the file's path as given.
        line: the line the record begins on, from 1; None where the file as a whole is meant.
        reason: what is wrong and, where known, what to do.
    """

    file: str
    line: int | None
    reason: str

    def __str__(self) -> str:
        """`file:line: reason`."""
        return f"{self.file}:{self.line}: {self.reason}" if self.line else f"{self.file}: {self.reason}"


class Record(NamedTuple):
    """One JSON value of a file.

    Attributes:
        number: its place among the file's records, unreadable ones counted, from 1.
        line: the line it begins on, from 1.
        value: the value: dictionaries, lists, text, numbers, booleans, None.
    """

    number: int
    line: int
    value: Any


class NotJsonError(ValueError):
    """Bytes that are not one JSON value. Its text says why."""


class Source:
    """A file to read conversations from. Reading it streams: memory holds one record, not the file.

    UTF-8 with or without a byte-order mark, UTF-16 with one, plain or gzip. Readers of anything but JSON
    (zip, CSV, several files of one run) use `path` and `open`.
    """

    def __init__(self, path: str | Path) -> None:
        """Take the file at `path`.

        Raises:
            UsageError: if there is no such file or it can't be read.
        """
        self.path = Path(path)
        try:
            with self.path.open("rb") as file:
                self._magic = file.read(4)
        except OSError as error:
            raise UsageError(f"can't read {str(path)!r}: {error.strerror or error}") from None

    @property
    def name(self) -> str:
        """The path as given, for messages."""
        return str(self.path)

    @property
    def stem(self) -> str:
        """The file's name without its extension (and `.gz`), for ids of records that have none."""
        name = self.path.name.removesuffix(".gz")
        return name.rsplit(".", 1)[0] or name

    def unreadable(self, line: int | None, reason: str) -> Unreadable:
        """A record of this file that could not be read."""
        return Unreadable(file=self.name, line=line, reason=reason)

    def open(self) -> BinaryIO:
        """The file's content as UTF-8 without a byte-order mark, gzip undone."""
        packed = self._magic.startswith(_GZIP)
        file = gzip.GzipFile(self.path) if packed else self.path.open("rb")
        head = file.peek(3)
        if head[:2] in _UTF16:
            file.read(2)
            return io.BufferedReader(_AsUtf8(cast("BinaryIO", file), _UTF16[head[:2]]), _HEAD)
        if head.startswith(codecs.BOM_UTF8):
            file.read(len(codecs.BOM_UTF8))
        return cast("BinaryIO", file)

    def records(self) -> Iterator[Record | Unreadable]:
        """The JSON records: a value a line, or the elements of one array, or values one after another.

        The layout is found in the content, not in the file's name. Lines end with `\\n` alone. What can't be
        read is an `Unreadable` with its line; the rest goes on, but for damage to the encoding as a whole.
        """
        line = 0
        try:
            for number, (line, text) in enumerate(self._split(), 1):
                try:
                    yield Record(number, line, parse(text))
                except NotJsonError as error:
                    yield self.unreadable(line, str(error))
        except _DAMAGE as error:
            yield self.unreadable(line + 1, f"damaged from here on: {error}")

    def first(self) -> Any:
        """What formats are recognised by: the value of the first readable record.

        For a file that is one array it is the list of its first 32 elements; for one that begins with no
        JSON, its first 64 KiB as bytes; None for an empty file.
        """
        sample = [record.value for record in islice(self.records(), _SAMPLE) if isinstance(record, Record)]
        if sample:
            return sample if self._layout() == "array" else sample[0]
        try:
            with self.open() as file:
                return file.read(_HEAD) or None
        except _DAMAGE:
            return None

    @property
    def is_empty(self) -> bool:
        """Whether nothing but white space stands in the file, which can be read."""
        try:
            with self.open() as file:
                return all(not part.strip() for part in iter(lambda: file.read(_HEAD), b""))
        except _DAMAGE:
            return False

    def _split(self) -> Iterator[tuple[int, bytes | NotJsonError]]:
        """Every record as it is written, or what is wrong with it, with its line."""
        with self.open() as file:
            if self._layout() == "lines":
                yield from _lines(file)
                return
            for piece in pieces(file, MAX_RECORD):
                yield piece.line, NotJsonError(piece.fault) if piece.fault else piece.text

    def _first_lines(self) -> list[bytes]:
        """The first three lines that are not blank, or those before the file's damage."""
        found: list[bytes] = []
        with suppress(*_DAMAGE), self.open() as file:
            while len(found) < 3 and (line := file.readline(_FIRST_LINE)):
                found += [line.strip()] if line.strip() else []
        return found

    def _layout(self) -> Literal["lines", "array", "document"]:
        """Whether the file is a value a line, one array, or values over several lines.

        A first line that is no value alone begins a document if it stops where JSON goes on, unless the
        next two lines are values: then it is a cut line of many.
        """
        head = self._first_lines()
        if not head:
            return "lines"
        array = head[0].startswith(b"[")
        whole = [_is_json(line) for line in head]
        if whole[0]:
            return "array" if array and len(head) == 1 else "lines"
        goes_on = len(head[0]) >= _FIRST_LINE - 1 or (head[0][-1:] in b"{[,:" and not all(whole[1:]))
        if not goes_on or not head[0].startswith((b"[", b"{")):
            return "lines"
        return "array" if array else "document"


def parse(text: bytes | NotJsonError) -> Any:
    """The JSON value that `text` is, whole. Of a key that stands twice the last one counts.

    Raises:
        NotJsonError: not UTF-8, cut short, trailing commas, comments, NaN, half surrogate pairs, nesting over
            `MAX_DEPTH`, integers that don't fit 64 bits; or `text` itself, where it is one.
    """
    if isinstance(text, NotJsonError):
        raise text
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise NotJsonError(_why(text, error)) from None
    if (
        text.count(b"[") + text.count(b"{") > MAX_DEPTH
        and _is_deep(text)
        and _is_deep(_STRING.sub(b"", text))
    ):
        raise NotJsonError(_TOO_DEEP)
    # orjson reads longer integers as floats, which would change evidence unseen.
    if _LONG in text.translate(_DIGITS):
        _refuse_long_integers(text)
    return value


def first_of(value: Any) -> Any:
    """The first record's value of what `Source.first` gives."""
    return next(iter(items(value)), value)


def _is_deep(text: bytes) -> bool:
    """Whether brackets are left after `MAX_DEPTH` levels were taken off, innermost first."""
    brackets = text.translate(_BRACKETS, _NOT_BRACKETS)
    for _ in range(MAX_DEPTH):
        brackets = brackets.replace(b"[]", b"")
        if not brackets:
            return False
    return True


def _refuse_long_integers(text: bytes) -> None:
    def refuse(digits: str) -> int:
        if not -(1 << 63) <= int(digits) < 1 << 64:
            raise NotJsonError(f"the number {digits[:24]} does not fit 64 bits; write it as text")
        return 0

    json.loads(text, parse_int=refuse)


def _is_json(text: bytes) -> bool:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


def _why(text: bytes, error: orjson.JSONDecodeError) -> str:
    try:
        text.decode()
    except UnicodeDecodeError as bad:
        return f"not UTF-8: byte 0x{text[bad.start]:02x} at position {bad.start + 1}; save the file as UTF-8"
    if "depth limit" in error.msg:
        return _TOO_DEEP
    if "end of data" in error.msg:
        return f"cut short: {error.msg} (character {error.pos + 1})"
    found = error.doc[error.pos : error.pos + 12]
    return f"not JSON: {error.msg} (character {error.pos + 1}, at {found!r})"


def _lines(file: BinaryIO) -> Iterator[tuple[int, bytes | NotJsonError]]:
    number = 0
    while line := file.readline(MAX_RECORD):
        number += 1
        if len(line) == MAX_RECORD and not line.endswith(b"\n"):
            while len(line) == MAX_RECORD and not line.endswith(b"\n"):
                line = file.readline(MAX_RECORD)
            yield number, NotJsonError(f"larger than {MAX_RECORD >> 20} MiB")
        elif not line.isspace():
            yield number, line


class _AsUtf8(io.RawIOBase):
    """A file in another encoding, read as UTF-8."""

    def __init__(self, file: BinaryIO, encoding: str) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._waiting = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        while not self._waiting:
            chunk = self._file.read(_HEAD)
            self._waiting = self._decoder.decode(chunk, final=not chunk).encode()
            if not chunk:
                break
        taken, self._waiting = self._waiting[: len(buffer)], self._waiting[len(buffer) :]
        buffer[: len(taken)] = taken
        return len(taken)

    def close(self) -> None:
        self._file.close()
        super().close()
