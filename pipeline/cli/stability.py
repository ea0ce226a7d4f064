"""What `adjudge stability` does."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path

from adjudge.pipeline.cli.read import concluded
from adjudge.pipeline.cli.run import warn
from adjudge.pipeline.display import json_text
from adjudge.pipeline.files import whole_file
from adjudge.pipeline.grading.bench import Lookup
from adjudge.pipeline.grading.repeating import Ahead, Repeated, ask_again
from adjudge.pipeline.planning.plan import Plan
from adjudge.pipeline.reports.stability import Repetition, stability_json, stability_report
from adjudge.pipeline.rundir import STABILITY, Run, find_run
from adjudge.pipeline.suite.load import Budget
from adjudge.pipeline.trust.stability import cases, stability, worth_repeating


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked of `adjudge stability`.

    Attributes:
        samples: how often each judge is to be asked, 2 or more, the run's own answers included.
        lookup: where answers come from.
        caps: on asking again.
        dry_run: only say how many calls it would take.
    """

    samples: int
    lookup: Lookup
    caps: Budget
    confidence: float
    dry_run: bool
    quiet: bool
    as_json: bool


def show_stability(reference: str, home: Path, asked: Asked) -> int:
    """Ask again where a flip could change a grade, and print how often it flips. Returns the exit code.

    Raises:
        UsageError: there is no such run.
        StorageError: the run can't be read, or its `stability.json` can't be written.
    """
    run = concluded(find_run(reference, home))
    plan = run.plan()
    with run.locked():
        repeated = asyncio.run(_ask(run, plan, asked))
        if asked.dry_run:
            sys.stdout.write(_ahead(repeated.ahead))
            return 0
        if repeated.stopped_by is not None:
            warn("stopped; no result is written, but what was answered is kept: the same command goes on")
            return 128 + repeated.stopped_by
        return _report(run, repeated, asked)


async def _ask(run: Run, plan: Plan, asked: Asked) -> Repeated:
    def tell(ahead: Ahead) -> bool:
        if not asked.quiet and not asked.dry_run:
            sys.stderr.write(_ahead(ahead))
        return not asked.dry_run

    return await ask_again(
        run,
        plan,
        worth_repeating(run.results()),
        asked.lookup,
        samples=asked.samples,
        caps=asked.caps,
        tell=tell,
        warn=warn,
    )


def _ahead(ahead: Ahead) -> str:
    known = f"{ahead.answered} of {ahead.questions} questions are answered already"
    return f"{known}; {ahead.calls} calls to make, retries not counted\n"


def _report(run: Run, repeated: Repeated, asked: Asked) -> int:
    every = list(cases(run.results(), repeated.votes))
    told = Repetition(
        run_id=run.id,
        samples=asked.samples,
        confidence=asked.confidence,
        found=stability(every),
        spent=repeated.spent,
    )
    code = 0 if told.found.whole.rate(asked.confidence).n else 3
    row = stability_json(told, every, code)
    with whole_file(run.file(STABILITY)) as file:
        file.write(json_text(row).encode())
    sys.stdout.write(json_text(row) if asked.as_json else stability_report(told))
    return code
