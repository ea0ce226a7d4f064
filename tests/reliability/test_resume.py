"""Runs resumed again and again: what was finished stays finished, whatever befell the legs in between."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from typing import TYPE_CHECKING

import pytest

from adjudge.pipeline.grading.bench import Lookup
from adjudge.pipeline.grading.session import carry_out
from adjudge.pipeline.grading.unwatched import Unwatched
from adjudge.pipeline.rundir import Run
from adjudge.testing import Reply, Request

if TYPE_CHECKING:
    from tests.end_to_end.conftest import Desk, Running

CONVERSATIONS = 100
AT_ONCE = 8
HANGS = Reply(fault="hang")


@pytest.fixture
def suite(desk: Desk) -> Desk:
    """A desk with a hundred conversations and one statement."""
    desk.conversations(*(f"c{n}" for n in range(CONVERSATIONS)))
    desk.suite(desk.grader("A."), judges={"main": desk.judge(max_concurrency=AT_ONCE, output="text")})
    return desk


def started(desk: Desk, *command: str, answers: int) -> Running:
    """A command that has been answered so often and hangs with as many calls on the wire as it may have."""
    reached, last = threading.Event(), desk.server.count + answers

    def answer(_: Request) -> Reply:
        if desk.server.count == last + AT_ONCE:
            reached.set()
        return Reply() if desk.server.count <= last else HANGS

    desk.answer = answer
    running = desk.start(*command)
    assert reached.wait(60)
    return running


def killed(desk: Desk, *command: str, answers: int) -> None:
    """A command killed after so many answers, with all the calls on the wire that it may have."""
    running = started(desk, *command, answers=answers)
    running.signal(signal.SIGKILL)
    assert running.wait().code == -signal.SIGKILL


def test_a_resume_killed_before_it_wrote_anything_takes_nothing_away(suite: Desk) -> None:
    killed(suite, "run", "suite.yaml", answers=40)
    before = (suite.runs[0] / "grades.jsonl").read_bytes()
    for _ in range(3):
        killed(suite, "resume", answers=0)
    suite.answer = lambda _: Reply()

    assert suite.adjudge("resume").code == 0
    assert (suite.runs[0] / "grades.jsonl").read_bytes().startswith(before)
    assert len(suite.runs) == 1
    assert suite.server.count == CONVERSATIONS + 4 * AT_ONCE
    assert suite.summary()["counts"]["passed"] == CONVERSATIONS


def test_a_resume_that_is_refused_hides_nothing_of_what_was_finished(suite: Desk) -> None:
    killed(suite, "run", "suite.yaml", answers=60)
    last = suite.server.count + 5
    suite.answer = lambda _: Reply(status=200 if suite.server.count <= last else 401)
    refused = suite.adjudge("resume")
    suite.answer = lambda _: Reply()
    paid = suite.server.count

    done = suite.adjudge("resume")

    assert (refused.code, done.code) == (3, 0)
    assert suite.server.count - paid == CONVERSATIONS - 60 - 5
    assert suite.summary()["counts"]["passed"] == CONVERSATIONS
    assert suite.summary()["errors_by_cause"] == {}


def test_a_journal_cut_anywhere_is_made_whole_by_resume_with_one_warning_and_no_call(desk: Desk) -> None:
    desk.conversations("c1", "c2", "c3")
    desk.suite(desk.grader("A."), desk.verifier("return [check('a', True)]"))
    assert desk.run().code == 0
    run = Run(desk.runs[0])
    grades = run.file("grades.jsonl")
    whole, results, summary = grades.read_bytes(), desk.results(), desk.summary()
    lookup = Lookup(cache=desk.path / ".adjudge" / "cache")

    for cut in range(201):
        os.truncate(grades, len(whole) - cut)
        warnings: list[str] = []
        asyncio.run(carry_out(run, run.plan(), lookup, Unwatched, warn=warnings.append))

        torn = not whole[: len(whole) - cut].endswith(b"\n")
        assert len(warnings) == torn, (cut, warnings)
        assert all(repr(str(grades)) in warning for warning in warnings)
        assert (desk.results(), desk.summary()) == (results, summary), cut
        assert len(grades.read_bytes().splitlines()) == len(whole.splitlines()), cut
    assert desk.server.count == 3


def test_a_torn_journal_is_warned_of_on_the_command_line(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.run()
    grades = desk.runs[0] / "grades.jsonl"
    os.truncate(grades, grades.stat().st_size - 40)

    done = desk.adjudge("resume")

    assert done.code == 0
    assert done.err == (
        f"adjudge: warning: {str(grades.relative_to(desk.path))!r} ended within a line, as after a kill; "
        "that line is dropped\n"
    )


def test_a_run_that_waits_for_a_killed_one_asks_what_that_one_was_asking(suite: Desk) -> None:
    suite.conversations(*(f"c{n}" for n in range(AT_ONCE + 1)))
    one = started(suite, "run", "suite.yaml", "--limit", str(AT_ONCE), answers=0)
    waits = threading.Event()

    def answer(_: Request) -> Reply:
        waits.set()
        return Reply()

    suite.answer = answer
    two = suite.start("run", "suite.yaml")
    assert waits.wait(60)  # it has asked the one question that nobody else is asking
    assert suite.server.count == AT_ONCE + 1
    one.signal(signal.SIGKILL)
    one.wait()

    assert two.wait().code == 0
    assert suite.server.count == 2 * AT_ONCE + 1
    assert suite.summary()["counts"]["passed"] == AT_ONCE + 1


@pytest.mark.parametrize("command", ["show", "export"])
def test_a_run_that_is_being_written_is_not_summed_up_by_another_process(suite: Desk, command: str) -> None:
    running = started(suite, "run", "suite.yaml", answers=20)

    shown = suite.adjudge(command)
    left = {path.name for path in suite.runs[0].iterdir()}
    running.signal(signal.SIGKILL)
    running.wait()

    assert shown.code == 4
    assert shown.err == f"adjudge: run {suite.runs[0].name!r} is being written by another process\n"
    assert not left & {"results.jsonl", "summary.json"}
    assert suite.adjudge(command).code == 0


def test_what_a_killed_process_left_half_written_goes_with_the_next_one(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.run()
    half = desk.runs[0] / ".results.jsonl.4194304.tmp"
    half.write_text('{"conversation_id": "c')

    assert desk.adjudge("resume").code == 0
    assert not half.exists()
