"""How well a judge agrees with people: rates, kappa and alpha, each with its interval. Pure.

Statements about one conversation tend to be right or wrong together, so no interval takes them for
independent: a conversation is a cluster. Rates have Wilson's intervals at the effective sample size (Kish
1965; Korn and Graubard 1998), kappa's and alpha's errors are summed by conversation.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import product
from math import sqrt
from statistics import NormalDist

from adjudge.pipeline.trust.matching import Binary
from adjudge.pipeline.trust.proportions import Interval, ends, wilson_at

Pair = tuple[Binary, Binary]
"""What people say, what the judge says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure with its interval.

    Attributes:
        value: exact; None where it isn't defined, as a rate of nothing.
        n: what it is counted over.
        interval: where the true value lies with the confidence asked for; None where there is none.
        effective: what `n` is worth when conversations are clusters.
    """

    value: Fraction | None
    n: int
    interval: Interval | None
    effective: float

    @property
    def lower(self) -> float | None:
        """Lower end of the interval."""
        return ends(self.interval)["lower"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clustered:
    """Pairs of decisions, by the conversation they are about."""

    clusters: Mapping[Hashable, Sequence[Pair]]

    @classmethod
    def of(cls, pairs: Iterable[tuple[Hashable, Pair]]) -> Clustered:
        """Gather pairs by conversation."""
        made: defaultdict[Hashable, list[Pair]] = defaultdict(list)
        for conversation, pair in pairs:
            made[conversation].append(pair)
        return cls(clusters=made)

    @property
    def table(self) -> Counter[Pair]:
        """How often each pair occurs."""
        return Counter(pair for pairs in self.clusters.values() for pair in pairs)

    def rate(self, successes: set[Pair], among: set[Pair], confidence: float) -> Figure:
        """Share of `successes` among the pairs in `among`, with Wilson's interval at its effective size."""
        return proportion(
            (
                (sum(pair in successes for pair in pairs), sum(pair in among for pair in pairs))
                for pairs in self.clusters.values()
            ),
            confidence,
        )

    def kappa(self, confidence: float) -> Figure:
        """Cohen's kappa (1960): agreement beyond chance.

        Its interval covers two: by its standard error (Fleiss, Cohen and Everitt 1969, summed by
        conversation), and the interval of plain agreement put through the same formula, which stays honest
        where few statements agree by luck on everything and the standard error is 0.
        """
        table = self.table
        n = table.total()
        if n == 0:
            return Figure(value=None, n=0, interval=None, effective=0.0)
        people = {word: Fraction(table[word, "met"] + table[word, "not_met"], n) for word in WORDS}
        judge = {word: Fraction(table["met", word] + table["not_met", word], n) for word in WORDS}
        chance = sum((people[word] * judge[word] for word in WORDS), ZERO)
        agreed = self.rate(AGREED, EVERY, confidence)
        if chance == 1 or agreed.value is None or agreed.interval is None:
            return Figure(value=None, n=n, interval=None, effective=agreed.effective)
        value = (agreed.value - chance) / (1 - chance)
        pull = {
            (said, decided): float(
                ((said == decided) - agreed.value) / (1 - chance)
                - (judge[said] + people[decided] - 2 * chance) * (1 - agreed.value) / (1 - chance) ** 2
            )
            for said, decided in EVERY
        }
        error = sqrt(_variance([sum(pull[pair] for pair in pairs) for pairs in self.clusters.values()], n))
        return Figure(
            value=value,
            n=n,
            interval=_hull(float(value), error, agreed.interval, float(chance), confidence),
            effective=agreed.effective,
        )


ZERO = Fraction(0)
WORDS: tuple[Binary, Binary] = ("met", "not_met")
EVERY: set[Pair] = {(said, decided) for said in WORDS for decided in WORDS}
AGREED: set[Pair] = {("met", "met"), ("not_met", "not_met")}


def proportion(clusters: Iterable[tuple[int, int]], confidence: float) -> Figure:
    """A proportion with Wilson's interval at its effective size.

    Args:
        clusters: by conversation, how many hits there are among how many statements.
        confidence: within 0 and 1.
    """
    counted = [(hits, of) for hits, of in clusters if of]
    n = sum(of for _, of in counted)
    if n == 0:
        return Figure(value=None, n=0, interval=None, effective=0.0)
    found = Fraction(sum(hits for hits, _ in counted), n)
    rate = float(found)
    effective = effective_size(n, rate, [hits - rate * of for hits, of in counted])
    return Figure(value=found, n=n, interval=wilson_at(rate, effective, confidence), effective=effective)


def rates(pairs: Clustered, confidence: float) -> dict[str, Figure]:
    """The figures of a judge: accuracy, tpr, tnr, precision, npv and kappa.

    `tpr`: of what people call met, the judge does; `tnr`: of what they call not met; `precision`: of what the
    judge calls met, people do; `npv`: of what it calls not met.
    """
    met: Pair = ("met", "met")
    not_met: Pair = ("not_met", "not_met")
    missed: Pair = ("met", "not_met")
    invented: Pair = ("not_met", "met")
    return {
        "accuracy": pairs.rate(AGREED, EVERY, confidence),
        "tpr": pairs.rate({met}, {met, missed}, confidence),
        "tnr": pairs.rate({not_met}, {not_met, invented}, confidence),
        "precision": pairs.rate({met}, {met, invented}, confidence),
        "npv": pairs.rate({not_met}, {not_met, missed}, confidence),
        "kappa": pairs.kappa(confidence),
    }


def alpha(units: Iterable[tuple[Hashable, Sequence[str]]], confidence: float) -> Figure:
    """Krippendorff's alpha (nominal) of several reviewers, over units at least two of them labelled.

    Its interval is that of kappa: one from the jackknife over conversations, one from plain agreement.

    Args:
        units: of each statement, its conversation and the words its reviewers gave; those with fewer than
            two are left out.
        confidence: within 0 and 1.
    """
    by_cluster: defaultdict[Hashable, list[Sequence[str]]] = defaultdict(list)
    for conversation, words in units:
        if len(words) >= 2:
            by_cluster[conversation].append(words)
    parts = {cluster: _Coincidences.of(units) for cluster, units in by_cluster.items()}
    whole = reduce(_Coincidences.plus, parts.values(), _Coincidences({}))
    n = sum(len(units) for units in by_cluster.values())
    value = whole.alpha()
    if value is None:
        return Figure(value=None, n=n, interval=None, effective=float(n))
    agreed = 1 - whole.disagreement()
    left_out = [
        float(found) for part in parts.values() if (found := whole.plus(part, -1).alpha()) is not None
    ]
    error = 0.0
    if len(left_out) > 1:
        middle, k = sum(left_out) / len(left_out), len(left_out)
        error = sqrt((k - 1) / k * sum((each - middle) ** 2 for each in left_out))
    residuals = [
        float(sum((1 - _Coincidences.of([words]).disagreement() - agreed for words in units), ZERO))
        for units in by_cluster.values()
    ]
    effective = effective_size(n, float(agreed), residuals)
    plain = wilson_at(float(agreed), effective, confidence)
    chance = float(1 - whole.expected())
    return Figure(
        value=value, n=n, interval=_hull(float(value), error, plain, chance, confidence), effective=effective
    )


def effective_size(n: int, share: float, residuals: Sequence[float]) -> float:
    """What `n` statements are worth as independent ones: at most `n`, at least the number of conversations.

    Args:
        n: statements.
        share: the rate found among them, in [0, 1].
        residuals: by conversation, the sum of (hit - share) over its statements.
    """
    single = share * (1 - share) / n
    if single == 0 or len(residuals) < 2:
        return float(min(n, max(1, len(residuals))))
    return min(float(n), max(float(len(residuals)), n * single / _variance(residuals, n)))


def _variance(sums: Sequence[float], n: int) -> float:
    """Variance of a mean over `n` whose residuals were summed by conversation."""
    k = len(sums)
    return 0.0 if k < 2 else max(k / (k - 1) * sum(each * each for each in sums) / (n * n), 1e-300)


def _hull(value: float, error: float, plain: Interval, chance: float, confidence: float) -> Interval:
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    through = [(end - chance) / (1 - chance) for end in plain]
    return max(-1.0, min(value - z * error, through[0])), min(1.0, max(value + z * error, through[1]))


Cells = dict[tuple[str, str], Fraction]


@dataclass(frozen=True, slots=True)
class _Coincidences:
    """Krippendorff's coincidences: pairs of words within units, each unit counting once a word."""

    cells: Cells

    @classmethod
    def of(cls, units: Iterable[Sequence[str]]) -> _Coincidences:
        cells: Cells = {}
        for words in units:
            counts = Counter(words)
            for pair in product(counts, counts):
                pairs = counts[pair[0]] * (counts[pair[1]] - (pair[0] == pair[1]))
                cells[pair] = cells.get(pair, ZERO) + Fraction(pairs, len(words) - 1)
        return cls(cells)

    def plus(self, part: _Coincidences, sign: int = 1) -> _Coincidences:
        pairs = self.cells.keys() | part.cells.keys()
        return _Coincidences(
            {pair: self.cells.get(pair, ZERO) + sign * part.cells.get(pair, ZERO) for pair in pairs}
        )

    def disagreement(self) -> Fraction:
        total = sum(self.cells.values(), ZERO)
        apart = sum((each for (one, other), each in self.cells.items() if one != other), ZERO)
        return ZERO if total == 0 else apart / total

    def expected(self) -> Fraction:
        words: dict[str, Fraction] = {}
        for (one, _), each in self.cells.items():
            words[one] = words.get(one, ZERO) + each
        total = sum(words.values(), ZERO)
        if total <= 1:
            return ZERO
        return 1 - sum((each * (each - 1) for each in words.values()), ZERO) / (total * (total - 1))

    def alpha(self) -> Fraction | None:
        expected = self.expected()
        return None if expected == 0 else 1 - self.disagreement() / expected
