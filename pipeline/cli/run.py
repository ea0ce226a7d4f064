"""What `adjudge run` and `adjudge resume` do."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from adjudge.judges.failure import UsageError
from adjudge.pipeline.aggregate import counting_results
from adjudge.pipeline.cli.github import at_github, no_commands, report_to_github
from adjudge.pipeline.display import json_text, visible
from adjudge.pipeline.grade import SummaryRow
from adjudge.pipeline.grading.bench import Lookup
from adjudge.pipeline.grading.session import JudgeStates, carry_out
from adjudge.pipeline.planning.freeze import plan_run
from adjudge.pipeline.planning.overrides import Overrides
from adjudge.pipeline.planning.plan import Plan
from adjudge.pipeline.reports.progress import Progress
from adjudge.pipeline.rundir import Run, find_run, on_trial
from adjudge.pipeline.suite.load import Budget, load_suite


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where things live, how much is said, and what is written besides.

    `github` is whether annotations and a step summary are written; None in a step of GitHub Actions.
    """

    home: Path
    cache: Path
    offline: bool
    refresh: bool
    quiet: bool
    as_json: bool
    junit: Path | None
    html: Path | None
    github: bool | None = None

    @property
    def lookup(self) -> Lookup:
        """Where verdicts come from."""
        return Lookup(cache=self.cache, offline=self.offline, refresh=self.refresh)

    @property
    def for_github(self) -> bool:
        """Whether what is said is for a step of GitHub Actions."""
        return at_github() if self.github is None else self.github


def run(
    suite: Path,
    conversations: Sequence[Path] | None,
    overrides: Overrides,
    settings: Settings,
) -> int:
    """Plan a run of `suite`, carry it out and report it. Returns the exit code.

    Raises:
        UsageError, StorageError: see `plan_run` and `carry_out`.
    """
    overrides.refuse_offline(settings.offline)
    started = plan_run(load_suite(suite, conversations=conversations), settings.home, overrides)
    with _aside(settings):
        with on_trial(started):
            summary = _carry_out(started, settings)
        _report(started, summary, settings)
    return _ended(started, summary, settings)


def resume(reference: str, settings: Settings, max_calls: int | None, max_cost_usd: float | None) -> int:
    """Go on with a run under its plan. Returns the exit code.

    Raises:
        UsageError, StorageError: see `find_run` and `carry_out`.
    """
    caps = Budget(max_calls=max_calls, max_cost_usd=max_cost_usd)
    run = find_run(reference, settings.home)
    with _aside(settings):
        summary = _carry_out(run, settings, caps)
        _report(run, summary, settings)
    return _ended(run, summary, settings)


def dry_run(
    suite: Path, conversations: Sequence[Path] | None, overrides: Overrides, settings: Settings
) -> None:
    """Print what a run would take: calls, those already cached, tokens and cost. Asks nobody.

    Raises:
        UsageError, StorageError: see `estimate`.
    """
    from adjudge.pipeline.preview.estimate import estimate, estimate_text

    overrides.refuse_offline(settings.offline)
    loaded = load_suite(suite, conversations=conversations)
    found = estimate(loaded, overrides, settings.lookup)
    if settings.as_json:
        sys.stdout.write(json_text(found))
        return
    from adjudge.pipeline.lint.suite import lint_suite
    from adjudge.pipeline.reports.lint import lint_line

    sys.stdout.write(estimate_text(found) + lint_line(lint_suite(loaded)))


def _carry_out(run: Run, settings: Settings, caps: Budget | None = None) -> SummaryRow:
    plan = run.plan()
    _say_unreadable(plan)
    for said in plan.head.not_admitted:
        warn(f"not admitted: {said}")
    total = plan.tail.conversation_count

    def watch(states: JudgeStates) -> Progress:
        return Progress(sys.stderr, total=total, judges=states, quiet=settings.quiet)

    gc.freeze()  # what was loaded so far stays: nothing to look through again and again
    return asyncio.run(carry_out(run, plan, settings.lookup, watch, caps=caps, warn=warn))


def _aside(settings: Settings) -> AbstractContextManager[None]:
    """Where output is read for commands: none is meant until the end."""
    return no_commands(_commands(settings)) if settings.for_github else nullcontext()


def _ended(run: Run, summary: SummaryRow, settings: Settings) -> int:
    if settings.for_github:
        report_to_github(run, summary, _commands(settings))
    return summary["exit_code"]


def _commands(settings: Settings) -> TextIO:
    """Where commands to GitHub go; the summary as JSON is alone on stdout."""
    return sys.stderr if settings.as_json else sys.stdout


def _report(run: Run, summary: SummaryRow, settings: Settings) -> None:
    if settings.as_json:
        sys.stdout.write(json_text(summary))
    elif not settings.quiet:
        _print(run, summary)
    for form, file in (("junit", settings.junit), ("html", settings.html)):
        if file is not None:
            from adjudge.pipeline.cli.read import write_report

            write_report(run, form, file)


def _print(run: Run, summary: SummaryRow) -> None:
    from adjudge.pipeline.reports.doubts import Doubts, counting_doubts
    from adjudge.pipeline.reports.run import look_at, print_run
    from adjudge.pipeline.trust.closing import substitutions, trust_text

    results: dict[str, Counter[str]] = {}
    found = Doubts()
    look = look_at(counting_doubts(counting_results(run.results(), results), found))
    print_run(summary, results, sys.stdout)
    for said in substitutions(found):
        warn(f"{said}; `served_model: require` in the suite refuses that")
    if look:
        sys.stdout.write("\n" + look)
    plan = run.plan()
    try:
        said = trust_text(run, plan, found)
    except UsageError as error:  # labels are no part of the run
        warn(str(error))
    else:
        sys.stdout.write(f"\n{said}" if said else "")


def _say_unreadable(plan: Plan) -> None:
    for record in plan.tail.unreadable[:10]:
        place = record.file if record.line is None else f"{record.file}:{record.line}"
        warn(f"{place}: {record.reason}")
    if plan.tail.unreadable_count > 10:
        warn(f"{plan.tail.unreadable_count - 10} more records could not be read; plan.json lists them")
    for name in plan.tail.unused_tests:
        warn(f"no conversation ran the test {name!r} of the suite, so what it adds is asked of none")


def warn(message: str) -> None:
    """Say something on stderr that is no result, and no reason to stop."""
    sys.stderr.write(f"adjudge: warning: {visible(message)}\n")
