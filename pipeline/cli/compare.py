"""What `adjudge compare` does."""

from __future__ import annotations

import sys
from pathlib import Path

from adjudge.pipeline.cli.read import concluded
from adjudge.pipeline.display import json_text
from adjudge.pipeline.reports.compare import Compared, compare_json, compare_report
from adjudge.pipeline.rundir import find_run
from adjudge.pipeline.trust.compare import EXIT_CODES, compare
from adjudge.pipeline.trust.pairing import By, graded


def compare_runs(a: str, b: str, home: Path, *, by: By, confidence: float, as_json: bool) -> int:
    """Print how run B differs from run A. Returns the exit code.

    Raises:
        UsageError: there is no such run.
        StorageError: a run can't be read.
    """
    runs = [concluded(find_run(reference, home)) for reference in (a, b)]
    plans = [run.plan() for run in runs]
    of_a, of_b = ((plan.head, graded(run, plan)) for run, plan in zip(runs, plans, strict=True))
    compared = Compared(
        a=(runs[0].id, of_a[0].suite),
        b=(runs[1].id, of_b[0].suite),
        found=compare(of_a, of_b, by, confidence),
        confidence=confidence,
    )
    sys.stdout.write(json_text(compare_json(compared)) if as_json else compare_report(compared))
    return EXIT_CODES[compared.found.outcome]
