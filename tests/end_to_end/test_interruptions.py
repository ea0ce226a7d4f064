"""Kills and signals in the middle of a run: nothing is lost, little is paid twice, `resume` goes on (C9)."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from adjudge.testing import Reply, Request

if TYPE_CHECKING:
    from tests.end_to_end.conftest import Desk, Running

STATEMENTS = ("A.", "B.", "C.")
CONVERSATIONS = 20
KEYS = CONVERSATIONS * len(STATEMENTS)
AT_ONCE = 8


class Holding:
    """A model that answers so many requests and then none.

    Attributes:
        held: set when as many requests are held as a run has in flight.
    """

    def __init__(self, answers: int, *, in_flight: int) -> None:
        self._answers, self._in_flight = answers, in_flight
        self.held = threading.Event()

    def __call__(self, request: Request) -> Reply:
        """Answer, or hang."""
        if self._answers:
            self._answers -= 1
            return decided(request)
        self._in_flight -= 1
        if self._in_flight == 0:
            self.held.set()
        return Reply(fault="hang")


def decided(request: Request) -> Reply:
    """B. is not met by one conversation in five."""
    return Reply(decision={"B.": "not_met" if b"7." in request.body else "met"})


@pytest.fixture
def suite(desk: Desk) -> Desk:
    """A desk with twenty conversations and three statements."""
    desk.conversations(*(f"c{n}" for n in range(CONVERSATIONS)))
    desk.suite(desk.grader(*STATEMENTS), judges={"main": desk.judge(max_concurrency=AT_ONCE)})
    return desk


def start_and_hold(desk: Desk, answered: int, *command: str, left: int = KEYS) -> Running:
    """Start a command and wait until `answered` calls are answered and the next ones are on the wire."""
    desk.answer = holding = Holding(answered, in_flight=min(AT_ONCE, left - answered))
    running = desk.start(*command)
    assert holding.held.wait(60)
    return running


def assert_undisturbed(desk: Desk, run: Path) -> None:
    """See that `run` comes out as a run that nobody disturbs, in everything but its id."""
    assert desk.run("--cache", "other").code == 1
    summary, expected = desk.summary(run), desk.summary()
    assert summary.pop("run_id") != expected.pop("run_id")
    assert summary == expected
    assert desk.results(run) == desk.results()


@pytest.mark.parametrize("answered", [0, 1, 20, KEYS - 1])
def test_a_killed_run_resumed_comes_out_as_if_nobody_had_killed_it(suite: Desk, answered: int) -> None:
    running = start_and_hold(suite, answered, "run", "suite.yaml")
    running.signal(signal.SIGKILL)
    assert running.wait().code == -signal.SIGKILL
    suite.answer = decided

    done = suite.adjudge("resume")

    assert (done.code, done.err) == (1, "")
    assert suite.server.count <= KEYS + AT_ONCE
    assert_undisturbed(suite, suite.runs[0])


def test_a_run_killed_again_and_again_pays_only_for_what_was_in_flight_again(suite: Desk) -> None:
    left = KEYS
    for command in (("run", "suite.yaml"), ("resume",), ("resume", "latest")):
        running = start_and_hold(suite, 15, *command, left=left)
        running.signal(signal.SIGKILL)
        running.wait()
        left -= 15
    suite.answer = decided

    done = suite.adjudge("resume")

    assert (done.code, done.err) == (1, "")
    assert suite.server.count <= KEYS + 3 * AT_ONCE
    assert_undisturbed(suite, suite.runs[0])


def test_a_killed_run_can_be_read_before_it_is_resumed(suite: Desk) -> None:
    running = start_and_hold(suite, 20, "run", "suite.yaml")
    running.signal(signal.SIGKILL)
    running.wait()

    shown = suite.adjudge("show")

    assert (shown.code, shown.err) == (0, "")
    assert f"adjudge resume {suite.runs[0].name}" in shown.out
    assert suite.summary()["exit_code"] == 3


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_lets_the_calls_in_flight_finish_and_starts_no_other(suite: Desk, number: int) -> None:
    begun, release = threading.Event(), threading.Event()

    def answer(request: Request) -> Reply:
        if suite.server.count > 20:  # this blocks the server: what else is in flight waits behind it
            begun.set()
            release.wait()
        return decided(request)

    suite.answer = answer
    running = suite.start("run", "suite.yaml")
    assert begun.wait(60)
    running.signal(number)
    running.wait_until_said("stopping: ")
    release.set()
    done = running.wait()
    paid = suite.server.count

    assert done.code == 128 + number
    assert "Traceback" not in done.err
    assert len(done.err.splitlines()) == 1
    assert 20 < paid <= 20 + AT_ONCE
    assert suite.summary()["exit_code"] == 128 + number
    assert "interrupted" in done.out or "terminated" in done.out
    assert suite.adjudge("resume").code == 1
    assert suite.server.count == KEYS
    assert_undisturbed(suite, suite.runs[0])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_stops_at_once(suite: Desk, number: int) -> None:
    running = start_and_hold(suite, 20, "run", "suite.yaml")
    running.signal(number)
    running.wait_until_said("stopping: ")
    running.signal(number)
    done = running.wait()

    assert done.code == 128 + number
    assert "Traceback" not in done.err
    assert len(done.err.splitlines()) == 1
    suite.answer = decided
    assert suite.adjudge("resume").code == 1
    assert suite.server.count == KEYS + AT_ONCE
    assert_undisturbed(suite, suite.runs[0])


def test_a_verifier_that_never_returns_does_not_outlive_a_second_signal(desk: Desk) -> None:
    desk.suite(desk.verifier("import threading\nprint('looking')\nthreading.Event().wait()"))
    running = desk.start("run", "suite.yaml")
    running.wait_until_said("looking")
    running.signal(signal.SIGINT)
    running.wait_until_said("stopping: ")
    running.signal(signal.SIGINT)

    done = running.wait()

    assert done.code == 130
    assert "Traceback" not in done.err
    assert desk.summary()["counts"]["missing"] == 1
