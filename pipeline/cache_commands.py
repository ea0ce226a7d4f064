"""What `adjudge cache` does: statistics, verification, export, import."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from adjudge.judges.ledger.directory import FILES
from adjudge.judges.ledger.ledger import Ledger
from adjudge.judges.ledger.record import DamagedRecordError, Record, encode
from adjudge.judges.ledger.recorded import read_records
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
