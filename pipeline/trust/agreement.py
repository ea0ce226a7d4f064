"""How far a judge agrees with people, over a run: counted as a whole and by part. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from adjudge.pipeline.trust.corrected import Corrected, corrected
from adjudge.pipeline.trust.figures import Clustered, Figure, Pair, alpha, proportion, rates
from adjudge.pipeline.trust.matching import Answer, Binary, Judged

Key = Callable[[Judged], Iterator[tuple[str, Answer]]]
"""The parts that a statement belongs to, with the answer that counts there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """A statement that people and the judge decide differently."""

    judged: Judged
    people: Binary
    judge: Binary


@dataclass(slots=True)
class Part:
    """Judge beside people, over some statements of a run. Each is in exactly one of these counts:

    compared (`pairs`), `errored` (labelled, but without a decision by the judge), `undecidable` (labelled,
    but people can't decide it or have no majority), `unlabelled`.
    """

    pairs: list[tuple[str, Pair]] = field(default_factory=list[tuple[str, Pair]])
    errored: Counter[str] = field(default_factory=Counter[str])
    undecidable: int = 0
    unlabelled: int = 0
    undecided: int = 0
    _met: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    _labelled: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    _units: list[tuple[str, Sequence[str]]] = field(default_factory=list[tuple[str, Sequence[str]]])

    @property
    def statements(self) -> int:
        """All of them; `undecided` of these have no decision by the judge, labelled or not."""
        return len(self.pairs) + self.errored.total() + self.undecidable + self.unlabelled

    @property
    def table(self) -> Counter[Pair]:
        """How often people and judge said what."""
        return Counter(pair for _, pair in self.pairs)

    def add(self, item: Judged, answer: Answer) -> None:
        """Count one answer about one statement."""
        opinion, place = item.opinion, item.conversation_id
        if answer.decision is None:
            self.undecided += 1
        else:
            self._met[place] = _plus(self._met.get(place), hit=answer.decision == "met")
        if opinion is None:
            self.unlabelled += 1
            return
        if len(item.labels) > 1:
            self._units.append((place, [label.label for label in item.labels]))
        if opinion == "undecidable":
            self.undecidable += 1
            return
        self._labelled[place] = _plus(self._labelled.get(place), hit=answer.decision is not None)
        if answer.decision is None:
            self.errored[answer.cause or "undetermined"] += 1
        else:
            self.pairs.append((place, (opinion, answer.decision)))

    def figures(self, confidence: float) -> dict[str, Figure]:
        """All that can be required: the judge's (`rates`), `decided`, and `alpha` of the reviewers.

        `decided` is the part of what people decided that the judge decided, too.
        """
        return {
            **rates(Clustered.of(self.pairs), confidence),
            "decided": proportion(self._labelled.values(), confidence),
            "alpha": alpha(self._units, confidence),
        }

    def share_met(self, confidence: float) -> Figure:
        """What part of all decided statements, labelled or not, the judge calls met."""
        return proportion(self._met.values(), confidence)

    def corrected(self, confidence: float) -> Corrected:
        """What part of them is met, given how often the judge errs."""
        found, figures = self.share_met(confidence), rates(Clustered.of(self.pairs), confidence)
        if found.value is None:
            return Corrected(value=None, interval=None, unusable="the judge decided no statement")
        return corrected(float(found.value), found.effective, figures["tpr"], figures["tnr"], confidence)


@dataclass(slots=True)
class Agreement:
    """Judge and people over a run.

    Attributes:
        whole: all statements, as the run counts them.
        parts: by name, in the order they came.
        judges: by judge's name, each of its own votes, whatever the panel made of them.
        disagreements: in the run's order.
        reviewers: how many labels each gave that met a statement.
    """

    whole: Part = field(default_factory=Part)
    parts: dict[str, Part] = field(default_factory=dict[str, Part])
    judges: dict[str, Part] = field(default_factory=dict[str, Part])
    disagreements: list[Disagreement] = field(default_factory=list[Disagreement])
    reviewers: Counter[str] = field(default_factory=Counter[str])


def agreement(items: Iterable[Judged], by: Key | None = None) -> Agreement:
    """Count `items`, and beside the whole the parts that `by` names."""
    found = Agreement()
    for item in items:
        found.whole.add(item, item.answer)
        for vote in item.votes:
            found.judges.setdefault(vote.judge, Part()).add(item, vote)
        for name, answer in by(item) if by else ():
            found.parts.setdefault(name, Part()).add(item, answer)
        found.reviewers.update(label.reviewer for label in item.labels)
        people, decided = item.opinion, item.answer.decision
        if people in ("met", "not_met") and decided is not None and people != decided:
            found.disagreements.append(Disagreement(judged=item, people=people, judge=decided))
    return found


def _plus(counted: tuple[int, int] | None, *, hit: bool) -> tuple[int, int]:
    hits, of = counted or (0, 0)
    return hits + hit, of + 1
