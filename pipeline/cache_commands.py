"""What `adjudge cache` does: statistics, verification, export, import, and why a verdict was not found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adjudge.judges.ledger.directory import FILES
from adjudge.judges.ledger.ledger import Ledger
from adjudge.judges.ledger.record import DamagedRecordError, Record, encode
from adjudge.judges.ledger.recorded import read_records
from adjudge.judges.request import canonical_json, digest
from adjudge.pipeline.display import visible_json
from adjudge.pipeline.files import whole_file

_IMPORTED_AT_ONCE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """What a cache holds. Texts come from the cache as they are: escape them before a terminal sees them.

    Attributes:
        entries: verdict records that can be used.
        damaged: entries that can't be believed.
        replaced: older records kept as history.
        bytes: size of all its files.
        models: entries by model name.
        prompts: entries by prompt digest.
        decisions: verdicts by decision.
        oldest, newest: when the first and the last entry was made, ISO 8601; None where unknown.
    """

    entries: int = 0
    damaged: int = 0
    replaced: int = 0
    bytes: int = 0
    models: Counter[str] = field(default_factory=Counter[str])
    prompts: Counter[str] = field(default_factory=Counter[str])
    decisions: Counter[str] = field(default_factory=Counter[str])
    oldest: str | None = None
    newest: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """Whether a cache is sound.

    Attributes:
        entries: records that can be used.
        damaged: key and reason of every entry that can't be believed.
        integrity: what SQLite finds wrong with the file; empty if nothing.
    """

    entries: int
    damaged: tuple[tuple[str, str], ...]
    integrity: tuple[str, ...]

    @property
    def sound(self) -> bool:
        """Nothing is wrong."""
        return not self.damaged and not self.integrity


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """How many records were written, and how many damaged entries were left out."""

    written: int
    damaged: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What became of the lines of a file.

    Attributes:
        added: records taken in.
        kept: records whose question was answered already; the answer that was there stays.
        refused: `file:line: why` of each line that is no valid record.
    """

    added: int
    kept: int
    refused: tuple[str, ...]


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
        nearest: the entries that differ least, nearest first.
    """

    key: str
    stored: bool
    damage: str | None
    nearest: tuple[Near, ...]


def stats(ledger: Ledger) -> Stats:
    """Count what `ledger` holds."""
    entries = damaged = replaced = 0
    models, prompts, decisions = Counter[str](), Counter[str](), Counter[str]()
    oldest = newest = ""
    for _, record in ledger.scan():
        if isinstance(record, DamagedRecordError):
            damaged += 1
            continue
        entries += 1
        replaced += len(record.history)
        models[str(record.fields.get("model"))] += 1
        prompts[str(record.fields.get("prompt"))] += 1
        decisions.update(verdict.decision for verdict in record.verdicts)
        oldest = min(oldest or record.created, record.created or oldest)
        newest = max(newest, record.created)
    files = (ledger.directory / name for name in FILES)
    return Stats(
        entries=entries,
        damaged=damaged,
        replaced=replaced,
        bytes=sum(path.stat().st_size for path in files if path.exists()),
        models=models,
        prompts=prompts,
        decisions=decisions,
        oldest=oldest or None,
        newest=newest or None,
    )


def verify(ledger: Ledger) -> Verified:
    """Check the database file, and every entry as if it came from a stranger."""
    entries, damaged = 0, list[tuple[str, str]]()
    for key, record in ledger.scan():
        if isinstance(record, DamagedRecordError):
            damaged.append((key, str(record)))
        else:
            entries += 1
    return Verified(entries=entries, damaged=tuple(damaged), integrity=tuple(ledger.integrity()))


def export_lines(ledger: Ledger) -> Iterator[bytes]:
    """Every record that can be used as a line of JSON with its newline, in the order of keys.

    The lines are those `recorded:` files consist of, and `import_records` reads.
    """
    for _, record in ledger.scan():
        if isinstance(record, Record):
            yield _line(record)


def export(ledger: Ledger, path: Path) -> Exported:
    """Write every record that can be used to `path`, whole or not at all.

    Raises:
        StorageError: if it can't be written.
    """
    written = damaged = 0
    with whole_file(path) as file:
        for _, record in ledger.scan():
            if isinstance(record, DamagedRecordError):
                damaged += 1
            else:
                file.write(_line(record))
                written += 1
    return Exported(written=written, damaged=damaged)


def _line(record: Record) -> bytes:
    return visible_json(encode(record).decode()).encode() + b"\n"


def import_records(ledger: Ledger, path: Path) -> Imported:
    """Take the records of an exported file into `ledger`; what it holds already is kept.

    Raises:
        UsageError: if the file can't be read.
        StorageError: if they can't be stored.
    """
    added = taken = 0
    batch, refused = list[Record](), list[str]()
    for place, _, record in read_records(path):
        if isinstance(record, DamagedRecordError):
            refused.append(f"{place}: {record}")
            continue
        taken += 1
        batch.append(record)
        if len(batch) == _IMPORTED_AT_ONCE:
            added += ledger.add(batch)
            batch.clear()
    added += ledger.add(batch)
    return Imported(added=added, kept=taken - added, refused=tuple(refused))


def why_miss(ledger: Ledger, fields: Mapping[str, Any], *, limit: int = 3) -> Missed:
    """Find the entries nearest to the question with these `JudgeRequest.key_fields`, and what differs.

    Args:
        ledger: where to look.
        fields: the key fields of the question.
        limit: how many entries to name at most.
    """
    key = digest(canonical_json(dict(fields)))
    stored, damage = False, None
    nearest: list[tuple[tuple[bool, int], str, Record]] = []
    for found, record in ledger.scan():
        if found == key:
            stored = True
            damage = str(record) if isinstance(record, DamagedRecordError) else None
        elif isinstance(record, Record) and _same(record.fields, fields):
            item = (_distance(record.fields, fields), found, record)
            nearest = sorted([*nearest, item], key=lambda item: item[:2])[:limit]
    return Missed(
        key=key,
        stored=stored,
        damage=damage,
        nearest=tuple(
            Near(key=found, created=record.created, why=_words(record.fields, fields))
            for _, found, record in nearest
        ),
    )


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


def _distance(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[bool, int]:
    """The same question before any other, then by how many things differ."""
    return len(_same(old, new)) < 2, len(_changes(old, new))


def _words(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    same = _same(old, new)
    return f"same {'question' if len(same) == 2 else same[0]}, but {'; '.join(_changes(old, new))}"


def _changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """What differs, a phrase each, in the order people would look for it."""
    names = [*_NAMES, *sorted((old.keys() | new.keys()) - _NAMES.keys() - {"params"})]
    changes = [
        f"{_NAMES.get(name, name)} changed: {_shown(name, old.get(name))} -> {_shown(name, new.get(name))}"
        for name in names
        if old.get(name) != new.get(name)
    ]
    before, after = _params(old), _params(new)
    return changes + [
        f"parameter {name!r} changed: {_shown(name, before.get(name))} -> {_shown(name, after.get(name))}"
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]


def _params(fields: Mapping[str, Any]) -> dict[str, Any]:
    params: dict[str, Any] = fields.get("params") or {}
    return params if type(fields.get("params")) is dict else {"params": params}


def _shown(name: str, value: Any) -> str:
    if value is None:
        return "none"
    if name in ("evidence", "prompt"):
        return f"{str(value)[:8]}.."
    statements: list[Any] = value if name == "statements" else []
    text = repr(statements[0] if len(statements) == 1 else value)
    return text if len(text) <= 80 else f"{text[:80]}.."
