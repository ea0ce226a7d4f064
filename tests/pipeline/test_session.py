"""A run carried out inside a program: it leaves the program's signals and settings as it found them."""

from __future__ import annotations

import asyncio
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from adjudge.judges.failure import UsageError
from adjudge.pipeline.grading.bench import Lookup
from adjudge.pipeline.grading.session import carry_out
from adjudge.pipeline.grading.unwatched import Unwatched
from adjudge.pipeline.rundir import Run
from adjudge.pipeline.suite.load import Budget

if TYPE_CHECKING:
    from tests.pipeline.conftest import NewRun


@pytest.fixture
def run(new_run: NewRun, tmp_path: Path) -> Run:
    """A run of a verifier alone, which needs no model."""
    (tmp_path / "v.py").write_text(
        "from adjudge import check\ndef verify(conversation): return [check('a', True)]\n"
    )
    return new_run(graders=[{"name": "checked", "type": "checks", "verifier": "v.py:verify"}])


def carried_out(run: Run, tmp_path: Path, **more: Any) -> Any:
    warnings: list[str] = []
    lookup = Lookup(cache=tmp_path / "cache")
    summary = asyncio.run(carry_out(run, run.plan(), lookup, Unwatched, warn=warnings.append, **more))
    assert warnings == []
    return summary


def test_a_run_ends_with_its_summary_written(run: Run, tmp_path: Path) -> None:
    summary = carried_out(run, tmp_path)

    assert summary == run.summary()
    assert summary["exit_code"] == 0


def test_the_programs_signal_handlers_are_its_own_again_afterwards(run: Run, tmp_path: Path) -> None:
    def mine(*_: object) -> None: ...

    before = {number: signal.signal(number, mine) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        carried_out(run, tmp_path)
        assert {signal.getsignal(number) for number in before} == {mine}
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_a_run_goes_on_in_a_thread_that_may_not_hear_signals(run: Run, tmp_path: Path) -> None:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(carried_out(run, tmp_path)))
    thread.start()
    thread.join()

    assert found[0]["exit_code"] == 0


def test_a_finished_run_carried_out_again_stays_as_it_is(run: Run, tmp_path: Path) -> None:
    first = carried_out(run, tmp_path)
    files = {path.name: path.read_bytes() for path in run.path.iterdir()}

    assert carried_out(run, tmp_path, caps=Budget(max_calls=0)) == first
    assert {path.name: path.read_bytes() for path in run.path.iterdir()} == files


def test_a_finished_run_that_can_not_be_carried_out_again_keeps_its_results(run: Run, tmp_path: Path) -> None:
    first = carried_out(run, tmp_path)
    (tmp_path / "v.py").write_text("")

    with pytest.raises(UsageError, match="changed since"):
        carried_out(run, tmp_path)
    assert run.summary() == first
