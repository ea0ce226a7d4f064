"""How often a judge, asked the same again, decides otherwise; and where that could change a grade. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from adjudge.judges.failure import Failure
from adjudge.judges.verdict import Verdict
from adjudge.pipeline.grade import GradeRow, ResultRow, StatementRow
from adjudge.pipeline.scoring import exact, result, score
from adjudge.pipeline.trust.figures import Figure, proportion
from adjudge.pipeline.trust.matching import Answer, Labels, judged

if TYPE_CHECKING:
    from adjudge.pipeline.grading.repeating import Asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One statement about one conversation, and every answer to it.

    Attributes:
        place: the statement's place in its grader, from 0.
        graded: whether its grade has a score.
        could_turn: whether the grade's result would be another if this one decision were the other.
        counted: what the run decided; None where it errored.
        votes: the run's answers, then the repeats, by judge in the order of samples.
    """

    conversation_id: str
    grader: str
    place: int
    statement: str
    graded: bool
    could_turn: bool
    counted: str | None
    votes: Sequence[Answer]

    @property
    def words(self) -> Mapping[str, Sequence[str]]:
        """What each judge decided, time after time, errors left out."""
        said: dict[str, list[str]] = {}
        for vote in self.votes:
            if (word := decided(vote)) is not None:
                said.setdefault(vote.judge, []).append(word)
        return said

    @property
    def repeats(self) -> int:
        """Answers after the first of the same judge."""
        return sum(len(words) - 1 for words in self.words.values())

    @property
    def flips(self) -> int:
        """Repeats that say otherwise than the first answer of the same judge."""
        return sum(word != words[0] for words in self.words.values() for word in words[1:])

    @property
    def errors(self) -> Counter[str]:
        """Answers that are none, by cause; neither flips nor repeats."""
        return Counter(vote.cause or "internal" for vote in self.votes if decided(vote) is None)


@dataclass(slots=True)
class Repeats:
    """Repeats and flips of some cases; those of one conversation are no independent evidence."""

    cases: int = 0
    errors: Counter[str] = field(default_factory=Counter[str])
    _by_conversation: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])

    def add(self, case: Case) -> None:
        """Count one case."""
        self.cases += 1
        self.errors += case.errors
        flips, repeats = self._by_conversation.get(case.conversation_id, (0, 0))
        self._by_conversation[case.conversation_id] = (flips + case.flips, repeats + case.repeats)

    @property
    def flips(self) -> int:
        """Repeats that say otherwise."""
        return sum(flips for flips, _ in self._by_conversation.values())

    def rate(self, confidence: float) -> Figure:
        """Flips over repeats, with Wilson's interval at their effective size."""
        return proportion(self._by_conversation.values(), confidence)


@dataclass(slots=True)
class Stability:
    """How stable a run's verdicts are.

    Attributes:
        statements: all that were asked; `could_turn` of them could turn their grade, `ungraded` have one
            that errored.
        whole: of all cases that were repeated; `parts` by grader and statement text.
        flipped: cases with a flip.
    """

    statements: int = 0
    could_turn: int = 0
    ungraded: int = 0
    whole: Repeats = field(default_factory=Repeats)
    parts: dict[tuple[str, str], Repeats] = field(default_factory=dict[tuple[str, str], Repeats])
    flipped: list[Case] = field(default_factory=list[Case])


def stability(cases: Iterable[Case]) -> Stability:
    """Count repeats and flips. A case asked only once is in `statements` alone."""
    found = Stability()
    for case in cases:
        found.statements += 1
        found.could_turn += case.could_turn
        found.ungraded += not case.graded
        if len(case.votes) > len({vote.judge for vote in case.votes}):
            found.whole.add(case)
            found.parts.setdefault((case.grader, case.statement), Repeats()).add(case)
        if case.flips:
            found.flipped.append(case)
    return found


def cases(rows: Iterable[ResultRow], repeated: Mapping[Asked, Verdict | Failure]) -> Iterator[Case]:
    """Every statement of a run, with the run's answers and then the repeats."""
    further: dict[tuple[int, str, int], list[Answer]] = {}
    for number, grader, place, judge, sample in sorted(repeated, key=lambda asked: asked[-1]):
        vote = repeated[number, grader, place, judge, sample]
        further.setdefault((number, grader, place), []).append(_answer(judge, vote))
    for number, row in enumerate(rows):
        standing = [each for grade in row["grades"] for each in _standing(grade)]
        for (place, graded, turns), one in zip(standing, judged([(row, "")], Labels()), strict=True):
            yield Case(
                conversation_id=one.conversation_id,
                grader=one.grader,
                place=place,
                statement=one.statement,
                graded=graded,
                could_turn=turns,
                counted=decided(one.answer),
                votes=(*one.votes, *further.get((number, one.grader, place), ())),
            )


def worth_repeating(rows: Iterable[ResultRow]) -> dict[tuple[int, str], set[int]]:
    """By number of the conversation (from 0) and grader, the statements that `could_turn` their grade."""
    found = {
        (number, grade["grader"]): set(could_turn(grade))
        for number, row in enumerate(rows)
        for grade in row["grades"]
    }
    return {where: places for where, places in found.items() if places}


def _answer(judge: str, vote: Verdict | Failure) -> Answer:
    if isinstance(vote, Failure):
        return Answer(judge=judge, decision=None, cause=vote.cause)
    if vote.decision == "undetermined":
        return Answer(judge=judge, decision=None, cause="undetermined")
    return Answer(judge=judge, decision=vote.decision, cause=None)


def _standing(grade: GradeRow) -> Iterator[tuple[int, bool, bool]]:
    """Each statement's place, whether the grade has a score, and whether it could turn that."""
    turning, graded = set(could_turn(grade)), grade["met"] is not None
    return ((place, graded, place in turning) for place in range(len(_statements(grade))))


def _statements(grade: GradeRow) -> Sequence[StatementRow]:
    return grade.get("statements", [])


def decided(vote: Answer) -> str | None:
    """`met`, `not_met` or `undetermined`; None where the vote errored."""
    return vote.decision or ("undetermined" if vote.cause == "undetermined" else None)


def could_turn(grade: GradeRow) -> Iterator[int]:
    """Places of the statements that decide a grade: with the other decision its result would be another.

    None of an errored grade: it has no result that one statement could change.
    """
    rows, met, total = _statements(grade), grade["met"], grade["total"]
    if met is None or not total:
        return
    unmet = sum(row["required"] and row["decision"] != "met" for row in rows)
    for place, row in enumerate(rows):
        step = -1 if row["decision"] == "met" else 1
        required_met = unmet - (step if row["required"] else 0) == 0
        if result(score(met + step, total), exact(grade["threshold"]), required_met) != grade["result"]:
            yield place
