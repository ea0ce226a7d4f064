"""The record of one answer: a row of the ledger, a line of an export, a line of a recording."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, ClassVar

import orjson
from pydantic import ConfigDict, TypeAdapter, ValidationError

from adjudge.judges.request import canonical_json, digest
from adjudge.judges.verdict import Attempt, Origin, Verdict


class DamagedRecordError(ValueError):
    """A record that can't be believed. Its text says why. Never a reason to stop a run (C8)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One valid answer beside the whole question it belongs to.

    Attributes:
        key: SHA-256 hex of the canonical JSON of `fields` (C6).
        fields: `JudgeRequest.key_fields` of the question.
        verdicts: one a statement, in the order of `fields["statements"]`. What their citations say of
            being verified was true when it was written; whoever reads them checks again.
        attempts: every request it took, oldest first.
        origin: run and unit it was obtained for, or None where unknown.
        created: when it was obtained, ISO 8601 with its offset from UTC, or empty.
        adjudge: the version that wrote it.
        history: the answers it replaced, oldest first, themselves without history (C8).
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid", strict=True, allow_inf_nan=False, hide_input_in_errors=True
    )

    key: str
    fields: dict[str, Any]
    verdicts: tuple[Verdict, ...]
    attempts: tuple[Attempt, ...]
    origin: Origin | None
    created: str
    adjudge: str
    history: tuple[Record, ...] = ()


def encode(record: Record) -> bytes:
    """`record` as one line of JSON, without its newline."""
    return orjson.dumps(record)


def decode(line: bytes | str) -> Record:
    """Read what `encode` wrote, believing nothing.

    Raises:
        DamagedRecordError: if it is no JSON, has another shape, its key is not the digest of its fields,
            it has not exactly one verdict a statement, or a decision outside the closed set (J2a).
    """
    try:
        record = _shape()(line)
    except ValidationError as error:
        raise DamagedRecordError(_words(error)) from None
    _check(record)
    for older in record.history:
        _check(older)
        if older.history or older.key != record.key:
            raise DamagedRecordError("its history has a history or answers another question")
    return record


@cache
def _shape() -> Callable[[bytes | str], Record]:
    return TypeAdapter(Record).validator.validate_json


def _check(record: Record) -> None:
    """What types can't say."""
    statements: list[Any] = record.fields.get("statements", [])
    if type(statements) is not list or {*map(type, statements)} - {str}:
        raise DamagedRecordError("fields.statements: no list of texts")
    if not len(record.verdicts) == len(statements) > 0:
        raise DamagedRecordError(f"verdicts: {len(record.verdicts)} for {len(statements)} statements")
    for verdict in record.verdicts:
        for citation in verdict.citations:
            if citation.turn < 1:
                raise DamagedRecordError("verdicts: a cited turn below 1")
    try:
        if digest(canonical_json(record.fields)) != record.key:
            raise DamagedRecordError("key: not the digest of its fields")
        if record.created and datetime.fromisoformat(record.created).tzinfo is None:
            raise DamagedRecordError("created: no offset from UTC")
    except (orjson.JSONEncodeError, ValueError) as error:
        raise DamagedRecordError(str(error)) from None


def _words(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {first['msg']}" if place else first["msg"]
