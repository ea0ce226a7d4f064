"""Splits a JSON document into its values without holding all of it: the elements of one array, or one
value after another. Only brackets and strings are looked at, so a broken value does not hide the next one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

_CHUNK = 1 << 18
_BRACKET = re.compile(rb"[\[\]{}]")
# Whatever stands before the next bracket, strings whole. Possessive, so that no input makes it slow.
_TO_BRACKET = re.compile(rb'(?:[^"\[\]{}]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+[\[\]{}]', re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One value of a document as it is written, or what stands there in its place.

    Attributes:
        line: the line it begins on, from 1.
        text: the value's bytes; empty where `fault` is set.
        fault: why this is no value; None where it may be one.
    """

    line: int
    text: bytes = b""
    fault: str | None = None


def pieces(file: BinaryIO, limit: int) -> Iterator[Piece]:
    """The values of the JSON document in `file` (UTF-8), in order: an array's elements, else each value.

    Args:
        file: read from where it stands to its end, in chunks.
        limit: bytes of one value that are held at most; a longer one is a fault and the last piece.
    """
    splitter = _Splitter(file, limit)
    array = splitter.opens_array()
    between = b""
    while True:
        gap, bracket = splitter.gap()
        closes = bracket in (b"]", b"}")
        if gap.text != (b"" if closes or not bracket else between):
            yield Piece(line=gap.line, fault=_misplaced(gap.text))
        if not bracket:
            break
        if not closes:
            piece = splitter.value()
            yield piece
            if piece.fault:
                return
            between = b"," if array else b""
            continue
        if not array:
            yield Piece(line=splitter.line(), fault=f"not JSON: a {bracket.decode()!r} too many")
        array, between = False, b""
        splitter.skip()
    if array:
        yield Piece(line=splitter.line(), fault="cut short: the array is not closed")


def _misplaced(text: bytes) -> str:
    if not text:
        return "not JSON: no comma before this value"
    if not text.strip(b", \t\r\n"):
        return "not JSON: a comma too many"
    return f"not a JSON object: {text[:40].decode(errors='replace')!r}"


class _Splitter:
    """What was read and is not split yet: `_buffer` from `_at` on."""

    def __init__(self, file: BinaryIO, limit: int) -> None:
        self._file, self._limit = file, limit
        self._buffer, self._at = b"", 0
        self._line, self._counted = 1, 0
        self._more()

    def opens_array(self) -> bool:
        """Step into the document's array, if it is one."""
        begin = len(self._buffer) - len(self._buffer.lstrip())
        if self._buffer[begin : begin + 1] != b"[":
            return False
        self._at = begin + 1
        return True

    def gap(self) -> tuple[Piece, bytes]:
        """What stands before the next bracket, and that bracket; b"" at the end of the file."""
        while (match := _BRACKET.search(self._buffer, self._at)) is None and self._more():
            pass
        end = match.start() if match else len(self._buffer)
        text = self._buffer[self._at : end]
        self._at += len(text) - len(text.lstrip())
        piece = Piece(line=self.line(), text=text.strip())
        self._at = end
        return piece, match.group() if match else b""

    def value(self) -> Piece:
        """The value whose opening bracket is next. Where it has a fault there is nothing behind it."""
        line, depth, position = self.line(), 0, self._at
        while True:
            match = _TO_BRACKET.match(self._buffer, position)
            if match is None:
                position -= self._at
                if not self._more():
                    return Piece(line=line, fault="cut short: a bracket or a quote is never closed")
                if len(self._buffer) > self._limit:
                    return Piece(line=line, fault=f"larger than {self._limit >> 20} MiB")
                continue
            position = match.end()
            depth += 1 if self._buffer[position - 1] in b"[{" else -1
            if depth == 0:
                text = self._buffer[self._at : position]
                self._at = position
                return Piece(line=line, text=text)

    def skip(self) -> None:
        """Pass over the next bracket."""
        self._at += 1

    def line(self) -> int:
        """The number of the line that is split next."""
        self._line += self._buffer.count(b"\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def _more(self) -> bool:
        """Read on, at least as much as is held, so that a long value is looked at a few times only."""
        self.line()
        kept = self._buffer[self._at :]
        new = self._file.read(max(_CHUNK, len(kept)))
        self._buffer, self._at, self._counted = kept + new, 0, 0
        return bool(new)
