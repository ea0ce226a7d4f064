"""Kills, two processes, dead owners: nothing acknowledged is lost, little is paid twice (C7, C9)."""

from __future__ import annotations

import random
import resource
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import pytest

from adjudge.judges.ledger.ledger import Ledger
from adjudge.judges.ledger.record import Record

PROGRAM = Path(__file__).with_name("asking.py")
AT_ONCE = 8


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Where programs ask."""

    directory: Path
    log: Path
    questions: int

    @contextmanager
    def asking(
        self, run: str = "run", *, at_once: int = AT_ONCE, milliseconds: int = 10, die_before: int = 0
    ) -> Generator[subprocess.Popen[str]]:
        """A process that asks; killed in the end."""
        arguments = [self.directory, self.log, run, self.questions, at_once, milliseconds, die_before]
        command = [sys.executable, str(PROGRAM), *map(str, arguments)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                yield process
            finally:
                process.kill()

    def paid(self) -> Counter[str]:
        """Calls made, by key."""
        return Counter(self.log.read_text().split()) if self.log.exists() else Counter()

    def stored(self) -> dict[str, Record]:
        """What is in the cache, after seeing that it is sound."""
        with Ledger.open(self.directory) as ledger:
            assert ledger.integrity() == []
            found = list(ledger.scan())
        return {key: record for key, record in found if isinstance(record, Record)}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(directory=tmp_path / "cache", log=tmp_path / "calls", questions=300)


def lines(process: subprocess.Popen[str]) -> Iterator[str]:
    """What the process says, line by line."""
    assert process.stdout is not None
    for line in process.stdout:
        yield line.rstrip("\n")


def wait_until(process: subprocess.Popen[str], said: str) -> None:
    """Wait until the process says something."""
    assert said in lines(process)


def killed_again_and_again(bench: Bench, kills: int, seed: int) -> None:
    """Ask, killing the process after a random number of answers, so often; then let it finish."""
    chance = random.Random(seed)
    acknowledged: set[str] = set()
    for _ in range(kills):
        last = chance.randrange(2 * bench.questions // kills)
        with bench.asking() as process:
            for place, key in enumerate(lines(process)):
                acknowledged.add(key)
                if place == last:
                    process.kill()
        assert acknowledged - {"ready", "done"} <= bench.stored().keys()
    with bench.asking() as process:
        wait_until(process, "done")


@pytest.mark.parametrize("seed", range(2))
def test_kills_lose_no_answer_and_pay_at_most_what_was_in_flight_again(bench: Bench, seed: int) -> None:
    kills = 4
    killed_again_and_again(bench, kills, seed)
    paid = bench.paid()

    assert len(bench.stored()) == len(paid) == bench.questions
    assert bench.questions <= paid.total() <= bench.questions + kills * AT_ONCE


@pytest.mark.soak
def test_many_kills_of_a_long_run_lose_no_answer(tmp_path: Path) -> None:
    bench = Bench(directory=tmp_path / "cache", log=tmp_path / "calls", questions=3000)
    killed_again_and_again(bench, 8, 0)
    paid = bench.paid()

    assert len(bench.stored()) == len(paid) == 3000
    assert paid.total() <= 3000 + 8 * AT_ONCE


def dies_and_goes_on(bench: Bench, statement: int) -> bool:
    """Ask, dying before that statement of SQL, then ask on; whether it did die."""
    with bench.asking(die_before=statement) as process:
        acknowledged = {*lines(process)} - {"ready", "done"}
    assert process.wait() in (0, -signal.SIGKILL)
    with bench.asking() as other:
        wait_until(other, "done")
    stored = bench.stored()

    assert len(stored) == bench.questions
    assert acknowledged <= stored.keys()
    assert bench.paid().total() <= bench.questions + AT_ONCE
    return process.wait() != 0


@pytest.mark.parametrize("statement", [1, 3, 8, 13, 34, 55, 70, 90])
def test_a_death_while_the_cache_is_made_or_first_used_loses_nothing(bench: Bench, statement: int) -> None:
    assert dies_and_goes_on(replace(bench, questions=10), statement)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_death_before_any_statement_loses_nothing(tmp_path: Path) -> None:
    for statement in count(1):
        bench = Bench(directory=tmp_path / f"{statement}", log=tmp_path / f"{statement}.log", questions=10)
        if not dies_and_goes_on(bench, statement):
            assert statement > 90
            return


def test_two_processes_ask_each_question_once(bench: Bench) -> None:
    with bench.asking("one") as one, bench.asking("two") as two:
        for process in (one, two):
            assert list(lines(process)).count("done") == 1
    stored = bench.stored()

    assert bench.paid().total() == len(stored) == bench.questions
    assert {record.origin.run for record in stored.values() if record.origin} <= {"one", "two"}


def test_the_questions_of_a_dead_process_are_asked_by_the_one_that_waited(tmp_path: Path) -> None:
    bench = Bench(directory=tmp_path / "cache", log=tmp_path / "calls", questions=AT_ONCE + 1)
    with bench.asking("hanging", milliseconds=-1) as hanging:
        said = lines(hanging)
        while bench.paid().total() < AT_ONCE:
            assert next(said) in ("ready", "asking")
        with bench.asking("waiting", at_once=AT_ONCE + 1) as waiting:
            wait_until(waiting, "ready")
            next(lines(waiting))  # the answer to what nobody else asks; all others it waits for
            assert bench.paid().total() == AT_ONCE + 1
            hanging.kill()
            wait_until(waiting, "done")

    assert bench.paid().total() == 2 * AT_ONCE + 1
    assert {record.origin.run for record in bench.stored().values() if record.origin} == {"waiting"}


def test_a_disk_that_fills_up_stops_the_calls_and_keeps_what_was_acknowledged(bench: Bench) -> None:
    arguments = [bench.directory, bench.log, "run", 100_000, AT_ONCE, 0, 0]

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    done = subprocess.run(
        [sys.executable, str(PROGRAM), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=small_files,
    )
    acknowledged = {*done.stdout.split()} - {"ready"}

    assert done.returncode == 4
    assert "Traceback" not in done.stderr
    assert acknowledged
    assert acknowledged <= bench.stored().keys()
    assert bench.paid().total() <= len(acknowledged) + AT_ONCE
