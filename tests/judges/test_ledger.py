"""The ledger keeps what it acknowledged, and believes nothing it reads (C5, C8, C9)."""

# diskcache has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false

from __future__ import annotations

import asyncio
import os
import random
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import diskcache
import pytest

from adjudge.judges.failure import StorageError
from adjudge.judges.ledger.directory import FILES
from adjudge.judges.ledger.ledger import Ledger
from adjudge.judges.ledger.record import DamagedRecordError, Record, encode
from adjudge.judges.request import canonical_json, digest
from adjudge.judges.verdict import Decision, Verdict

MOUNTS = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("mount") is None, reason="needs to mount a disk"
)


def record(number: int = 0, decision: Decision = "met", rationale: str = "because") -> Record:
    fields = {"statements": [f"The agent says {number}."]}
    return Record(
        key=digest(canonical_json(fields)),
        fields=fields,
        verdicts=(Verdict(decision=decision, rationale=rationale),),
        attempts=(),
        origin=None,
        created="2026-01-02T03:04:05+00:00",
        adjudge="1",
    )


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def warnings() -> list[str]:
    """What was warned of."""
    return []


@pytest.fixture
def ledger(directory: Path, warnings: list[str]) -> Iterator[Ledger]:
    with Ledger.open(directory, warn=warnings.append) as opened:
        yield opened


def filled(directory: Path, count: int = 50) -> list[Record]:
    """Put `count` records into a cache and close it."""
    records = [record(number, rationale="x" * 500) for number in range(count)]
    with Ledger.open(directory) as ledger:
        ledger.add(records)
    return records


def open_files() -> list[str]:
    """The files this process has open."""
    return sorted(path.name for path in Path("/proc/self/fd").iterdir())


def in_database(directory: Path, *statements: tuple[str, tuple[object, ...]]) -> None:
    """Change the rows of a closed cache as somebody else would."""
    with closing(sqlite3.connect(directory / "cache.db", isolation_level=None)) as connection:
        for statement, values in statements:
            assert connection.execute(statement, values).rowcount == 1


async def test_what_was_put_is_there_after_opening_again(directory: Path) -> None:
    with Ledger.open(directory) as ledger:
        await ledger.put(record())
    with Ledger.open(directory) as ledger:
        assert ledger.get(record().key) == record()


async def test_an_unknown_key_has_no_record(ledger: Ledger) -> None:
    assert ledger.get(record().key) is None
    assert ledger.damaged == 0


async def test_a_put_is_done_when_everybody_can_see_it(ledger: Ledger, directory: Path) -> None:
    await ledger.put(record())
    with Ledger.open(directory, read_only=True) as other:
        assert other.get(record().key) == record()


async def test_puts_made_together_are_all_kept(ledger: Ledger) -> None:
    records = [record(number) for number in range(500)]
    await asyncio.gather(*(ledger.put(each) for each in records))

    assert [ledger.get(each.key) for each in records] == records


async def test_a_put_nobody_waits_for_is_kept(directory: Path) -> None:
    with Ledger.open(directory) as ledger:
        ledger.put(record()).cancel()
    with Ledger.open(directory) as ledger:
        assert ledger.get(record().key) == record()


async def test_a_replaced_record_goes_into_the_history(ledger: Ledger) -> None:
    first, second, third = record(), record(decision="not_met"), record(decision="undetermined")
    for each in (first, second, third):
        await ledger.put(each)

    assert ledger.get(first.key) == replace(third, history=(first, second))


async def test_adding_keeps_what_is_there(ledger: Ledger) -> None:
    await ledger.put(record(1))

    assert ledger.add([record(1, "not_met"), record(2)]) == 1
    assert ledger.get(record(1).key) == record(1)
    assert ledger.get(record(2).key) == record(2)


def test_entries_are_listed_in_the_order_of_their_keys(directory: Path) -> None:
    records = filled(directory)
    with Ledger.open(directory, read_only=True) as ledger:
        assert list(ledger.scan()) == [
            (each.key, each) for each in sorted(records, key=lambda each: each.key)
        ]


def test_directory_and_files_are_their_owners_alone(directory: Path, ledger: Ledger) -> None:
    ledger.add([record()])

    assert directory.stat().st_mode & 0o777 == 0o700
    assert {path.name for path in directory.iterdir()} == {*FILES}
    assert {path.stat().st_mode & 0o077 for path in directory.iterdir()} == {0}


def test_closing_leaves_no_file_open(directory: Path) -> None:
    before = open_files()
    filled(directory)

    assert open_files() == before


def test_closing_twice_does_no_harm(ledger: Ledger) -> None:
    ledger.close()
    ledger.close()


def test_a_closed_ledger_says_so(ledger: Ledger) -> None:
    ledger.close()

    with pytest.raises(StorageError, match="closed"):
        ledger.get(record().key)


def test_a_cache_found_whole_is_opened_without_a_write(directory: Path) -> None:
    filled(directory)
    before = (directory / "cache.db").read_bytes()
    with Ledger.open(directory) as ledger:
        assert ledger.get(record().key) is not None

    assert (directory / "cache.db").read_bytes() == before


# Somebody else opens it


def test_settings_that_evict_are_put_right_with_a_warning(directory: Path, warnings: list[str]) -> None:
    filled(directory)
    policy = "least-recently-stored"
    diskcache.Cache(str(directory), size_limit=1000, cull_limit=10, eviction_policy=policy).close()
    with Ledger.open(directory, warn=warnings.append) as ledger:
        ledger.add([record(number) for number in range(1000, 1100)])
        count = len(list(ledger.scan()))

    assert count == 150
    assert len(warnings) == 1
    assert "size_limit=1000" in warnings[0]
    with diskcache.Cache(str(directory)) as cache:
        assert cache.reset("eviction_policy") == "none"
        assert cache.reset("sqlite_synchronous") == 2


def test_an_opener_that_names_only_a_limit_evicts_nothing(directory: Path) -> None:
    filled(directory)
    with diskcache.Cache(str(directory), size_limit=1000) as cache:
        for number in range(20):
            cache.set(str(number), "x" * 1000)
        assert cache.reset("count") == 70


def test_a_read_only_opener_warns_of_settings_it_can_not_put_right(
    directory: Path, warnings: list[str]
) -> None:
    filled(directory)
    diskcache.Cache(str(directory), cull_limit=10).close()
    with Ledger.open(directory, read_only=True, warn=warnings.append):
        assert "can't be put right" in warnings[0]


@pytest.mark.parametrize("name", ["get", "_local", "sqlite_query_only", "disk_anything"])
def test_settings_diskcache_does_not_know_do_no_harm(directory: Path, name: str) -> None:
    filled(directory)
    in_database(directory, ("INSERT INTO Settings VALUES (?, ?)", (name, 1)))
    with Ledger.open(directory) as ledger:
        assert ledger.add([record(1000)]) == 1
        assert ledger.get(record(1000).key) == record(1000)


# Rows nobody here wrote


class Bomb:
    """Unpickled, it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return (Path.touch, (self.path,))


@pytest.fixture
def hostile(directory: Path, tmp_path: Path) -> Path:
    """A cache of 50 with a pickled value (0), a pickled key, a file's name (1), and another's answer (2)."""
    import pickle

    filled(directory)
    (tmp_path / "victim.txt").write_text("untouched")
    bomb = pickle.dumps(Bomb(tmp_path / "executed"))
    in_database(
        directory,
        ("UPDATE Cache SET mode = 4, value = ? WHERE key = ?", (bomb, record(0).key)),
        ("INSERT INTO Cache (key, raw, mode, value) VALUES (?, 0, 1, 'x')", (bomb,)),
        (
            "UPDATE Cache SET mode = 3, filename = ?, value = NULL WHERE key = ?",
            ("../victim.txt", record(1).key),
        ),
        ("UPDATE Cache SET value = ? WHERE key = ?", (encode(record(3)).decode(), record(2).key)),
    )
    return directory


def test_hostile_rows_are_misses_that_are_counted_and_warned_of_once(
    hostile: Path, warnings: list[str]
) -> None:
    with Ledger.open(hostile, warn=warnings.append) as ledger:
        for _ in range(2):
            assert [ledger.get(record(number).key) for number in range(3)] == [None] * 3
        assert ledger.damaged == 3
        assert len(warnings) == 3


def test_hostile_rows_are_listed_as_damaged(hostile: Path) -> None:
    with Ledger.open(hostile) as ledger:
        damaged = [key for key, found in ledger.scan() if isinstance(found, DamagedRecordError)]

    assert len(damaged) == 4
    assert {record(number).key for number in range(3)} < set(damaged)


async def test_nothing_in_a_hostile_cache_is_executed_or_removed(hostile: Path, tmp_path: Path) -> None:
    with Ledger.open(hostile) as ledger:
        list(ledger.scan())
        for number in range(3):
            ledger.get(record(number).key)
            await ledger.put(record(number))

    assert (tmp_path / "victim.txt").read_text() == "untouched"
    assert not (tmp_path / "executed").exists()


async def test_a_verdict_replaces_a_hostile_row(hostile: Path) -> None:
    with Ledger.open(hostile) as ledger:
        for number in range(3):
            await ledger.put(record(number))
        assert [ledger.get(record(number).key) for number in range(3)] == [record(n) for n in range(3)]


def test_an_import_replaces_a_hostile_row(hostile: Path) -> None:
    with Ledger.open(hostile) as ledger:
        assert ledger.add([record(number) for number in range(5)]) == 3


def test_a_row_too_large_to_be_a_verdict_is_damaged(directory: Path) -> None:
    filled(directory)
    in_database(directory, ("UPDATE Cache SET value = zeroblob(70000000) WHERE key = ?", (record(0).key,)))
    with Ledger.open(directory) as ledger:
        assert ledger.get(record(0).key) is None
        assert ledger.damaged == 1
        assert len(list(ledger.scan())) == 50


# Damaged files


def with_garbage(content: bytes) -> bytes:
    """A database without its header."""
    return b"garbage\0" * 20 + content[160:]


def cut(content: bytes) -> bytes:
    """A database whose writing was cut short."""
    return content[:3000]


@pytest.mark.parametrize("damage", [with_garbage, cut])
def test_a_file_that_is_no_database_is_renamed_and_named(
    directory: Path, damage: Callable[[bytes], bytes]
) -> None:
    filled(directory)
    damaged = damage((directory / "cache.db").read_bytes())
    (directory / "cache.db").write_bytes(damaged)
    with pytest.raises(StorageError, match=r"renamed to 'cache\.db\.damaged-1'"):
        Ledger.open(directory)

    assert (directory / "cache.db.damaged-1").read_bytes() == damaged
    with Ledger.open(directory) as ledger:
        assert list(ledger.scan()) == []


def test_a_reader_renames_nothing(directory: Path) -> None:
    filled(directory)
    (directory / "cache.db").write_bytes(b"garbage" * 1000)
    with pytest.raises(StorageError, match="not a database"):
        Ledger.open(directory, read_only=True)

    assert sorted(path.name for path in directory.iterdir()) == ["cache.db", "leases"]


@pytest.mark.parametrize("seed", range(20))
def test_flipped_bits_never_change_a_decision_and_never_raise_anything_unnamed(
    directory: Path, seed: int
) -> None:
    records = filled(directory, 200)
    chance = random.Random(seed)
    content = bytearray((directory / "cache.db").read_bytes())
    for _ in range(20):
        content[chance.randrange(100, len(content))] ^= 1 << chance.randrange(8)
    (directory / "cache.db").write_bytes(content)
    with suppress(StorageError), Ledger.open(directory, warn=lambda _: None) as ledger:
        list(ledger.scan())
        ledger.integrity()
        found = [ledger.get(each.key) for each in records]
        assert {each.verdicts[0].decision for each in found if each is not None} <= {"met"}
        ledger.add([record(number) for number in range(1000, 1010)])


def test_integrity_finds_a_damaged_page(directory: Path) -> None:
    filled(directory, 200)
    with (directory / "cache.db").open("r+b") as file:
        file.seek(4096 * 20)
        file.write(b"\xff" * 4096)
    with Ledger.open(directory, read_only=True) as ledger:
        assert ledger.integrity() != []


def test_a_sound_cache_has_integrity(directory: Path) -> None:
    filled(directory)
    with Ledger.open(directory, read_only=True) as ledger:
        assert ledger.integrity() == []


# Disks


def test_reading_where_there_is_no_cache_says_so(directory: Path) -> None:
    directory.mkdir(mode=0o700)
    with pytest.raises(StorageError, match="nothing in it yet"):
        Ledger.open(directory, read_only=True)

    assert list(directory.iterdir()) == []


async def test_a_reader_can_not_write(directory: Path) -> None:
    filled(directory)
    with Ledger.open(directory, read_only=True) as ledger, pytest.raises(StorageError, match="reading only"):
        await ledger.ready()


def mount(*options: str | Path) -> None:
    """Run `mount`."""
    subprocess.run(["mount", *options], check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 3 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount("-t", "tmpfs", "-o", "size=3m", "tmpfs", place)
    yield place
    subprocess.run(["umount", place], check=True)


async def put_until_it_fails(ledger: Ledger, kept: list[Record]) -> None:
    """Put records for ever, and name those that were acknowledged."""
    while True:
        each = record(len(kept), rationale="x" * 2000)
        await ledger.put(each)
        kept.append(each)


@MOUNTS
async def test_a_full_disk_loses_nothing_that_was_acknowledged(disk: Path) -> None:
    kept: list[Record] = []
    with Ledger.open(disk / "cache") as ledger:
        with pytest.raises(StorageError, match="full"):
            await put_until_it_fails(ledger, kept)
        with pytest.raises(StorageError, match="full"):
            ledger.claim(record().key)
        assert [ledger.get(each.key) for each in kept] == kept
    mount("-o", "remount,size=30m", disk)
    with Ledger.open(disk / "cache") as ledger:
        assert [ledger.get(each.key) for each in kept] == kept
        assert ledger.integrity() == []
        await ledger.put(record(20_000))
    assert len(kept) > 100


@MOUNTS
async def test_a_disk_too_full_to_store_anything_is_found_before_anything_is_asked(disk: Path) -> None:
    filled(disk / "cache")
    with (disk / "filler").open("wb", buffering=0) as file, suppress(OSError):
        while file.write(b"x" * 4096):
            pass
    with pytest.raises(StorageError, match="cache"):
        await opened_and_ready(disk / "cache")


async def opened_and_ready(directory: Path) -> None:
    """Open a cache and see that it can store."""
    with Ledger.open(directory) as ledger:
        await ledger.ready()


@MOUNTS
def test_a_read_only_disk_is_refused_for_writing_and_can_be_read(disk: Path) -> None:
    records = filled(disk / "cache")
    mount("-o", "remount,ro", disk)
    with pytest.raises(StorageError, match=r"(?i)read-only"):
        Ledger.open(disk / "cache")
    with Ledger.open(disk / "cache", read_only=True) as ledger:
        assert [ledger.get(each.key) for each in records] == records


@MOUNTS
def test_verdicts_still_in_the_log_of_a_read_only_disk_are_not_passed_over(disk: Path) -> None:
    with Ledger.open(disk / "cache") as ledger:
        ledger.add([record()])
        shutil.copytree(disk / "cache", disk / "copy")
    (disk / "copy" / "cache.db-shm").unlink()
    mount("-o", "remount,ro", disk)
    with pytest.raises(StorageError, match="newest verdicts"):
        Ledger.open(disk / "copy", read_only=True)
