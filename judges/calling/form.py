"""A request learnt from two examples: what stays the same, and the gaps where messages go."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
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
        order: for each gap the place of the text that fills it, among all texts of the messages.
    """

    url: str
    headers: Mapping[str, str]
    pieces: tuple[bytes, ...]
    order: tuple[int, ...]

    def body(self, messages: Messages) -> bytes:
        """The body that carries `messages` of text, of the outline that the form was learnt with."""
        found = texts(messages)
        parts = [self.pieces[0]]
        for place, piece in zip(self.order, self.pieces[1:], strict=True):
            parts += (_json(found[place]), piece)
        return b"".join(parts)


def texts(messages: Messages) -> list[str]:
    """All texts of `messages`, in order; parts that are none are left out."""
    found: list[str] = []
    for message in messages:
        content: Any = message["content"]
        found += (
            [content] if isinstance(content, str) else [part["text"] for part in content if "text" in part]
        )
    return found


def outline(messages: Messages) -> tuple[int, ...]:
    """How many texts each message has; 0 for one that holds anything else, which no form can carry."""
    return tuple(
        1
        if isinstance(message["content"], str)
        else len(message["content"]) * all(part["type"] == "text" for part in message["content"])
        for message in messages
    )


def marked(messages: Messages, mark: str) -> list[dict[str, Any]]:
    """`messages` with a mark, made of `mark` and its place, for each text."""
    places = count()

    def content(of: Any) -> Any:
        if isinstance(of, str):
            return f"{mark}-{next(places)}"
        return [{**part, "text": f"{mark}-{next(places)}"} for part in of]

    return [{**message, "content": content(message["content"])} for message in messages]


def learnt(examples: Mapping[str, Captured], texts: int) -> Form | None:
    """The form of a request with so many `texts`, from examples by the mark they were made with.

    None where the examples differ in more than their marks, or a mark does not stand in the body once, as a
    whole string: such a request depends on what it carries, or on when it is made.
    """
    forms = [_form(mark, *captured) for mark, captured in examples.items()]
    same = all(form == forms[0] for form in forms)
    return forms[0] if same and sorted(forms[0].order) == list(range(texts)) else None


def _form(mark: str, url: str, headers: Mapping[str, str], body: bytes) -> Form:
    split = re.split(rb'"%s-(\d+)"' % re.escape(mark.encode()), body)
    return Form(url=url, headers=headers, pieces=tuple(split[::2]), order=tuple(map(int, split[1::2])))


def _json(text: str) -> bytes:
    try:
        return orjson.dumps(text)
    except TypeError:  # a lone surrogate, which only escaped JSON can carry
        return json.dumps(text).encode()
