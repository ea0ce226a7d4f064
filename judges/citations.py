"""Whether the words a judge cites stand in the turn it cites (J6)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import replace
from functools import cache

from adjudge.judges.request import Evidence
from adjudge.judges.verdict import Verdict

_PIECE = 4
"""Fewest characters, once folded, of each piece of a quote that has an ellipsis in its middle."""

_ESCAPE = re.compile(r'\\+(?:(["/bfnrt])|u([0-9a-fA-F]{4}))?')
_CONTROL = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_SURROGATE = re.compile("[\ud800-\udfff]")

# Quotation marks, bold marks, soft hyphens, marks without width or direction, control characters.
_UNREAD = re.compile(
    "[\"'`´\u02bc\u2018-\u201f\u2032-\u2037\u2039\u203a«»\uff02\uff07]|\\*\\*+"
    "|[\xad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e01ef\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]"
)
_DASHES = re.compile("[\u2010-\u2015\u2212-]+")
_ELLIPSIS = re.compile(r"[\[(]?\.{3,}[\])]?")

# A letter or digit of a script that parts words by spaces: not Thai to Myanmar, Khmer, kana, Han.
_WORD = "[^\\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u312f\u31a0-\u31ff\u3400-\u9fff\uf900-\ufaff]"
_SPACE = re.compile(rf"(?<={_WORD})\s+(?={_WORD})")
_NO_SPACE = re.compile(rf"(?<!{_WORD})\s+|\s+(?!{_WORD})")

_MARKS = re.compile(rb"[^\0]{31}")
"""A longer run of combining marks than Unicode's stream-safe text allows."""


def quote_stands(turn: tuple[str, ...], quote: str) -> bool:
    """Whether `quote` stands in one of the strings of `turn` (J6). Case counts; an empty quote never stands.

    Differences that retyping makes are folded away on both sides: Unicode normal form, white space, dashes,
    quotation marks, bold marks, JSON escapes, characters that are not seen. A quote with an ellipsis in its
    middle stands if each piece of it does, in order, in one string.
    """
    return _verbatim(turn, quote) or _found(map(_folded, turn), quote)


def verify(evidence: Evidence, verdict: Verdict) -> Verdict:
    """`verdict` with every citation checked afresh against `evidence`, whatever it said of itself.

    A cited turn that does not exist makes its citation unverified.
    """
    return verify_all(evidence, (verdict,))[0]


def verify_all(evidence: Evidence, verdicts: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """As `verify`, for several verdicts; each turn is folded once at most."""

    @cache
    def folded(number: int) -> tuple[str, ...]:
        return tuple(map(_folded, evidence.turn(number)))

    def stands(number: int, quote: str) -> bool:
        return _verbatim(evidence.turn(number), quote) or _found(folded(number), quote)

    return tuple(
        replace(
            verdict,
            citations=tuple(replace(c, verified=stands(c.turn, c.quote)) for c in verdict.citations),
        )
        for verdict in verdicts
    )


def _verbatim(turn: tuple[str, ...], quote: str) -> bool:
    for text in turn:
        if quote in text:
            return any(char.isprintable() and not char.isspace() for char in quote)
    return False


def _found(folded: Iterable[str], quote: str) -> bool:
    words = _folded(quote)
    pieces = [piece for piece in _ELLIPSIS.split(words) if piece]
    if len(pieces) > 1 and min(map(len, pieces)) < _PIECE:
        pieces = [words]
    return bool(pieces) and any(words in text or _in_order(text, pieces) for text in folded)


def _in_order(text: str, pieces: list[str]) -> bool:
    at = 0
    for piece in pieces:
        at = text.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return True


def _folded(text: str) -> str:
    """`text` without what retyping changes. Any depth of JSON escaping folds alike; backslashes go."""
    if "\\" in text:
        text = _ESCAPE.sub(_unescaped, text)
        if _SURROGATE.search(text):
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "ignore")
    text = _UNREAD.sub("", text)
    # Normalising sorts each run of marks in quadratic time: a run no writer needs is left as it is.
    if not text.isascii() and not _MARKS.search(bytes(map(unicodedata.combining, text))):
        text = unicodedata.normalize("NFKC", text)
    text = _DASHES.sub("-", text)
    return _NO_SPACE.sub("", _SPACE.sub(" ", text))


def _unescaped(found: re.Match[str]) -> str:
    letter, code = found.groups()
    if code is not None:
        return chr(int(code, 16))
    return "" if letter is None else _CONTROL.get(letter, letter)
