"""Files written whole, journals that survive being cut."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adjudge.judges.failure import StorageError
from adjudge.pipeline.files import Journal, whole_file, whole_lines


def _fail_halfway(path: Path) -> None:
    with whole_file(path) as file:
        file.write(b"half")
        raise RuntimeError


def test_a_file_whose_writing_fails_does_not_appear(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"

    with pytest.raises(RuntimeError):
        _fail_halfway(path)

    assert list(tmp_path.iterdir()) == []


def test_a_file_whose_rewriting_fails_keeps_its_old_content(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    path.write_bytes(b"old")

    with pytest.raises(RuntimeError):
        _fail_halfway(path)

    assert path.read_bytes() == b"old"


def test_a_link_planted_at_the_temporary_name_is_refused(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    (tmp_path / f".summary.json.{os.getpid()}.tmp").symlink_to(victim)

    with pytest.raises(StorageError, match=r"summary\.json"), whole_file(tmp_path / "summary.json") as file:
        file.write(b"new")

    assert victim.read_bytes() == b"precious"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines=st.lists(st.binary(max_size=40).map(lambda b: b.replace(b"\n", b"")), max_size=8), data=st.data()
)
def test_a_journal_cut_anywhere_keeps_every_whole_line_and_goes_on(
    tmp_path: Path, lines: list[bytes], data: st.DataObject
) -> None:
    path = tmp_path / "grades.jsonl"
    path.unlink(missing_ok=True)
    with Journal(path) as journal:
        for line in lines:
            journal.append(line)
    whole = path.read_bytes()
    cut = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:cut])
    kept = whole[:cut].count(b"\n")

    with Journal(path) as journal:
        journal.append(b"next")
        torn = journal.torn

    assert list(whole_lines(path)) == [*lines[:kept], b"next"]
    assert torn == (not whole[:cut].endswith(b"\n") and cut > 0)


def test_a_torn_last_line_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "grades.jsonl"
    path.write_bytes(b'{"a":1}\n{"b"')

    assert list(whole_lines(path)) == [b'{"a":1}']


def test_a_journal_on_a_full_disk_says_so() -> None:
    journal = Journal(Path("/dev/full"))
    journal.append(b"line")

    with pytest.raises(StorageError, match=r"No space left on device; free some space"):
        journal.flush()
