"""The rule that turns a run into an exit code: met, not met, or undecided. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Literal, Protocol

from adjudge.pipeline.grade import CountsRow, PolicyRow
from adjudge.pipeline.scoring import exact

MET, NOT_MET, UNDECIDED, NOTHING = 0, 1, 3, 5
"""Exit codes of `decide`."""


class Tolerances(Protocol):
    """What a suite's `policy` tolerates. Nothing is tolerated that is not written there."""

    @property
    def max_errored(self) -> int | None:
        """How many planned grades may stay without a result; None is not said."""
        ...

    @property
    def min_pass_rate(self) -> float | None:
        """Which part of the planned gating grades must pass, in [0, 1]; None is all of them."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What of a run decides it. Every planned gating grade is in exactly one of the first four.

    Attributes:
        passed: gating grades that passed.
        failed: gating grades that failed.
        errored: gating grades without a score.
        missing: gating grades that were planned and never made: not begun, canceled, or of a conversation
            without a trace.
        not_gradable: failed or canceled conversations with any grader selected.
        budget_exhausted: grades, gating or not, that the budget stopped.
        unreliable: what speaks against a judge, in words: its canary did not come out as it must.
        not_admitted: what speaks against a judge before it is asked: its agreement with people falls short.
    """

    passed: int = 0
    failed: int = 0
    errored: int = 0
    missing: int = 0
    not_gradable: int = 0
    budget_exhausted: int = 0
    unreliable: tuple[str, ...] = ()
    not_admitted: tuple[str, ...] = ()

    @property
    def planned(self) -> int:
        """All planned gating grades."""
        return self.passed + self.failed + self.unjudged

    @property
    def unjudged(self) -> int:
        """Planned gating grades without a result."""
        return self.errored + self.missing


def decide(counts: CountsRow, facts: Facts, policy: Tolerances) -> tuple[PolicyRow, int]:
    """Whether a run meets its policy, why in words, and its exit code. The first line that applies wins.

    | `min_pass_rate` not set: all must pass | `min_pass_rate: r`: r of the planned must pass | code |
    |---|---|---|
    | a gating grade failed | fewer would pass even if all that is not judged passed | 1, not met |
    | a record is unreadable, evidence incomplete, a judge unreliable or not admitted | same | 3, undecided |
    | no grade was planned at all | the same | 5, undecided |
    | more is not judged than `max_errored`, or than 0 | the same, but only where `max_errored` is set | 3 |
    | gating grades were planned and none was judged | fewer would pass if none of that passed | 3 |
    | otherwise | otherwise | 0, met |

    `max_errored` is held against the unjudged gating grades, the conversations that could not be graded and
    the grades the budget stopped, each by itself. A tolerated grade is not a passed one: it stays in the
    denominator of the pass rate. Under `min_pass_rate` alone the bounds decide (S13), whatever the errors;
    a rate of 0 still needs one grade to pass. A failure outranks an error. An unreadable record is never
    tolerated: no one knows what it was.

    So one more failed grade never makes the outcome better, nor does a grade that fails or errs instead of
    passing; an errored grade that passes instead never makes it worse.

    Args:
        counts: all grades and conversations of the run.
        facts: those that gate.
        policy: what is tolerated.
    """
    rate = None if policy.min_pass_rate is None else exact(policy.min_pass_rate)
    outcome = _Outcome(counts=counts, facts=facts, max_errored=policy.max_errored, rate=rate)
    code = outcome.code()
    row = PolicyRow(
        name="all_passed" if rate is None else "min_pass_rate",
        result=_RESULTS[code],
        reasons=outcome.reasons(code),
    )
    return row, code


_RESULTS: dict[int, Literal["met", "not_met", "undecided"]] = {
    MET: "met",
    NOT_MET: "not_met",
    UNDECIDED: "undecided",
    NOTHING: "undecided",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    counts: CountsRow
    facts: Facts
    max_errored: int | None
    rate: Fraction | None

    @property
    def needed(self) -> int:
        """How many of the planned gating grades have to pass."""
        planned = self.facts.planned
        return planned if self.rate is None else min(planned, max(1, ceil(self.rate * planned)))

    def code(self) -> int:
        facts, counts = self.facts, self.counts
        if self._failed():
            return NOT_MET
        doubted = facts.unreliable or facts.not_admitted
        if counts["unreadable"] or counts["evidence_incomplete"] or doubted:
            return UNDECIDED
        if counts["grades"] == 0 and facts.planned == 0 and not facts.not_gradable:
            return NOTHING
        enough = facts.passed >= (min(1, facts.planned) if self.rate is None else self.needed)
        return UNDECIDED if self._intolerable() or not enough else MET

    def _failed(self) -> bool:
        if self.rate is None:
            return self.facts.failed > 0
        return self.facts.passed + self.facts.unjudged < self.needed

    def _intolerable(self) -> bool:
        if self.max_errored is None and self.rate is not None:
            return False
        facts, allowed = self.facts, self.max_errored or 0
        return max(facts.unjudged, facts.not_gradable, facts.budget_exhausted) > allowed

    def reasons(self, code: int) -> list[str]:
        if code == NOTHING:
            return ["no grade was planned: no conversation has a grader selected"]
        facts, counts = self.facts, self.counts
        conversations = _count(facts.not_gradable, "conversation")
        incomplete = _count(counts["evidence_incomplete"], "conversation")
        said = [
            (facts.failed, f"{_of(facts.failed, facts.planned)} failed"),
            (facts.errored, f"{_of(facts.errored, facts.planned)} errored"),
            (facts.missing, f"{_of(facts.missing, facts.planned)} {_are(facts.missing)} missing"),
            (facts.not_gradable, f"{conversations} failed or got canceled and can't be graded"),
            (facts.budget_exhausted, f"the budget stopped {_count(facts.budget_exhausted, 'grade')}"),
            (counts["unreadable"], f"{_count(counts['unreadable'], 'record')} could not be read"),
            (counts["evidence_incomplete"], f"the evidence of {incomplete} is flagged incomplete"),
        ]
        judges = [f"judge_unreliable: {text}" for text in facts.unreliable]
        judges += [f"judge_not_admitted: {text}" for text in facts.not_admitted]
        return [self._passed(), *(text for number, text in said if number), *judges, *self._tolerances()]

    def _passed(self) -> str:
        facts = self.facts
        if not facts.planned:
            return "no gating grade was planned, so none can fail"
        if self.rate is None:
            return f"{_of(facts.passed, facts.planned)} passed"
        most = facts.passed + facts.unjudged
        span = str(facts.passed) if most == facts.passed else f"at least {facts.passed} and at most {most}"
        rule = f"min_pass_rate {float(self.rate)} needs {self.needed}"
        return f"{span} of {_count(facts.planned, 'gating grade')} passed; {rule}"

    def _tolerances(self) -> list[str]:
        if self.max_errored is None:
            return []
        return [f"max_errored tolerates {_count(self.max_errored, 'grade')} without a result"]


def _of(number: int, planned: int) -> str:
    return f"{number} of {_count(planned, 'gating grade')}"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
