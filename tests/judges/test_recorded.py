"""Recordings are files of answers, checked line by line (C11)."""

from __future__ import annotations

from pathlib import Path

import pytest

from adjudge.judges.failure import UsageError
from adjudge.judges.ledger.record import Record, encode
from adjudge.judges.ledger.recorded import Recordings
from adjudge.judges.request import canonical_json, digest
from adjudge.judges.verdict import Decision, Verdict


def record(statement: str = "The agent greets.", decision: Decision = "met") -> Record:
    fields = {"statements": [statement]}
    return Record(
        key=digest(canonical_json(fields)),
        fields=fields,
        verdicts=(Verdict(decision=decision, rationale="because"),),
        attempts=(),
        origin=None,
        created="",
        adjudge="1",
    )


def file_of(folder: Path, *lines: bytes) -> Path:
    path = folder / "recorded.jsonl"
    path.write_bytes(b"\n".join(lines))
    return path


def test_a_recorded_answer_is_found_by_its_key(tmp_path: Path) -> None:
    recordings = Recordings([file_of(tmp_path, encode(record()), b"", encode(record("It ends.")))])

    assert recordings.get(record("It ends.").key) == record("It ends.")
    assert len(recordings) == 2


def test_what_is_not_recorded_is_not_found(tmp_path: Path) -> None:
    assert Recordings([file_of(tmp_path)]).get(record().key) is None


def test_a_bad_line_names_its_file_and_line(tmp_path: Path) -> None:
    path = file_of(tmp_path, encode(record()), b"{}")

    with pytest.raises(UsageError, match=r"recorded\.jsonl:2: key: "):
        Recordings([path])


def test_a_line_with_a_key_twice_is_refused(tmp_path: Path) -> None:
    line = encode(record()).replace(b'"decision":', b'"decision":"not_met","decision":')

    with pytest.raises(UsageError, match=r":1: .*twice"):
        Recordings([file_of(tmp_path, line)])


def test_two_answers_to_one_question_are_refused(tmp_path: Path) -> None:
    path = file_of(tmp_path, encode(record()), encode(record(decision="not_met")))

    with pytest.raises(UsageError, match=r":2: .*:1"):
        Recordings([path])


def test_the_same_line_twice_does_no_harm(tmp_path: Path) -> None:
    path = file_of(tmp_path, encode(record()), encode(record()))

    assert Recordings([path, path]).get(record().key) == record()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere\.jsonl"):
        Recordings([tmp_path / "nowhere.jsonl"])
