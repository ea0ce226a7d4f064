"""What a cache holds, whether it is sound, how it travels, and why a verdict was not found."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adjudge.judges.failure import StorageError, UsageError
from adjudge.judges.ledger.ledger import Ledger
from adjudge.judges.ledger.record import Record, encode
from adjudge.judges.ledger.recorded import Recordings
from adjudge.judges.request import canonical_json, digest
from adjudge.judges.verdict import Decision, Origin, Verdict
from adjudge.pipeline.cache_commands import (
    Exported,
    Imported,
    export,
    export_lines,
    import_records,
    stats,
    verify,
)
from adjudge.pipeline.preview.nearest import why_miss

FIELDS: dict[str, Any] = {
    "api_base": None,
    "calls": "per_statement",
    "evidence": "e" * 64,
    "model": "openai/one",
    "output": "auto",
    "params": {"temperature": 0},
    "prompt": "p" * 64,
    "sample": 0,
    "statements": ["The agent greets."],
}


def record(decision: Decision = "met", created: str = "2026-01-02T00:00:00+00:00", **changes: Any) -> Record:
    fields = FIELDS | changes
    return Record(
        key=digest(canonical_json(fields)),
        fields=fields,
        verdicts=tuple(Verdict(decision=decision, rationale="because") for _ in fields["statements"]),
        attempts=(),
        origin=None,
        created=created,
        adjudge="1",
    )


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def ledger(directory: Path) -> Iterator[Ledger]:
    with Ledger.open(directory) as opened:
        yield opened


def damage(directory: Path, key: str) -> None:
    """Write nonsense into the row of `key`."""
    with closing(sqlite3.connect(directory / "cache.db", isolation_level=None)) as connection:
        assert connection.execute("UPDATE Cache SET value = '{}' WHERE key = ?", (key,)).rowcount == 1


def near(ledger: Ledger, **changes: Any) -> list[str]:
    """Why the entries nearest to a question are not its answer."""
    return [each.why for each in why_miss(ledger, FIELDS | changes).nearest]


# stats


def test_stats_count_what_a_cache_holds(ledger: Ledger, directory: Path) -> None:
    ledger.add(
        [
            record(),
            record("not_met", created="2025-01-02T00:00:00+00:00", model="openai/two"),
            record(statements=["One.", "Two."], created=""),
            replace(record(sample=1), history=(record(sample=1),)),
            record(sample=2),
        ]
    )
    damage(directory, record(sample=2).key)
    found = stats(ledger)

    assert (found.entries, found.damaged, found.replaced) == (4, 1, 1)
    assert found.models == {"openai/one": 3, "openai/two": 1}
    assert found.prompts == {"p" * 64: 4}
    assert found.decisions == {"met": 4, "not_met": 1}
    assert (found.oldest, found.newest) == ("2025-01-02T00:00:00+00:00", "2026-01-02T00:00:00+00:00")
    assert found.bytes > 4096


def test_stats_of_an_empty_cache_name_no_times(ledger: Ledger) -> None:
    found = stats(ledger)

    assert (found.entries, found.oldest, found.newest) == (0, None, None)


# verify


def test_a_sound_cache_verifies(ledger: Ledger) -> None:
    ledger.add([record(), record(sample=1)])
    found = verify(ledger)

    assert found.sound
    assert found.entries == 2


def test_verify_names_a_damaged_entry_and_why(ledger: Ledger, directory: Path) -> None:
    ledger.add([record(), record(sample=1)])
    damage(directory, record().key)
    found = verify(ledger)

    assert not found.sound
    assert (found.entries, found.damaged) == (1, ((record().key, "key: Field required"),))


def test_verify_finds_a_damaged_file(ledger: Ledger, directory: Path) -> None:
    ledger.add([record(sample=number) for number in range(200)])
    ledger.close()
    with (directory / "cache.db").open("r+b") as file:
        file.seek(4096 * 15)
        file.write(b"\xff" * 4096)
    with Ledger.open(directory, read_only=True) as reader:
        found = verify(reader)

    assert found.integrity
    assert not found.sound


# export and import


def test_an_export_imports_to_the_same_cache(ledger: Ledger, tmp_path: Path) -> None:
    ledger.add([record(), replace(record(sample=1), history=(record("not_met", sample=1),))])
    written = export(ledger, tmp_path / "export.jsonl")
    with Ledger.open(tmp_path / "other") as other:
        taken = import_records(other, tmp_path / "export.jsonl")
        assert list(other.scan()) == list(ledger.scan())

    assert (written, taken) == (Exported(written=2, damaged=0), Imported(added=2, kept=0, refused=()))


def test_an_export_is_a_recording(ledger: Ledger, tmp_path: Path) -> None:
    ledger.add([record()])
    export(ledger, tmp_path / "export.jsonl")

    assert Recordings([tmp_path / "export.jsonl"]).get(record().key) == record()


def test_the_lines_of_an_export_can_be_streamed(ledger: Ledger, tmp_path: Path) -> None:
    ledger.add([record(sample=number) for number in range(5)])
    export(ledger, tmp_path / "export.jsonl")

    assert b"".join(export_lines(ledger)) == (tmp_path / "export.jsonl").read_bytes()


def test_a_damaged_entry_is_left_out_of_an_export_and_counted(
    ledger: Ledger, directory: Path, tmp_path: Path
) -> None:
    ledger.add([record(), record(sample=1)])
    damage(directory, record().key)

    assert export(ledger, tmp_path / "export.jsonl") == Exported(written=1, damaged=1)
    assert (tmp_path / "export.jsonl").read_bytes() == encode(record(sample=1)) + b"\n"


def test_an_export_that_fails_leaves_nothing_behind(ledger: Ledger, tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        export(ledger, tmp_path / "nowhere" / "export.jsonl")

    assert not (tmp_path / "nowhere").exists()


def test_an_import_keeps_what_is_there(ledger: Ledger, tmp_path: Path) -> None:
    ledger.add([record("not_met")])
    (tmp_path / "import.jsonl").write_bytes(encode(record()) + b"\n" + encode(record(sample=1)))

    assert import_records(ledger, tmp_path / "import.jsonl") == Imported(added=1, kept=1, refused=())
    assert ledger.get(record().key) == record("not_met")


def test_an_import_refuses_bad_lines_by_name_and_takes_the_others(ledger: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "import.jsonl"
    path.write_bytes(encode(record()) + b"\nnonsense\n" + encode(record(sample=1)).replace(b"met", b"Met"))
    found = import_records(ledger, path)

    assert (found.added, found.kept, len(found.refused)) == (1, 0, 2)
    assert found.refused[0].startswith(f"{path}:2: ")
    assert found.refused[1].startswith(f"{path}:3: verdicts.0.decision: ")


def test_an_import_of_more_than_fits_one_transaction_takes_everything(ledger: Ledger, tmp_path: Path) -> None:
    lines = [encode(record(sample=number)) for number in range(1001)]
    (tmp_path / "import.jsonl").write_bytes(b"\n".join(lines))

    assert import_records(ledger, tmp_path / "import.jsonl").added == 1001
    assert len(list(ledger.scan())) == 1001


def test_a_missing_import_is_named(ledger: Ledger, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere\.jsonl"):
        import_records(ledger, tmp_path / "nowhere.jsonl")


# why-miss


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"prompt": "q" * 64}, "same question, but the prompt changed: pppppppp.. -> qqqqqqqq.."),
        ({"model": "openai/two"}, "same question, but the model changed: 'openai/one' -> 'openai/two'"),
        (
            {"api_base": "http://localhost"},
            "same question, but the api base changed: none -> 'http://localhost'",
        ),
        ({"params": {"temperature": 1}}, "same question, but parameter 'temperature' changed: 0 -> 1"),
        ({"params": {}}, "same question, but parameter 'temperature' changed: 0 -> none"),
        ({"evidence": "f" * 64}, "same statements, but the evidence changed: eeeeeeee.. -> ffffffff.."),
        (
            {"statements": ["The agent waves."]},
            "same evidence, but the statements changed: 'The agent greets.' -> 'The agent waves.'",
        ),
        (
            {"sample": 1, "output": "text"},
            "same question, but the output mode changed: 'auto' -> 'text'; the sample changed: 0 -> 1",
        ),
        ({"new_field": 1}, "same question, but new_field changed: none -> 1"),
    ],
)
def test_a_miss_is_explained_by_what_differs(ledger: Ledger, changes: dict[str, Any], why: str) -> None:
    ledger.add([record()])

    assert near(ledger, **changes) == [why]


def test_the_same_question_is_nearer_than_another_and_then_the_other_is_not_named(ledger: Ledger) -> None:
    ledger.add([record(evidence="f" * 64), record(model="openai/two", prompt="q" * 64), record(sample=1)])
    found = near(ledger)

    assert [why.split(",")[0] for why in found] == ["same question", "same question"]
    assert "the sample" in found[0]


def test_the_edited_statement_is_nearer_than_its_neighbours_and_than_other_conversations(
    ledger: Ledger,
) -> None:
    others = [record(statements=[f"{text} is said."]) for text in ("Nothing", "Goodbye", "A price", "A name")]
    ledger.add([*others, record(statements=["The agent greets"]), record(evidence="f" * 64)])

    assert near(ledger) == [
        "same evidence, but the statements changed: 'The agent greets' -> 'The agent greets.'"
    ]


def test_the_conversation_as_it_was_before_is_nearer_than_others(ledger: Ledger) -> None:
    was = replace(record(evidence="f" * 64), origin=Origin(run="r", unit="c1/g/s1/main/0"))
    other = replace(record(evidence="0" * 64), origin=Origin(run="r", unit="c2/g/s1/main/0"))
    ledger.add([other, was])

    asked = [why_miss(ledger, FIELDS, conversation=name).nearest for name in ("c1", "c3")]

    assert [near.key for near in asked[0]] == [was.key]
    assert asked[0][0].why.endswith("the evidence changed: ffffffff.. -> eeeeeeee..")
    assert [near.why.endswith("it was asked about another conversation") for near in asked[1]] == [True, True]


def test_of_several_equally_near_the_newest_comes_first(ledger: Ledger) -> None:
    ledger.add(
        [record(created=f"202{year}-01-01T00:00:00+00:00", sample=year) for year in (5, 7, 6, 4)],
    )

    assert [near.created[:4] for near in why_miss(ledger, FIELDS).nearest] == ["2027", "2026", "2025"]


def test_of_several_statements_those_that_came_or_went_are_named(ledger: Ledger) -> None:
    ledger.add([record(statements=["A.", "B."])])

    assert near(ledger, statements=["B.", "C."]) == [
        "same evidence, but the statements changed: without 'A.', with 'C.'"
    ]
    assert near(ledger, statements=["B.", "A."]) == [
        "same evidence, but the statements changed: another order"
    ]


def test_entries_about_something_else_are_not_named(ledger: Ledger) -> None:
    ledger.add([record(evidence="f" * 64, statements=["Something else."])])
    found = why_miss(ledger, FIELDS)

    assert (found.stored, found.nearest) == (False, ())


def test_no_more_entries_are_named_than_asked_for(ledger: Ledger) -> None:
    ledger.add([record(sample=number) for number in range(1, 9)])

    assert len(why_miss(ledger, FIELDS, limit=2).nearest) == 2


def test_a_miss_that_is_there_is_said_to_be_there(ledger: Ledger) -> None:
    ledger.add([record()])
    found = why_miss(ledger, FIELDS)

    assert (found.key, found.stored, found.damage) == (record().key, True, None)


def test_a_damaged_entry_explains_a_miss(ledger: Ledger, directory: Path) -> None:
    ledger.add([record()])
    damage(directory, record().key)

    assert why_miss(ledger, FIELDS).damage == "key: Field required"
