"""The rollouts of a run as plain text, in the layout of a Silo run, and as JSON."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from adjudge.pipeline.display import aligned, visible
from adjudge.pipeline.reports.text import blocks, line, reward, titled
from adjudge.pipeline.rollouts import RolloutGroup, Rollouts, Standing
from adjudge.pipeline.scoring import bounds, half_up_root
from adjudge.pipeline.trust.proportions import Interval, clopper_pearson

ORDER: dict[Standing, int] = {"flaky": 0, "not all judged": 1, "never passed": 2, "always passed": 3}


def rollouts_report(found: Rollouts, confidence: float = 0.95) -> str:
    """The rollouts of every test, each under its grader's name, then a table, flaky tests first."""
    said = [f"  {visible(group.grader)}\n\n{rollouts_text(group, confidence)}\n" for group in found.groups]
    return "".join(said) + _table(found.groups) + _counting(found.groups) + _without_test(found)


def rollouts_text(group: RolloutGroup, confidence: float = 0.95) -> str:
    """The rollouts of one test under one grader (S10), then pass@k and pass^k; ends in a newline.

    Rewards are means and extremes of exact scores, rounded once, over the rollouts that have one. Chances
    are those of `k` rollouts drawn from the `n`. Where some have no score, the span that they allow is shown.
    """
    rollouts = [
        line("Task", titled(group.task, group.title)),
        *([line("File", group.file)] if group.file else []),
        line("Rollouts", str(group.n)),
        line("Passed", f"{group.passed} / {group.n}"),
        line("Mean reward", reward(group.mean)),
        line("Best", reward(max(group.scores, default=None))),
        line("Worst", reward(min(group.scores, default=None))),
    ]
    spread = [line("Spread", _spread(group))] if len(group.scores) > 1 else []
    if group.errored:
        rollouts.append(line("Errored", str(group.errored)))
        spread = [
            line("Scored", f"{len(group.scores)} / {group.n}"),
            line("Mean within", _span(*bounds(group.scores, group.errored))),
            *spread,
        ]
    return blocks(rollouts, spread, *_chances(group, confidence))


def rollouts_json(run_id: str, found: Rollouts, confidence: float = 0.95) -> dict[str, Any]:
    """The same for programs. A single rollout has no chances of more."""
    return {
        "run_id": run_id,
        "confidence": confidence,
        "conversations_without_test": found.without_test,
        "rollouts": [_json(group, confidence) for group in found.groups],
    }


def chance_interval(group: RolloutGroup, k: int, confidence: float, *, every: bool) -> Interval:
    """Where the chance that one of `k` further rollouts passes lies; with `every`, that all of them do.

    The exact interval (Clopper and Pearson) of the pass rate over all `n`, taken through `1 - (1 - p)^k` or
    `p^k`, which only grow with `p`. Rollouts without a score count as failed for the lower end and as passed
    for the upper one (S13).
    """
    low, _ = clopper_pearson(group.passed, group.n, confidence)
    _, high = clopper_pearson(group.passed + group.errored, group.n, confidence)
    return (low**k, high**k) if every else (1 - (1 - low) ** k, 1 - (1 - high) ** k)


def _chances(group: RolloutGroup, confidence: float) -> list[list[str]]:
    """The blocks of pass@k and pass^k; none for a single rollout."""
    sure = f"{100 * confidence:g} %"

    def said(k: int, span: tuple[Fraction, Fraction], *, every: bool) -> str:
        ends = chance_interval(group, k, confidence, every=every)
        low, high = (reward(Fraction(end)) for end in ends)
        return f"{_span(*span)} ({sure}: {low} to {high})"

    return [
        [line(f"pass@{k}", said(k, group.pass_at(k), every=False)) for k in group.sizes],
        [line(f"pass^{k}", said(k, group.pass_hat(k), every=True)) for k in group.sizes],
    ]


def _table(groups: list[RolloutGroup]) -> str:
    if len(groups) < 2:
        return ""
    rows = [["Test", "grader", "passed", "mean", "spread", "errored", ""]]
    for group in sorted(groups, key=lambda group: ORDER[group.standing]):
        name = f"{group.task} ({group.file})" if group.file else group.task
        passed = f"{group.passed} / {group.n}"
        worst, best = min(group.scores, default=None), max(group.scores, default=None)
        spread = f"{reward(worst)} to {reward(best)}" if group.scores else "-"
        errored = str(group.errored or "-")
        rows.append([name, group.grader, passed, reward(group.mean), spread, errored, group.standing])
    flaky = sum(group.standing == "flaky" for group in groups)
    table = "".join(f"  {text}\n" for text in aligned(rows))
    return f"{table}\n  {flaky} of {len(groups)} flaky: some rollouts passed and some failed\n"


def _counting(groups: list[RolloutGroup]) -> str:
    if not any(group.sizes for group in groups):
        return ""
    return (
        "\n  Chances are of all rollouts of a test, drawn without replacement; in brackets, of others.\n"
        "  One without a score is taken as failed at the lower end and as passed at the upper one.\n"
    )


def _without_test(found: Rollouts) -> str:
    if not found.without_test:
        return "" if found.groups else "  No conversation of this run was graded\n"
    lead = "\n" if found.groups else "  No rollouts: no conversation of this run names a test\n"
    return f"{lead}  {found.without_test} conversations name no test, so they are repeats of nothing\n"


def _spread(group: RolloutGroup) -> str:
    lowest, highest = reward(min(group.scores)), reward(max(group.scores))
    return f"{lowest} to {highest}, standard deviation {half_up_root(group.variance or Fraction(0))}"


def _span(lowest: Fraction, highest: Fraction) -> str:
    return reward(lowest) if lowest == highest else f"{reward(lowest)} to {reward(highest)}"


def _json(group: RolloutGroup, confidence: float) -> dict[str, Any]:
    low, high = bounds(group.scores, group.errored)

    def chances(*, every: bool) -> list[dict[str, Any]]:
        of = group.pass_hat if every else group.pass_at
        return [
            {
                "k": k,
                "lowest": float(of(k)[0]),
                "highest": float(of(k)[1]),
                "interval": list(chance_interval(group, k, confidence, every=every)),
            }
            for k in group.sizes
        ]

    return {
        "test": group.task,
        "title": group.title,
        "file": group.file or None,
        "grader": group.grader,
        "rollouts": group.n,
        "passed": group.passed,
        "failed": len(group.scores) - group.passed,
        "errored": group.errored,
        "standing": group.standing,
        "mean": None if group.mean is None else float(group.mean),
        "best": float(max(group.scores)) if group.scores else None,
        "worst": float(min(group.scores)) if group.scores else None,
        "lowest": float(low),
        "highest": float(high),
        "standard_deviation": None if group.variance is None else float(half_up_root(group.variance, 6)),
        "pass_at": chances(every=False),
        "pass_hat": chances(every=True),
    }
