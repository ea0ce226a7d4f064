"""Death and a full disk at every step a run takes on files: nothing is lost, nothing is half there (C9)."""

from __future__ import annotations

import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.end_to_end.conftest import Desk, Done

CONVERSATIONS = ("c1", "c2", "c3")
KEYS = 2 * len(CONVERSATIONS)
AT_ONCE = 2

every = pytest.mark.parametrize("pace", [5, pytest.param(1, marks=pytest.mark.soak)])
"""Not every step is tried in every run of the tests."""


@pytest.fixture
def undisturbed(desk: Desk) -> Path:
    """The directory of a run of three conversations, two statements and a verifier that nothing disturbed."""
    desk.conversations(*CONVERSATIONS)
    desk.suite(
        desk.grader("A.", "B.", threshold=0.5),
        desk.verifier("return [check('a', True)]"),
        judges={"main": desk.judge(max_concurrency=AT_ONCE, output="text")},
    )
    desk.decide({"B.": "not_met"})
    assert desk.run().code == 0
    return desk.runs[0]


def failing(desk: Desk, how: str, pace: int, *command: str) -> Iterator[tuple[Path, Done]]:
    """A run in a directory of its own for each step at which it can fail: where, and how it ended."""
    for step in count(1, pace):
        home = desk.path / f"{how}-{step}"
        desk.environ["FAIL"] = f"{how}:{step}"
        done = desk.adjudge(*command, "--out", str(home))
        del desk.environ["FAIL"]
        if done.code == 0:
            assert step > 15
            return
        yield home, done


def assert_goes_on(desk: Desk, home: Path, expected: Path) -> None:
    """See that a run that failed, resumed, comes out as if it had not; or begun again, if it never began."""
    begun = list((home / "runs").glob("[!.]*"))
    paid = desk.server.count
    done = desk.adjudge(*(["resume", "latest"] if begun else ["run", "suite.yaml"]), "--out", str(home))
    assert done.code == 0, (home, done)
    assert all(line.endswith("that line is dropped") for line in done.err.splitlines())
    assert desk.server.count - paid <= KEYS
    (run,) = (home / "runs").iterdir()
    assert desk.results(run) == desk.results(expected), home
    assert desk.summary(run) | {"run_id": ""} == desk.summary(expected) | {"run_id": ""}, home
    assert {path.name for path in run.iterdir()} == {path.name for path in expected.iterdir()}
    with closing(sqlite3.connect(home / "cache" / "cache.db")) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute("SELECT count(*) FROM Cache").fetchall() == [(KEYS,)]


@every
def test_a_run_that_dies_at_any_step_comes_out_as_if_it_had_not(
    desk: Desk, undisturbed: Path, pace: int
) -> None:
    deaths = 0
    for home, died in failing(desk, "die", pace, "run", "suite.yaml"):
        assert died.code == -signal.SIGKILL, died
        assert_goes_on(desk, home, undisturbed)
        deaths += 1

    assert desk.server.count <= (deaths + 2) * KEYS + deaths * AT_ONCE


@every
@pytest.mark.parametrize("how", ["full", pytest.param("once", marks=pytest.mark.soak)])
def test_a_disk_that_is_full_at_any_step_ends_the_run_and_loses_nothing(
    desk: Desk, undisturbed: Path, pace: int, how: str
) -> None:
    failures = 0
    for home, failed in failing(desk, how, pace, "run", "suite.yaml"):
        assert failed.code == 4, failed
        (message,) = failed.err.splitlines()
        assert message.startswith("adjudge: ")
        assert str(home) in message
        assert "No space left on device; free some space" in message
        assert not [path for path in home.rglob("*") if "tmp" in path.name or "planning" in path.name]
        assert_goes_on(desk, home, undisturbed)
        failures += 1

    assert desk.server.count <= (failures + 2) * KEYS + failures * AT_ONCE
