"""Text from elsewhere made safe to show: what would act on a terminal, or hide, becomes visible."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence

import orjson

# Control (C0, DEL, C1), soft hyphen, joiners and other zero-width signs, bidi marks and overrides, line and
# paragraph separators, fillers that look like blanks, surrogates, tags, variation selectors (but the two that
# choose emoji or text) and non-characters.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U0001fffe\U0001ffff\U000e0000-\U000e0fff]"
)
_NAMED = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def visible(text: str, *, keep: str = "") -> str:
    """`text` with every character that acts or hides written as an escape such as `\\x1b` or `\\u202e`.

    What remains can't move a cursor, start a terminal sequence, turn the direction of writing, end a line or
    stand there unseen, and it can be encoded in UTF-8 and held by XML.

    Args:
        text: any string.
        keep: characters to leave as they are, such as a newline and a tab in a block of text.
    """
    return _UNSAFE.sub(lambda match: match[0] if match[0] in keep else _escape(match[0]), text)


def block(text: str) -> str:
    """`text` safe to show over several lines: line ends of any system become newlines, tabs stay."""
    return visible(text.replace("\r\n", "\n"), keep="\n\t")


def visible_json(text: str) -> str:
    """JSON `text` with what acts or hides written as JSON escapes: the same values, safe to show.

    A newline stays: outside of strings it is layout, inside of one it can't stand.
    """
    if text.isascii() and "\x7f" not in text:  # JSON has escaped the rest
        return text
    return _UNSAFE.sub(lambda match: match[0] if match[0] == "\n" else json.dumps(match[0])[1:-1], text)


def json_line(value: object) -> bytes:
    """`value` as one line of JSON, safe to show and to split at any kind of line end; without its newline."""
    line = orjson.dumps(value)
    if line.isascii() and b"\x7f" not in line:
        return line
    return visible_json(line.decode()).encode()


def json_text(value: object) -> str:
    """`value` as indented JSON, safe to show; ends in a newline."""
    return visible_json(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode())


def width(text: str) -> int:
    """How many columns `text` takes on a terminal: wide characters two, combining marks none."""
    return sum(_columns(character) for character in text)


def pad(text: str, columns: int, *, right: bool = False) -> str:
    """`text` filled with blanks to `columns`: after it or, with `right`, before it. Longer text stays."""
    blanks = " " * max(0, columns - width(text))
    return blanks + text if right else text + blanks


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of a table as lines: the first column to the left, the others to the right, two blanks between.

    Cells are made visible. Rows may be shorter than the first.
    """
    shown = [[visible(cell) for cell in row] for row in rows]
    wide = [max(width(row[place]) for row in shown if place < len(row)) for place in range(len(shown[0]))]
    return [
        "  ".join(pad(cell, wide[place], right=place > 0) for place, cell in enumerate(row)).rstrip()
        for row in shown
    ]


def _escape(character: str) -> str:
    code = ord(character)
    if character in _NAMED:
        return _NAMED[character]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _columns(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
