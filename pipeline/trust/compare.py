"""Two runs compared: what turned, whether chance explains it, and what the missing part allows (S13)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from adjudge.pipeline.planning.plan import PlanHead
from adjudge.pipeline.trust.likeness import Likeness, likeness
from adjudge.pipeline.trust.paired import detectable, fewest, mcnemar, mean_interval
from adjudge.pipeline.trust.pairing import By, Graded, Pair, couples, pairs
from adjudge.pipeline.trust.proportions import Interval

Trend = Literal["regression", "improvement", "no difference"]
Outcome = Literal["regression", "improvement", "no difference", "undecided"]

EXIT_CODES: Mapping[Outcome, int] = {"regression": 1, "improvement": 0, "no difference": 0, "undecided": 3}


@dataclass(slots=True)
class Net:
    """What a cluster gained less what it lost in decided pairs; with the others, at least and at most."""

    gained: int = 0
    pairs: int = 0
    missing: int = 0
    least: int = 0
    most: int = 0


@dataclass(slots=True)
class Table:
    """Pairs counted by what A and B made of them, as a whole and by cluster."""

    counts: Counter[tuple[bool | None, bool | None]] = field(
        default_factory=Counter[tuple[bool | None, bool | None]]
    )
    nets: dict[str, Net] = field(default_factory=dict[str, Net])

    def add(self, pair: Pair) -> None:
        """Count one pair."""
        a, b = pair.a.met, pair.b.met
        self.counts[a, b] += 1
        net = self.nets.setdefault(pair.cluster, Net())
        if a is not None and b is not None:
            net.pairs += 1
            net.gained += b - a
        else:
            net.missing += 1
        net.least += (b is True) - (a is not False)
        net.most += (b is not False) - (a is True)

    @property
    def lost(self) -> int:
        """Met in A, not in B."""
        return self.counts[True, False]

    @property
    def gained(self) -> int:
        """Met in B, not in A."""
        return self.counts[False, True]

    @property
    def decided(self) -> int:
        """Pairs decided in both runs."""
        return sum(count for pair, count in self.counts.items() if None not in pair)

    @property
    def missing(self) -> int:
        """Pairs not decided in both runs."""
        return self.counts.total() - self.decided

    def met(self, side: int) -> tuple[int, int]:
        """How many one run (0 is A, 1 is B) has met, of how many it decided."""
        met, not_met = (
            sum(count for pair, count in self.counts.items() if pair[side] is word) for word in (True, False)
        )
        return met, met + not_met

    def lacking(self, side: int) -> int:
        """How many one run did not decide."""
        return sum(count for pair, count in self.counts.items() if pair[side] is None)

    @property
    def difference(self) -> Fraction | None:
        """The share met in B less that in A, over the pairs decided in both; None where there is none."""
        return Fraction(self.gained - self.lost, self.decided) if self.decided else None

    @property
    def turned(self) -> tuple[int, int, int]:
        """Clusters that lost more than they gained, those that did the reverse, and all with a pair."""
        nets = [net.gained for net in self.nets.values() if net.pairs]
        return sum(net < 0 for net in nets), sum(net > 0 for net in nets), len(nets)

    def interval(self, confidence: float) -> Interval | None:
        """Of the difference, by the paired bootstrap over clusters; None where all clusters are alike."""
        nets = [(net.gained, net.pairs) for net in self.nets.values() if net.pairs]
        return mean_interval(nets, confidence) if len(set(nets)) > 1 else None

    def detectable(self, confidence: float) -> float | None:
        """The smallest net share of clusters turning one way that is found four times in five, or None."""
        worse, better, clusters = self.turned
        return detectable(clusters, worse + better, 1 - confidence)

    def trends(self, confidence: float) -> set[Trend]:
        """What the decided pairs show, and what they would show at the least and the most that B can have.

        More than one: what was not decided could turn the answer.
        """
        nets = self.nets.values()
        return {
            self.seen(confidence),
            trend(((net.least, net.pairs + net.missing) for net in nets), confidence),
            trend(((net.most, net.pairs + net.missing) for net in nets), confidence),
        }

    def seen(self, confidence: float) -> Trend:
        """What the pairs decided in both runs show."""
        return trend(((net.gained, net.pairs) for net in self.nets.values()), confidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two runs compared.

    Attributes:
        outcome: of B against A.
        reasons: why it is undecided; empty otherwise.
        seen: what the pairs decided in both runs show, whatever speaks against believing it.
        statements: statements and checks, on which the outcome rests; `graders` by grader, `grades` passed.
        flips: statements and checks decided in both runs, and differently: lost, then gained.
        missing: those not decided in both, or in one run alone.
    """

    by: By
    outcome: Outcome
    reasons: Sequence[str]
    seen: Trend
    likeness: Likeness
    statements: Table
    graders: Mapping[str, Table]
    grades: Table
    flips: Sequence[Pair]
    missing: Sequence[Pair]


def compare(
    a: tuple[PlanHead, Sequence[Graded]], b: tuple[PlanHead, Sequence[Graded]], by: By, confidence: float
) -> Comparison:
    """Compare run B with run A, pair by pair.

    B is called better or worse only if McNemar's exact test over conversations and the bootstrap's interval
    both say so, like is compared with like, both runs lack equally many decisions, and nothing that is
    lacking could turn it.

    Args:
        a, b: each run's plan and its conversations.
        by: what makes a pair.
        confidence: how sure, in (0, 1).
    """
    side_by_side = couples(a[1], b[1], by)
    whole, grades, graders = Table(), Table(), dict[str, Table]()
    flips: list[Pair] = []
    missing: list[Pair] = []
    for couple in side_by_side:
        for pair in pairs(couple):
            if pair.label is None:
                grades.add(pair)
                continue
            whole.add(pair)
            graders.setdefault(pair.grader, Table()).add(pair)
            if pair.a.met is None or pair.b.met is None:
                missing.append(pair)
            elif pair.a.met != pair.b.met:
                flips.append(pair)
    alike = likeness(a[0], b[0], side_by_side)
    seen = whole.seen(confidence)
    reasons = list(_doubts(alike, whole, confidence, what=by))
    return Comparison(
        by=by,
        outcome="undecided" if reasons else seen,
        reasons=reasons,
        seen=seen,
        likeness=alike,
        statements=whole,
        graders=graders,
        grades=grades,
        flips=sorted(flips, key=lambda pair: pair.b.met is True),
        missing=missing,
    )


def trend(nets: Iterable[tuple[int, int]], confidence: float) -> Trend:
    """What clusters show, each with its net gain over so many pairs: a difference only if both tests do."""
    counted = [net for net in nets if net[1]]
    worse, better = (sum(sign * net < 0 for net, _ in counted) for sign in (1, -1))
    if mcnemar(worse, better) >= 1 - confidence:
        return "no difference"
    low, high = mean_interval(counted, confidence) or (0.0, 0.0)
    if worse > better and high < 0:
        return "regression"
    return "improvement" if better > worse and low > 0 else "no difference"


def _doubts(alike: Likeness, table: Table, confidence: float, *, what: str) -> Iterator[str]:
    """Why no answer can be given."""
    if not table.decided:
        yield "no statement was decided in both runs"
        return
    if alike.kind == "unlike":
        yield (
            f"the conversations and how they are judged ({alike.changed}) both differ, "
            "so a difference could not be laid to either"
        )
    lacking = table.lacking(0), table.lacking(1)
    if table.seen(confidence) != "no difference" and lacking[0] != lacking[1]:
        yield (
            f"A lacks {lacking[0]} decisions and B lacks {lacking[1]}: "
            "what can't be decided is seldom like the rest"
        )
    elif len(table.trends(confidence)) > 1:
        yield f"the {table.missing} statements not decided in both runs could turn the answer"
    worse, better, clusters = table.turned
    need = fewest(1 - confidence)
    if worse + better and clusters < need:
        yield f"fewer than {need} {what}s can't show a difference, and {clusters} are compared"
