"""Signals, clocks, other programs, disks that can only be read: a run bears them, or says so first."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from adjudge.testing import Reply, Request

if TYPE_CHECKING:
    from tests.end_to_end.conftest import Desk

IN_FLIGHT = 6


@pytest.fixture
def read_only_cache(desk: Desk) -> Generator[str]:
    """The name of a cache with the answer to A., on a disk that can only be read."""
    if os.geteuid() != 0:
        pytest.skip("mounting a disk takes root")
    cache = desk.path / "cache"
    cache.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=5m,mode=700", "none", cache], check=True)
    try:
        desk.suite(desk.grader("A."))
        assert desk.run("--cache", "cache").code == 0
        subprocess.run(["mount", "-o", "remount,ro", cache], check=True)
        yield "cache"
    finally:
        subprocess.run(["umount", cache], check=True)


def test_a_cache_that_can_only_be_read_ends_a_run_before_anything_is_paid(
    desk: Desk, read_only_cache: str
) -> None:
    desk.suite(desk.grader("A.", "B."))

    done = desk.run("--cache", read_only_cache)

    assert done.code == 4
    assert "Read-only file system" in done.err
    assert len(done.err.splitlines()) == 1
    assert desk.server.count == 1


def test_a_cache_that_can_only_be_read_answers_offline(desk: Desk, read_only_cache: str) -> None:
    done = desk.run("--cache", read_only_cache, "--offline")

    assert (done.code, done.err) == (0, "")
    assert desk.summary()["cached"] == 1
    assert desk.server.count == 1


def test_another_program_that_opens_the_cache_with_a_limit_costs_no_verdict(desk: Desk) -> None:
    desk.conversations(*(f"c{number}" for number in range(30)))
    desk.suite(desk.grader("A."))
    desk.run()
    other = (
        "from diskcache import Cache\n"
        "with Cache('.adjudge/cache', size_limit=1000) as cache:\n"
        "    for number in range(20):\n"
        "        cache.set(number, 'x' * 100)\n"
    )
    subprocess.run([sys.executable, "-c", other], cwd=desk.path, check=True)

    done = desk.run()

    assert done.code == 0
    assert "size_limit=1000: put right" in done.err
    assert desk.server.count == 30
    assert desk.run().err == ""


T = TypeVar("T")


def hanging(desk: Desk, start: Callable[[], T]) -> T:
    """A run of twenty questions, none of which is answered, with as many on the wire as may be."""
    held = threading.Event()

    def answer(_: Request) -> Reply:
        if desk.server.count == IN_FLIGHT:
            held.set()
        return Reply(fault="hang")

    desk.answer = answer
    desk.conversations(*(f"c{number}" for number in range(20)))
    desk.suite(desk.grader("A."), judges={"main": desk.judge(max_concurrency=IN_FLIGHT)})
    running = start()
    assert held.wait(100)
    return running


@pytest.mark.soak
def test_a_run_stopped_in_an_interpreter_of_its_own_leaves_nothing_unclosed(desk: Desk) -> None:
    command = [sys.executable, "-W", "always::ResourceWarning", "-m", "adjudge", "run", "suite.yaml"]

    def start() -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=desk.path, env=desk.environ, stdout=pipe, stderr=pipe)

    with hanging(desk, start) as process:
        assert process.stderr is not None
        process.send_signal(signal.SIGTERM)
        said = next(line for line in iter(process.stderr.readline, b"") if is_said_by_us(line))
        process.send_signal(signal.SIGTERM)
        rest = process.stderr.read()

    assert b"stopping: " in said
    assert not [line for line in rest.splitlines() if is_said_by_us(line)]
    assert process.returncode == 128 + signal.SIGTERM
    assert desk.summary()["exit_code"] == 128 + signal.SIGTERM
    assert desk.server.count == IN_FLIGHT


def is_said_by_us(line: bytes) -> bool:
    """Whether a line of standard error is about this run: not about what litellm imports."""
    return any(word in line for word in (b"adjudge", b"Unclosed", b"unclosed", b"never", b"Traceback"))


def test_calls_in_flight_have_a_grace_and_no_more(desk: Desk) -> None:
    desk.environ["GRACE"] = "0.2"
    running = hanging(desk, lambda: desk.start("run", "suite.yaml"))

    running.signal(signal.SIGINT)
    done = running.wait()

    assert done.code == 130
    assert len(done.err.splitlines()) == 1
    assert desk.summary()["counts"]["missing"] == 20
    assert desk.server.count == IN_FLIGHT


@pytest.mark.parametrize("jumps", ["-3600,86400,0", "34560000,-34560000"])
def test_a_wall_clock_that_jumps_changes_nothing(desk: Desk, jumps: str) -> None:
    desk.conversations(*(f"c{number}" for number in range(6)))
    desk.suite(desk.grader("A."), judges={"main": desk.judge(attempts=2)})
    desk.answer = lambda _: Reply(status=503 if desk.server.count <= 3 else 200)
    assert desk.run().code == 0
    desk.suite(desk.grader("A.", "B."), judges={"main": desk.judge(attempts=2)})
    desk.answer = lambda _: Reply(status=503 if desk.server.count <= 12 else 200)
    desk.environ["JUMPS"] = jumps

    assert desk.run().code == 0
    assert [desk.adjudge("resume", run.name).code for run in desk.runs] == [0, 0]
    assert desk.run("--offline").code == 0
    assert desk.server.calls == {"A.": 6 + 3, "B.": 6 + 3}
    assert desk.adjudge("cache", "verify").code == 0
    for run in desk.runs:
        for line in journal(run):
            assert line["seconds"] >= 0
            assert line["waited"] >= 0
            assert datetime.fromisoformat(line["at"]).tzinfo == UTC


def journal(run: Path) -> list[dict[str, Any]]:
    """The failed attempts of a run."""
    return [json.loads(line) for line in (run / "errors.jsonl").read_text().splitlines()]
