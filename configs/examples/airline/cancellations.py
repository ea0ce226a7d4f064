"""What an agent cancelled, read off its tool calls: sentences that need no model.

A conversation lists its sentences in `metadata.expected`. One that can't be read is an error, never a pass.
"""

from __future__ import annotations

import re
from typing import Any

from adjudge import Check, Conversation, check

_SENTENCE = re.compile(
    r"(?:Check that )?Agent (?P<verb>cancels|should cancel|does not cancel|should not cancel) "
    r"(?:reservation )?(?P<what>[A-Z0-9]{6}|any other reservation|flight)\b"
)


def verify(conversation: Conversation) -> list[Check]:
    """A check for each expected sentence, with the cancelled reservations as its detail."""
    expected: list[str] = conversation.metadata["expected"]
    read = {sentence: _read(sentence) for sentence in expected}
    named = {what for _, what in read.values()}
    cancelled = [
        _reservation(call.arguments)
        for call in conversation.tool_calls
        if call.name == "cancel_reservation" and call.error is None
    ]
    detail = f"cancelled: {', '.join(cancelled) or 'nothing'}"
    return [
        check(sentence, _meant(what, cancelled, named) == wanted, detail)
        for sentence, (wanted, what) in read.items()
    ]


def _read(sentence: str) -> tuple[bool, str]:
    """Whether a cancellation is wanted, and of what.

    Raises:
        ValueError: the sentence is about something else.
    """
    found = _SENTENCE.match(" ".join(sentence.split()))
    if found is None:
        raise ValueError(f"not a sentence about a cancellation: {sentence!r}")
    return " not " not in found["verb"], found["what"]


def _meant(what: str, cancelled: list[str], named: set[str]) -> bool:
    """Whether that was cancelled: a reservation, any at all, or any that no other sentence names."""
    if what == "flight":
        return bool(cancelled)
    if what == "any other reservation":
        return not named.issuperset(cancelled)
    return what in cancelled


def _reservation(arguments: Any) -> str:
    return str(arguments["reservation_id"])
