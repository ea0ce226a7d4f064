"""Names never become paths, links are never followed, planted files are never run (S6, S7, S9)."""

from __future__ import annotations

import json
import pickle
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.end_to_end.conftest import Desk

IDS = [
    "../../escaped",
    "/tmp/escaped-from-adjudge",
    "a/b\\c",
    "..",
    ".",
    "CON",
    "-rf",
    "~",
    "$HOME",
    "nul\x00inside",
    "x" * 300,
    "emoji 😀",
    "A",
    "a",
    "caf\u00e9",
    "cafe\u0301",
    "line\nbreak",
    "%2e%2e%2f",
    " ",
    "latest",
    "results.jsonl",
]


def everything(folder: Path) -> dict[str, bytes | None]:
    """All there is below a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def test_hostile_ids_write_nothing_outside_the_run_and_never_share_a_file(desk: Desk) -> None:
    desk.conversations(*(desk.conversation(id_, test=id_) for id_ in IDS))
    desk.suite(desk.grader("A."), desk.verifier("return [check('a', True)]", name="checked"))
    before = everything(desk.path.parent)

    assert desk.run("--junit", "junit.xml").code == 0
    assert desk.adjudge("export", "--format", "result-json", "--to", "results").code == 0

    new = everything(desk.path.parent).keys() - before.keys()
    home = desk.path.name
    ours = (f"{home}/.adjudge", f"{home}/results", f"{home}/junit.xml", f"{home}-", f"{home}/__pycache__")
    assert [name for name in new if not name.startswith(ours)] == []
    assert {path.name for path in desk.runs[0].iterdir()} == {
        *("plan.json", "conversations.jsonl", "grades.jsonl", "errors.jsonl", "results.jsonl"),
        *("summary.json", "judges.json", "lock"),
    }
    index = json.loads((desk.path / "results" / "index.json").read_text())
    assert len({row["file"].lower() for row in index}) == len(index) == 2 * len(IDS)
    assert {row["conversation_id"] for row in index} == set(IDS)
    assert not Path("/tmp/escaped-from-adjudge").exists()


def test_an_empty_id_is_no_id(desk: Desk) -> None:
    desk.conversations("c1", "")
    desk.suite(desk.grader("A."))

    done = desk.run()

    assert done.code == 3
    assert "conversations.jsonl:2" in done.err


def test_a_run_that_is_a_link_is_not_followed(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.run()
    (run,) = desk.runs
    outside = run.rename(desk.path / "elsewhere")
    run.symlink_to(outside)
    before = everything(outside)

    for command in (["resume"], ["show"], ["resume", run.name], ["export", run.name]):
        done = desk.adjudge(*command)
        assert (done.code, done.out) == (2, "")
        assert "is a link" in done.err
    assert everything(outside) == before
    assert desk.adjudge("show", str(outside)).code == 0


@pytest.mark.parametrize("name", ["grades.jsonl", "errors.jsonl", "lock"])
def test_a_link_in_place_of_a_file_that_is_appended_to_is_refused(desk: Desk, name: str) -> None:
    desk.suite(desk.grader("A."))
    desk.run()
    victim = desk.path / "victim"
    victim.write_text("precious\n")
    (desk.runs[0] / name).unlink()
    (desk.runs[0] / name).symlink_to(victim)

    done = desk.adjudge("resume")

    assert done.code == 4
    assert name in done.err
    assert victim.read_text() == "precious\n"


@pytest.mark.parametrize("name", ["results.jsonl", "summary.json"])
def test_a_link_in_place_of_a_file_that_is_written_whole_is_replaced(desk: Desk, name: str) -> None:
    desk.suite(desk.grader("A."))
    desk.run()
    victim = desk.path / "victim"
    victim.write_text("precious\n")
    (desk.runs[0] / name).unlink()
    (desk.runs[0] / name).symlink_to(victim)

    assert desk.adjudge("resume").code == 0
    assert victim.read_text() == "precious\n"
    assert not (desk.runs[0] / name).is_symlink()


@pytest.mark.parametrize("line", ["precious", "[]", "{}", '{"number": 99, "grade": {"grader": "behaves"}}'])
@pytest.mark.parametrize("command", ["resume", "show"])
def test_a_journal_with_a_line_that_is_none_of_ours_is_called_damaged(
    desk: Desk, line: str, command: str
) -> None:
    desk.suite(desk.grader("A."))
    desk.run()
    (desk.runs[0] / "grades.jsonl").write_text(line + "\n")
    (desk.runs[0] / "results.jsonl").unlink()

    done = desk.adjudge(command)

    assert done.code == 4
    assert done.err.startswith("adjudge: ")
    assert "grades.jsonl' is damaged" in done.err


@pytest.mark.parametrize("form", ["csv", "junit", "markdown", "jsonl"])
def test_an_export_to_a_link_replaces_the_link(desk: Desk, form: str) -> None:
    desk.suite(desk.grader("A."))
    desk.run()
    victim = desk.path / "victim"
    victim.write_text("precious\n")
    (desk.path / "exported").symlink_to(victim)

    assert desk.adjudge("export", "--format", form, "--to", "exported").code == 0
    assert victim.read_text() == "precious\n"


def test_files_of_a_run_and_a_cache_are_their_owners_alone(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.run()

    for path in (desk.path / ".adjudge").rglob("*"):
        if path.name not in {"runs", "__pycache__"}:
            assert path.stat().st_mode & 0o077 == 0, path


class Bomb:
    """Unpickled, it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[Path]]:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("plant", ["value", "key", "file"])
def test_a_hostile_cache_runs_nothing_removes_nothing_and_is_asked_past(desk: Desk, plant: str) -> None:
    desk.suite(desk.grader("A."))
    desk.run()
    executed, victim = desk.path / "executed", desk.path / ".adjudge" / "victim.txt"
    victim.write_text("precious")
    bomb = pickle.dumps(Bomb(executed))
    with closing(sqlite3.connect(desk.path / ".adjudge/cache/cache.db", isolation_level=None)) as database:
        if plant == "value":
            database.execute("UPDATE Cache SET mode = 4, value = ?", (bomb,))
        elif plant == "key":
            database.execute("UPDATE Cache SET raw = 0, key = ?", (bomb,))
        else:
            database.execute("UPDATE Cache SET mode = 2, filename = '../victim.txt', value = NULL")

    done = desk.run()

    assert done.code == 0
    assert desk.server.count == 2
    assert ("is damaged and not used" in done.err) == (plant != "key")
    for command, code in (("stats", 0), ("verify", 4 if plant == "key" else 0), ("export", 0)):
        assert desk.adjudge("cache", command).code == code, command
    assert not executed.exists()
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_cache_that_others_can_write_into_is_refused(desk: Desk, mode: int) -> None:
    desk.suite(desk.grader("A."))
    desk.run()
    (desk.path / ".adjudge/cache").chmod(mode)

    done = desk.run()

    assert done.code == 4
    assert "others can write into it" in done.err
    assert desk.server.count == 1


def test_a_link_in_place_of_the_cache_file_is_refused(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.run()
    database = desk.path / ".adjudge/cache/cache.db"
    database.rename(desk.path / "elsewhere.db")
    database.symlink_to(desk.path / "elsewhere.db")
    before = (desk.path / "elsewhere.db").read_bytes()

    done = desk.run()

    assert done.code == 4
    assert "'cache.db' in it is no file" in done.err
    assert (desk.path / "elsewhere.db").read_bytes() == before
