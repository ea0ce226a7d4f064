"""Runs of thousands of questions: kills at random moments, two processes at once, memory that stays flat."""

from __future__ import annotations

import random
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

import pytest

from adjudge.judges.ledger.ledger import Ledger
from adjudge.judges.ledger.record import Record
from adjudge.judges.verdict import Attempt, Origin, Verdict
from adjudge.pipeline.planning.freeze import Freezing, plan_head
from adjudge.pipeline.planning.overrides import Overrides
from adjudge.pipeline.preview.questions import questions_of
from adjudge.pipeline.suite.load import load_suite
from adjudge.testing import Reply, Request

if TYPE_CHECKING:
    from tests.end_to_end.conftest import Desk, Running

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]

THREE = ("A.", "B.", "C.")
TEN = tuple(f"Statement number {number} is true of what the agent says." for number in range(10))
AT_ONCE, MOST_AT_ONCE = 8, 32
Say = Callable[[str], object]


@pytest.fixture
def say(capfd: pytest.CaptureFixture[str]) -> Say:
    """Prints a figure, though a test's output is captured."""

    def say(figure: str) -> None:
        with capfd.disabled():
            sys.stdout.write(f"\n  {figure}")

    return say


def prepare(desk: Desk, conversations: int, *statements: str, at_once: int = AT_ONCE) -> None:
    desk.conversations(*(f"c{number}" for number in range(conversations)))
    desk.suite(desk.grader(*statements), judges={"main": desk.judge(max_concurrency=at_once)})


def decided(request: Request) -> str:
    """B. is not met by one conversation in ten."""
    return "not_met" if "B." in request.statements.values() and b"7." in request.body else "met"


def calls_by_question(desk: Desk) -> Counter[tuple[str, bytes]]:
    """How often each question was asked: by its statement, and by what its evidence begins with."""
    return Counter(
        (statement, request.body[(place := request.body.index(b"This is c")) : place + 16])
        for request in desk.server.requests
        for statement in request.statements.values()
    )


def test_three_thousand_questions_survive_eight_kills_at_random_moments(desk: Desk, say: Say) -> None:
    kills, chance = 8, random.Random(0)
    prepare(desk, 1000, *THREE)
    desk.answer = lambda request: Reply(decision=decided(request), delay=chance.uniform(0.01, 0.05))

    for _ in range(kills):
        running = desk.start(*(["resume"] if desk.runs else ["run", "suite.yaml"]))
        threading.Event().wait(chance.uniform(0.5, 1.1))
        running.signal(signal.SIGKILL)
        assert running.wait().code == -signal.SIGKILL
        assert desk.adjudge("cache", "verify").code in (0, 2)  # 2: it was killed before there was a cache

    done = desk.adjudge("resume")
    assert done.code == 1
    calls = calls_by_question(desk)
    assert len(calls) == 3000
    assert calls.total() <= 3000 + kills * AT_ONCE
    verified = desk.adjudge("cache", "verify")
    assert verified.code == 0
    assert "3000" in verified.out
    say(f"{kills} kills: {calls.total() - 3000} calls more than questions, at most {kills * AT_ONCE} allowed")

    (killed,) = (path for path in desk.runs if not path.name.startswith("."))
    assert desk.run("--cache", "other").code == 1
    undisturbed = desk.runs[-1]
    assert (killed / "results.jsonl").read_bytes() == (undisturbed / "results.jsonl").read_bytes()
    summaries = [(run / "summary.json").read_text().replace(run.name, "") for run in (killed, undisturbed)]
    assert summaries[0] == summaries[1]


def test_two_processes_ask_each_of_fifteen_hundred_questions_once(desk: Desk) -> None:
    prepare(desk, 500, *THREE)
    desk.answer = lambda request: Reply(decision=decided(request), delay=0.01)

    ended = [running.wait() for running in [desk.start("run", "suite.yaml") for _ in range(2)]]

    assert [(done.code, done.err) for done in ended] == [(1, "")] * 2
    assert desk.server.count == len(calls_by_question(desk)) == 1500
    one, two = (desk.summary(run) for run in desk.runs)
    assert one["calls"] + two["calls"] == 1500
    for key in ("counts", "graders", "combined_score", "policy", "errors_by_cause", "exit_code"):
        assert one[key] == two[key]


@dataclass(frozen=True, kw_only=True)
class Sample:
    """What a process holds at one moment: anonymous memory in megabytes, open files, grades written."""

    megabytes: float
    files: int
    grades: int


def samples(running: Running, grades: Path) -> Iterator[Sample]:
    """Looks at a running command ten times a second until it ends."""
    process = Path(f"/proc/{running.pid}")
    while True:
        try:
            status = (process / "status").read_text()
            files = len(list((process / "fd").iterdir()))
        except OSError:
            return
        kilobytes = [line.split()[1] for line in status.splitlines() if line.startswith("RssAnon:")]
        if not kilobytes:  # it has ended, and nobody has asked how
            return
        size = grades.stat().st_size if grades.exists() else 0
        yield Sample(megabytes=int(kilobytes[0]) / 1024, files=files, grades=size)
        threading.Event().wait(0.1)


def assert_flat(seen: list[Sample], say: Say, what: str) -> None:
    """See that memory stays as it was with the first grades, and open files few beside connections."""
    grading = [sample for sample in seen if sample.grades]
    memory, files = [sample.megabytes for sample in grading], [sample.files for sample in grading]
    say(
        f"{what}: {len(grading)} looks, memory {memory[0]:.0f} MB at first, {max(memory):.0f} MB at most, "
        f"{memory[-1]:.0f} MB at last; open files {min(files)} to {max(files)}"
    )
    assert len(grading) > 10
    assert max(memory) - memory[0] < 50
    assert max(files) <= MOST_AT_ONCE + 32


def watched(desk: Desk, *command: str) -> tuple[list[Sample], int]:
    """What a command holds while it runs, and its exit code."""
    running = desk.start(*command)
    seen: list[Sample] = []
    while not desk.runs:
        threading.Event().wait(0.01)
    while (newest := desk.runs[-1]).name.startswith(".") or not newest.exists():
        threading.Event().wait(0.01)
    seen.extend(samples(running, newest / "grades.jsonl"))
    return seen, running.wait().code


def fill_cache(desk: Desk) -> int:
    """Store an answer to every question of the suite, as an earlier run would have; how many there are."""
    suite = load_suite(desk.path / "suite.yaml")
    head = plan_head(suite, "earlier", Overrides())
    records = (
        Record(
            key=question.request.key,
            fields=question.request.key_fields,
            verdicts=(Verdict(decision="met", rationale="The agent asks for the order number at once."),),
            attempts=(Attempt(status=200, seconds=0.5),),
            origin=Origin(run="earlier", unit=question.request.unit),
            created="2026-01-01T00:00:00+00:00",
            adjudge="0.1.0",
        )
        for _, several in questions_of(head, Freezing(suite, head))
        for _, question in several
    )
    with Ledger.open(desk.path / ".adjudge" / "cache") as ledger:
        return sum(iter(lambda: ledger.add(list(islice(records, 5000))), 0))


def test_memory_and_open_files_stay_flat_over_two_hundred_thousand_cached_verdicts(
    desk: Desk, say: Say
) -> None:
    prepare(desk, 20_000, *TEN)
    assert fill_cache(desk) == 200_000

    begun = monotonic()
    seen, code = watched(desk, "run", "suite.yaml")
    say(f"200,000 cached verdicts: {monotonic() - begun:.0f} s")
    assert code == 0
    assert desk.server.count == 0
    assert desk.summary()["cached"] == 200_000
    assert_flat(seen, say, "200,000 cached verdicts")

    begun = monotonic()
    assert desk.adjudge("resume").code == 0
    say(f"resume of the finished run: {monotonic() - begun:.0f} s")


def test_memory_and_open_files_stay_flat_over_twenty_thousand_calls(desk: Desk, say: Say) -> None:
    prepare(desk, 2000, *TEN, at_once=MOST_AT_ONCE)

    begun = monotonic()
    seen, code = watched(desk, "run", "suite.yaml")
    say(f"20,000 calls: {monotonic() - begun:.0f} s")
    assert code == 0
    assert desk.server.count == 20_000
    assert_flat(seen, say, "20,000 calls")
