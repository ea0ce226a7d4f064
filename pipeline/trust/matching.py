"""What a judge and people said of the same statements: a run's statements beside the labels that fit them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from adjudge.pipeline.grade import ResultRow, StatementRow, VoteRow
from adjudge.pipeline.trust.labels import Label, Opinion

Binary = Literal["met", "not_met"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one judge said of one statement.

    Attributes:
        judge: its name; empty where a panel decided.
        decision: None where there is none to compare: see `cause`.
        cause: why there is none: an error cause, or `undetermined`.
    """

    judge: str
    decision: Binary | None
    cause: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One statement about one conversation, as it was decided and as people see it.

    Attributes:
        place: grader and statement id, such as `service s2`.
        statement: its text.
        test: the conversation's test.
        answer: what the run counts: the judge's answer, or the panel's.
        votes: each answer behind it; the one answer where one judge was asked once.
        rationale: the judge's.
        labels: the last word of each reviewer.
    """

    conversation_id: str
    grader: str
    place: str
    statement: str
    test: str | None
    answer: Answer
    votes: tuple[Answer, ...]
    rationale: str | None
    labels: tuple[Label, ...] = ()

    @property
    def opinion(self) -> Opinion | None:
        """What more than half of the reviewers say; `undecidable` where there is no such majority."""
        if not self.labels:
            return None
        words: Counter[Opinion] = Counter(label.label for label in self.labels)
        ((word, votes),) = words.most_common(1)
        return word if 2 * votes > len(self.labels) else "undecidable"


@dataclass(slots=True)
class Labels:
    """Labels ready to be found, and which of them were of use.

    Attributes:
        given: labels read, the last word of each reviewer about each place.
        stale: those about other evidence than the run's conversation of that id has.
        unused: those about a conversation or statement that the run doesn't have.
    """

    given: int = 0
    stale: int = 0
    unused: int = 0
    _by_place: dict[tuple[str, str], list[tuple[int, Label]]] = field(
        default_factory=dict[tuple[str, str], list[tuple[int, Label]]]
    )
    _waiting: dict[int, Label] = field(default_factory=dict[int, Label])
    _labelled: set[str] = field(default_factory=set[str])
    _evidence: dict[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def of(cls, labels: Iterable[Label]) -> Labels:
        """Labels in the order they were given: later words of a reviewer replace earlier ones."""
        made = cls()
        last = {(label.reviewer, *label.place): label for label in labels}
        for number, label in enumerate(last.values()):
            made._by_place.setdefault((label.place[0], label.statement), []).append((number, label))
            made._waiting[number] = label
            made._labelled.add(label.conversation_id)
        made.given = len(last)
        return made

    def meet(self, conversation_id: str, evidence: str) -> None:
        """Take note of a conversation of the run and of the digest of its evidence."""
        if conversation_id in self._labelled:
            self._evidence[conversation_id] = evidence

    def about(self, conversation_id: str, evidence: str, grader: str, statement: str) -> tuple[Label, ...]:
        """The last word of each reviewer about one statement; one for its grader goes first."""
        near = [
            (label.grader is not None, number, label)
            for place in (f"id {conversation_id}", evidence)
            for number, label in self._by_place.get((place, statement), ())
            if label.grader in (None, grader)
        ]
        near.sort(key=lambda found: found[:2])
        for _, number, _ in near:
            self._waiting.pop(number, None)
        return tuple({label.reviewer: label for _, _, label in near}.values())

    def settle(self) -> None:
        """Count what no statement of the run asked for."""
        for label in self._waiting.values():
            known = self._evidence.get(label.conversation_id)
            if label.evidence is not None and known and known != label.evidence:
                self.stale += 1
            else:
                self.unused += 1
        self._waiting.clear()


def judged(rows: Iterable[tuple[ResultRow, str]], labels: Labels) -> Iterator[Judged]:
    """Every statement of a run with the labels that fit it.

    Args:
        rows: the run's results, each with the digest of its conversation's evidence.
        labels: what people said; it is settled when all rows were seen.
    """
    for row, evidence in rows:
        labels.meet(row["conversation_id"], evidence)
        for grade in row["grades"]:
            for statement in grade.get("statements", []):
                answer = _answer(statement.get("judge", ""), statement)
                votes = tuple(_answer(vote["judge"], vote) for vote in statement.get("votes", []))
                yield Judged(
                    conversation_id=row["conversation_id"],
                    grader=grade["grader"],
                    place=f"{grade['grader']} {statement['id']}",
                    statement=statement["text"],
                    test=row.get("test"),
                    answer=answer,
                    votes=votes or (answer,),
                    rationale=statement.get("rationale"),
                    labels=labels.about(row["conversation_id"], evidence, grade["grader"], statement["text"]),
                )
    labels.settle()


def _answer(judge: str, row: StatementRow | VoteRow) -> Answer:
    """A decision to compare, or why there is none. What a grader makes of `undetermined` is no decision."""
    error = row["error"]
    if error is not None:
        return Answer(judge=judge, decision=None, cause=error["cause"])
    match row["decision"]:
        case "met" | "not_met" as decision:
            return Answer(judge=judge, decision=decision, cause=None)
        case _:
            return Answer(judge=judge, decision=None, cause="undetermined")
