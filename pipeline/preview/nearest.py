"""Why a question has no answer in a cache: the entries nearest to it, and what makes them other questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher
from typing import Any

from adjudge.judges.ledger.ledger import Ledger
from adjudge.judges.ledger.record import DamagedRecordError, Record
from adjudge.judges.request import canonical_json, digest
from adjudge.pipeline.plain import items


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """An entry that is near a question without being its answer.

    Attributes:
        key: its key.
        created: when it was made.
        why: in words, what makes it another question.
    """

    key: str
    created: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """Why a question has no answer in a cache.

    Attributes:
        key: the key that is looked for.
        stored: there is an entry under this very key.
        damage: why it can't be believed, if so.
        nearest: the entries that differ least, nearest first, all of them near in the same way.
    """

    key: str
    stored: bool
    damage: str | None
    nearest: tuple[Near, ...]


def why_miss(
    ledger: Ledger, fields: Mapping[str, Any], *, conversation: str | None = None, limit: int = 3
) -> Missed:
    """Find the entries nearest to the question with these `JudgeRequest.key_fields`, and what differs.

    Nearest is the same question asked in another way (model, prompt, parameters); then the same statements
    about the same conversation as it was before; then much the same statements about the same evidence;
    then the same statements about anything else; then anything else about the same evidence. Of several
    the one with fewer differences, then the newest.

    Args:
        ledger: where to look.
        fields: the key fields of the question.
        conversation: id of the conversation it is about, if known.
        limit: how many entries to name at most.
    """
    key = digest(canonical_json(dict(fields)))
    stored, damage = False, None
    nearest: list[tuple[_Distance, str, Record]] = []
    for found, record in ledger.scan():
        if found == key:
            stored = True
            damage = str(record) if isinstance(record, DamagedRecordError) else None
        elif isinstance(record, Record) and _same(record.fields, fields):
            item = (_distance(record, fields, conversation), found, record)
            nearest = sorted([*nearest, item], key=lambda item: item[:2])[:limit]
    return Missed(
        key=key,
        stored=stored,
        damage=damage,
        nearest=tuple(
            Near(key=found, created=record.created, why=_words(record, fields, conversation))
            for distance, found, record in nearest
            if distance[0] == nearest[0][0][0]
        ),
    )


_Distance = tuple[int, float, int, float]
_COMPARED = 1000
_ALIKE = 0.6
"""Statements of which this part is the same, or more, are taken for one that was edited."""

_NAMES = {
    "evidence": "the evidence",
    "statements": "the statements",
    "prompt": "the prompt",
    "model": "the model",
    "api_base": "the api base",
    "output": "the output mode",
    "calls": "the calls mode",
    "sample": "the sample",
    "schema_version": "the version of the reply schema",
    "key_version": "the version of the key",
}


def _same(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    return [name for name in ("evidence", "statements") if old.get(name) == new.get(name)]


def _distance(record: Record, new: Mapping[str, Any], conversation: str | None) -> _Distance:
    """In which way it is near (see `why_miss`), how unlike its statements are, how much differs, its age."""
    same = _same(record.fields, new)
    unlike = 0.0 if "statements" in same else 1 - _likeness(record.fields, new)
    if len(same) == 2:
        way = 0
    elif "statements" in same:
        way = 1 if _is_of(record, conversation) else 3
    else:
        way = 2 if 1 - unlike >= _ALIKE else 4
    age = -datetime.fromisoformat(record.created).timestamp() if record.created else 0.0
    return way, unlike, len(_changes(record.fields, new)), age


def _likeness(old: Mapping[str, Any], new: Mapping[str, Any]) -> float:
    """How much of their statements' texts is the same, in [0, 1]."""
    before, after = ("\n".join(map(str, fields.get("statements") or ())) for fields in (old, new))
    return SequenceMatcher(None, before[:_COMPARED], after[:_COMPARED], autojunk=False).ratio()


def _is_of(record: Record, conversation: str | None) -> bool:
    """Whether it was obtained for that conversation."""
    return (
        conversation is not None
        and record.origin is not None
        and (record.origin.unit.startswith(f"{conversation}/"))
    )


def _words(record: Record, new: Mapping[str, Any], conversation: str | None) -> str:
    same = _same(record.fields, new)
    said = f"same {'question' if len(same) == 2 else same[0]}, but {'; '.join(_changes(record.fields, new))}"
    known = conversation is not None and record.origin is not None
    elsewhere = known and "evidence" not in same and not _is_of(record, conversation)
    return f"{said}; it was asked about another conversation" if elsewhere else said


def _changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """What differs, a phrase each, in the order people would look for it."""
    names = [*_NAMES, *sorted((old.keys() | new.keys()) - _NAMES.keys() - {"params"})]
    changes = [
        f"{_NAMES.get(name, name)} changed: {_change(name, old.get(name), new.get(name))}"
        for name in names
        if old.get(name) != new.get(name)
    ]
    before, after = _params(old), _params(new)
    return changes + [
        f"parameter {name!r} changed: {_change(name, before.get(name), after.get(name))}"
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]


def _params(fields: Mapping[str, Any]) -> dict[str, Any]:
    params: dict[str, Any] = fields.get("params") or {}
    return params if type(fields.get("params")) is dict else {"params": params}


def _change(name: str, old: Any, new: Any) -> str:
    if name == "statements" and (len(items(old)) > 1 or len(items(new)) > 1):
        gone = [f"without {_shown(name, text)}" for text in items(old) if text not in items(new)]
        added = [f"with {_shown(name, text)}" for text in items(new) if text not in items(old)]
        return ", ".join([*gone, *added]) or "another order"
    return f"{_shown(name, old)} -> {_shown(name, new)}"


def _shown(name: str, value: Any) -> str:
    if value is None:
        return "none"
    if name in ("evidence", "prompt"):
        return f"{str(value)[:8]}.."
    one = items(value) if name == "statements" else []
    text = repr(one[0] if len(one) == 1 else value)
    return text if len(text) <= 80 else f"{text[:80]}.."
