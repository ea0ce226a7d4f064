"""From the fields of a native conversation to the conversation, or to why it is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pydantic import ValidationError

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.explain import findings
from adjudge.pipeline.readers.source import Record, Source, Unreadable

_MAX_REASONS = 5


class NotAConversationError(ValueError):
    """A record that a format can't be read from. Its text says why."""


def conversation(source: Source, line: int | None, fields: object) -> Conversation | Unreadable:
    """The conversation with these native `fields` (spec section 7), or what is wrong with them.

    Args:
        source: the file they come from.
        line: the line they begin on, for the message.
        fields: plain JSON values.
    """
    try:
        return Conversation.model_validate(fields).at_line(line)
    except ValidationError as error:
        reasons = [str(finding) for finding in findings(error, Conversation)]
        more = [f"and {len(reasons) - _MAX_REASONS} more"] if len(reasons) > _MAX_REASONS else []
        return source.unreadable(line, "; ".join(reasons[:_MAX_REASONS] + more))


def one_a_record(
    source: Source, convert: Callable[[Any], dict[str, Any] | None]
) -> Iterator[Conversation | Unreadable]:
    """A conversation from each record of `source`.

    Args:
        source: the file.
        convert: makes native fields of a record's value; raises `NotAConversationError` where it can't. Where
            it gives no `id`, the conversation is named after the file and the record's number. None where
            the record belongs to the conversation of a later one.
    """
    for record in source.records():
        if isinstance(record, Record):
            try:
                fields = convert(record.value)
            except NotAConversationError as error:
                yield source.unreadable(record.line, str(error))
                continue
            if fields is not None:
                yield conversation(source, record.line, {"id": numbered(source, record.number), **fields})
        else:
            yield record


def one_a_file(
    source: Source, convert: Callable[[list[Any]], dict[str, Any]]
) -> Iterator[Conversation | Unreadable]:
    """One conversation of all the records of `source`; see `one_a_session`."""
    return one_a_session(source, lambda _: False, convert)


def one_a_session(
    source: Source, opens: Callable[[Any], bool], convert: Callable[[list[Any]], dict[str, Any]]
) -> Iterator[Conversation | Unreadable]:
    """A conversation from the records of each session of a log, up to the one that opens the next.

    Where one of the records can't be read it would be another conversation: there is none.

    Args:
        source: the file.
        opens: whether a record opens a session; what stands before the first one belongs to it.
        convert: makes native fields of the records' values, as for `one_a_record`.
    """
    for number, records in enumerate(_sessions(source, opens), 1):
        faults = [record for record in records if isinstance(record, Unreadable)]
        if faults:
            yield from faults
            continue
        found = [record for record in records if isinstance(record, Record)]
        try:
            fields = {"id": numbered(source, number), **convert([record.value for record in found])}
        except NotAConversationError as error:
            yield source.unreadable(found[0].line, str(error))
        else:
            yield conversation(source, found[0].line, fields)


def _sessions(source: Source, opens: Callable[[Any], bool]) -> Iterator[list[Record | Unreadable]]:
    session: list[Record | Unreadable] = []
    opened = False
    for record in source.records():
        if isinstance(record, Record) and opens(record.value):
            if opened:
                yield session
                session = []
            opened = True
        session.append(record)
    if session:
        yield session


def numbered(source: Source, number: int) -> str:
    """The id of the file's record number `number` (from 1) where the data has none."""
    return f"{source.stem}-{number}"


class Notes:
    """What of a conversation could not be represented: kept in its metadata, not dropped in silence."""

    def __init__(self) -> None:
        self._turns: dict[str, list[int]] = {}

    def add(self, note: str, turn: int | None = None) -> None:
        """Note something, about turn number `turn` (from 1) or about the whole conversation."""
        self._turns.setdefault(note, []).extend([] if turn is None else [turn])

    def into(self, metadata: dict[str, Any]) -> dict[str, Any]:
        """`metadata` with the notes in `adjudge.notes`; unchanged where there are none."""
        if not self._turns:
            return metadata
        notes = [_with_turns(note, turns) for note, turns in self._turns.items()]
        return {**metadata, "adjudge": {"notes": notes}}


def _with_turns(note: str, turns: list[int]) -> str:
    distinct = sorted(set(turns))
    if not distinct:
        return note
    more = f" and {len(distinct) - 10} more" if len(distinct) > 10 else ""
    return f"turn{'s' if len(distinct) > 1 else ''} {', '.join(map(str, distinct[:10]))}{more}: {note}"
