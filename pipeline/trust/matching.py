"""What a judge and people said of the same statements: a run's statements beside the labels that fit them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from adjudge.pipeline.grade import ResultRow, StatementRow
from adjudge.pipeline.trust.labels import Label, Opinion

Binary = Literal["met", "not_met"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One statement about one conversation, as the judge decided it and people did.

    Attributes:
        place: grader and statement id, such as `service s2`.
        statement: its text.
        judge: name of the judge; empty where a panel decided.
        test: the conversation's test.
        decision: the judge's, or None where there is none to compare: see `cause`.
        cause: why there is none: an error cause, or `undetermined`.
        rationale: the judge's.
        labels: the last word of each reviewer.
    """

    conversation_id: str
    grader: str
    place: str
    statement: str
    judge: str
    test: str | None
    decision: Binary | None
    cause: str | None
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

    @property
    def pair(self) -> tuple[Binary, Binary] | None:
        """(people's, judge's), where both decided."""
        said = self.opinion
        if said is None or said == "undecidable" or self.decision is None:
            return None
        return said, self.decision


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

    @classmethod
    def of(cls, labels: Iterable[Label]) -> Labels:
        """Labels in the order they were given: later words of a reviewer replace earlier ones."""
        made = cls()
        last = {(label.reviewer, *label.place): label for label in labels}
        for number, label in enumerate(last.values()):
            made._by_place.setdefault((label.place[0], label.statement), []).append((number, label))
            made._waiting[number] = label
        made.given = len(last)
        return made

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

    def settle(self, evidence: Mapping[str, str]) -> None:
        """Count what no statement of the run asked for. `evidence` has the digest of each conversation."""
        for label in self._waiting.values():
            known = evidence.get(label.conversation_id)
            if label.evidence is not None and known is not None and known != label.evidence:
                self.stale += 1
            else:
                self.unused += 1
        self._waiting.clear()


def judged(rows: Iterable[ResultRow], evidence: Mapping[str, str], labels: Labels) -> Iterator[Judged]:
    """Every statement of `rows` with the labels that fit it.

    Args:
        rows: a run's results.
        evidence: by conversation id, the digest of its evidence; empty where labels know none.
        labels: what people said; it is settled when all rows were seen.
    """
    for row in rows:
        digest = evidence.get(row["conversation_id"], "")
        for grade in row["grades"]:
            for statement in grade.get("statements", []):
                decision, cause = _decided(statement)
                yield Judged(
                    conversation_id=row["conversation_id"],
                    grader=grade["grader"],
                    place=f"{grade['grader']} {statement['id']}",
                    statement=statement["text"],
                    judge=statement.get("judge", ""),
                    test=row.get("test"),
                    decision=decision,
                    cause=cause,
                    rationale=statement.get("rationale"),
                    labels=labels.about(row["conversation_id"], digest, grade["grader"], statement["text"]),
                )
    labels.settle(evidence)


def _decided(statement: StatementRow) -> tuple[Binary | None, str | None]:
    """A decision to compare, or why there is none. What a grader makes of `undetermined` is no decision."""
    if statement["error"] is not None:
        return None, statement["error"]["cause"]
    match statement["decision"]:
        case "met" | "not_met" as decision:
            return decision, None
        case _:
            return None, "undetermined"
