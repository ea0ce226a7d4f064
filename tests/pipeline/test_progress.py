"""How far a run is, on a terminal and off it."""

from __future__ import annotations

import io
import json
import os
import re
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TextIO

import pytest

from adjudge.judges.governing.governor import GovernorState
from adjudge.pipeline.grade import ResultRow
from adjudge.pipeline.reports.progress import Progress, judge_words

ROWS = Path(__file__).parents[1] / "data/reports/results.jsonl"
SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")

IDLE = GovernorState(
    limit=8, in_flight=3, waiting=0, gate_seconds=0.0, breaker="closed", calls=0, retries=0, throttled=0
)


class Terminal:
    """A pseudo-terminal and what was sent to it."""

    def __init__(self) -> None:
        self._master, slave = os.openpty()
        self.stream: TextIO = open(slave, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - a descriptor, closed below
        self._sent: list[bytes] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._master, 1 << 16)
            except OSError:  # the other end is closed
                return
            if not data:
                return
            self._sent.append(data)

    def close(self) -> str:
        """Close it; all that was sent, without the sequences that move the cursor and colour."""
        self.stream.close()
        self._reader.join()
        os.close(self._master)
        return SEQUENCE.sub("", b"".join(self._sent).decode())


@contextmanager
def counted(stream: TextIO, **options: bool) -> Generator[Progress]:
    with Progress(stream, total=12, judges=lambda: {"main\x1b[2J": IDLE}, **options) as progress:
        progress.advance(conversations=7, calls=34, cached=12, errored=1, tokens=4321, cost_usd=0.0123)
        yield progress


@pytest.fixture(autouse=True)
def a_capable_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "160")


def test_a_terminal_shows_the_counts_and_the_judge() -> None:
    terminal = Terminal()
    with counted(terminal.stream):
        pass

    sent = terminal.close()
    assert " 7/12 conversations" in sent
    assert "34 calls, 12 cached, 1 errored, 4321 tokens, $0.0123" in sent
    assert r"main\x1b[2J: 3 of 8 in flight" in sent


def test_off_a_terminal_nothing_is_written() -> None:
    stream = io.StringIO()
    with counted(stream):
        pass

    assert stream.getvalue() == ""


def test_quiet_writes_nothing_on_a_terminal_either() -> None:
    terminal = Terminal()
    with counted(terminal.stream, quiet=True):
        pass

    assert terminal.close() == ""


def test_a_grade_adds_what_it_cost_and_whether_it_errored() -> None:
    rows: list[ResultRow] = [json.loads(line) for line in ROWS.read_text().split("\n") if line]
    progress = Progress(io.StringIO())
    for row in rows:
        for grade in row["grades"]:
            progress.graded(grade)
        progress.finished(1)

    assert progress.status() == "15 calls, 4 cached, 2 errored, 14400 tokens, $0.0060"


def test_a_cost_that_is_partly_unknown_says_so() -> None:
    progress = Progress(io.StringIO())
    progress.advance(calls=2, cost_usd=0.5, cost_unknown_calls=1)

    assert progress.status().endswith("$0.5000 and unknown")


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (IDLE, "3 of 8 in flight"),
        (replace(IDLE, gate_seconds=11.6), "waits 12 s as the provider asked"),
        (replace(IDLE, breaker="open"), "down, tried again soon"),
        (replace(IDLE, breaker="shut", gate_seconds=9.0), "given up"),
    ],
)
def test_a_judge_is_described_in_a_few_words(state: GovernorState, words: str) -> None:
    assert judge_words(state) == words
