"""A request learnt from two examples: what stays the same, and the gaps where messages go."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

Messages = Sequence[Mapping[str, Any]]
"""Chat messages: `role` and `content`, which is text, or parts where there is media."""

Captured = tuple[str, Mapping[str, str], bytes]
"""Address, headers and JSON body of a request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A request with a gap for the text of each message.

    Attributes:
        pieces: the body between the gaps: one more than there are gaps.
        order: for each gap the place of the message that fills it.
    """

    url: str
    headers: Mapping[str, str]
    pieces: tuple[bytes, ...]
    order: tuple[int, ...]

    def body(self, messages: Messages) -> bytes:
        """The body that carries `messages` of text, as many as the form was learnt with."""
        parts = [self.pieces[0]]
        for place, piece in zip(self.order, self.pieces[1:], strict=True):
            parts += (_json(messages[place]["content"]), piece)
        return b"".join(parts)


def marked(messages: Messages, mark: str) -> list[dict[str, Any]]:
    """`messages` with a mark, made of `mark` and their place, for their text."""
    return [{**message, "content": f"{mark}-{place}"} for place, message in enumerate(messages)]


def learnt(examples: Mapping[str, Captured], count: int) -> Form | None:
    """The form of a request with `count` messages, from examples by the mark they were made with.

    None where the examples differ in more than their marks, or a mark does not stand in the body once, as a
    whole string: such a request depends on what it carries, or on when it is made.
    """
    forms = [_form(mark, *captured) for mark, captured in examples.items()]
    same = all(form == forms[0] for form in forms)
    return forms[0] if same and sorted(forms[0].order) == list(range(count)) else None


def _form(mark: str, url: str, headers: Mapping[str, str], body: bytes) -> Form:
    split = re.split(rb'"%s-(\d+)"' % re.escape(mark.encode()), body)
    return Form(url=url, headers=headers, pieces=tuple(split[::2]), order=tuple(map(int, split[1::2])))


def _json(text: str) -> bytes:
    try:
        return orjson.dumps(text)
    except TypeError:  # a lone surrogate, which only escaped JSON can carry
        return json.dumps(text).encode()
