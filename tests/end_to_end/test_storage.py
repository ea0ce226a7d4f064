"""Disks that are full or read-only, runs that another process writes, files that were damaged."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from adjudge.testing import Reply, Request

if TYPE_CHECKING:
    from tests.end_to_end.conftest import Desk, Done, NewDesk

CONVERSATIONS = 60
KEYS = 2 * CONVERSATIONS
AT_ONCE = 8
Mount = Callable[[str], None]


def prepare(desk: Desk) -> None:
    """A suite of 120 questions with answers that take room."""
    desk.conversations(*(f"c{n}" for n in range(CONVERSATIONS)))
    desk.suite(desk.grader("A.", "B."), judges={"main": desk.judge(max_concurrency=AT_ONCE)})


def assert_storage_failed(done: Done, path: str) -> None:
    assert done.code == 4, done
    assert "Traceback" not in done.err
    last = done.err.splitlines()[-1]
    assert last.startswith("adjudge: ")
    assert path in last


@pytest.fixture
def small_disk(tmp_path: Path, new_desk: NewDesk) -> Generator[tuple[Desk, Mount]]:
    """A desk whose `.adjudge` is a small disk of its own, and what mounts it anew with other options."""
    with new_desk(tmp_path / "desk") as desk:
        folder = desk.path / ".adjudge"
        folder.mkdir()

        def mount(options: str) -> None:
            subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", folder], check=True)

        if os.geteuid() != 0:
            pytest.skip("mounting a small disk takes root")
        mount("size=400k")
        try:
            yield desk, lambda options: mount(f"remount,{options}")
        finally:
            subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize("largest", [1_000, 20_000, 40_000, 90_000])
def test_a_file_that_can_not_grow_ends_the_run_and_resume_loses_nothing(desk: Desk, largest: int) -> None:
    prepare(desk)

    failed = desk.adjudge("run", "suite.yaml", largest_file=largest)

    assert_storage_failed(failed, ".adjudge")
    paid = desk.server.count
    resumed = desk.adjudge("resume") if desk.runs else desk.run()
    assert (resumed.code, resumed.err) == (0, "")
    assert desk.server.count <= max(paid, KEYS) + AT_ONCE
    assert desk.summary()["counts"]["passed"] == CONVERSATIONS
    assert not [name for name in desk.files() if ".tmp" in name or ".planning" in name]


def test_a_full_disk_ends_the_run_and_resume_loses_nothing(small_disk: tuple[Desk, Mount]) -> None:
    desk, remount = small_disk
    prepare(desk)

    failed = desk.run()
    paid = desk.server.count
    assert_storage_failed(failed, ".adjudge")
    assert "free some space" in failed.err or "full" in failed.err
    remount("size=10m")
    resumed = desk.adjudge("resume") if desk.runs else desk.run()

    assert (resumed.code, resumed.err) == (0, "")
    assert 0 < paid < KEYS
    assert desk.server.count <= KEYS + AT_ONCE
    assert desk.summary()["counts"]["passed"] == CONVERSATIONS


def test_a_run_on_a_read_only_disk_can_be_read_and_not_resumed(small_disk: tuple[Desk, Mount]) -> None:
    desk, remount = small_disk
    remount("size=10m")
    desk.suite(desk.grader("A."))
    assert desk.run().code == 0
    remount("ro")

    assert desk.adjudge("show").code == 0
    assert desk.adjudge("show", "latest", "c1").code == 0
    assert desk.adjudge("export").code == 0
    assert_storage_failed(desk.adjudge("resume"), desk.runs[0].name)


def test_nothing_is_asked_if_nothing_can_be_written(small_disk: tuple[Desk, Mount]) -> None:
    desk, remount = small_disk
    remount("ro")
    desk.suite(desk.grader("A."))

    assert_storage_failed(desk.run(), ".adjudge")
    assert desk.server.count == 0


def test_a_killed_run_on_a_read_only_disk_says_what_to_do(small_disk: tuple[Desk, Mount]) -> None:
    desk, remount = small_disk
    remount("size=10m")
    desk.suite(desk.grader("A."))
    desk.run()
    for name in ("results.jsonl", "summary.json"):
        (desk.runs[0] / name).unlink()
    remount("ro")

    assert_storage_failed(desk.adjudge("show"), desk.runs[0].name)


def test_a_cache_that_is_no_directory_is_named(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    (desk.path / "file").write_text("")

    assert_storage_failed(desk.run("--cache", "file"), "file")
    assert desk.server.count == 0


def test_a_home_that_is_no_directory_is_named(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    (desk.path / "file").write_text("mine")

    assert_storage_failed(desk.run("--out", "file"), "file")
    assert (desk.path / "file").read_text() == "mine"


def test_a_run_that_is_being_written_is_refused_to_a_second_process(desk: Desk) -> None:
    begun, release = threading.Event(), threading.Event()

    def answer(_: Request) -> Reply:
        begun.set()
        release.wait()
        return Reply()

    desk.answer = answer
    desk.suite(desk.grader("A."))
    running = desk.start("run", "suite.yaml")
    assert begun.wait(60)

    second = desk.adjudge("resume")
    release.set()

    assert_storage_failed(second, desk.runs[0].name)
    assert "another process" in second.err
    assert running.wait().code == 0
    assert desk.server.count == 1


def test_two_runs_at_once_ask_each_question_once(desk: Desk) -> None:
    prepare(desk)

    one, two = desk.start("run", "suite.yaml"), desk.start("run", "suite.yaml")

    assert [one.wait().code, two.wait().code] == [0, 0]
    assert desk.server.count == KEYS
    assert len(desk.runs) == 2
    assert [desk.summary(run)["counts"]["passed"] for run in desk.runs] == [CONVERSATIONS] * 2
    assert sum(desk.summary(run)["calls"] for run in desk.runs) == KEYS


@pytest.mark.parametrize("name", ["plan.json", "conversations.jsonl"])
def test_a_damaged_run_is_refused_and_not_graded_by_halves(desk: Desk, name: str) -> None:
    prepare(desk)
    desk.run()
    for made in ("grades.jsonl", "results.jsonl", "summary.json"):
        (desk.runs[0] / made).unlink()
    file = desk.runs[0] / name
    os.truncate(file, file.stat().st_size // 2)

    assert_storage_failed(desk.adjudge("resume"), desk.runs[0].name)
    assert desk.server.count == KEYS


def test_a_conversation_changed_after_planning_is_refused(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.run()
    (desk.runs[0] / "grades.jsonl").unlink()
    file = desk.runs[0] / "conversations.jsonl"
    file.write_text(file.read_text().replace("order number", "blood type"))

    failed = desk.adjudge("resume")

    assert_storage_failed(failed, desk.runs[0].name)
    assert "'c1'" in failed.err
    assert desk.server.count == 1


def test_a_cache_that_is_garbage_is_set_aside_and_not_deleted(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.run()
    cache = desk.path / ".adjudge" / "cache"
    for leftover in cache.glob("cache.db-*"):
        leftover.unlink()
    (cache / "cache.db").write_bytes(b"garbage" * 1000)

    failed = desk.run()

    assert_storage_failed(failed, "cache.db")
    assert any((path.read_bytes()[:7] == b"garbage") for path in cache.iterdir() if path.is_file())
    assert desk.run().code == 0
