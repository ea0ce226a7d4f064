"""What the verdicts of a run themselves say of how far they can be trusted: quotes, votes, models. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from adjudge.judges.calling.served import is_same_model
from adjudge.pipeline.grade import ResultRow, StatementRow

LISTED = 5
"""Quotes not found that are kept to be shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unverified:
    """A quote that stands in no such turn (J6). `place`: grader and statement id, such as `service s2`."""

    conversation_id: str
    place: str
    turn: int
    quote: str


@dataclass(slots=True)
class Doubts:
    """Counts over all statements.

    Attributes:
        statements: of grades with statements.
        cited: quotes; `unverified` of them were not found, the first of which are in `quotes`.
        split: statements whose votes differ, errors aside (J8).
        windowed: statements that a judge saw in windows (J7).
        sources: how many were decided by live calls, the cache and recordings.
        served: how many were decided by which model, as (asked, the model that says it answered).
    """

    statements: int = 0
    cited: int = 0
    unverified: int = 0
    split: int = 0
    windowed: int = 0
    quotes: list[Unverified] = field(default_factory=list[Unverified])
    sources: Counter[str] = field(default_factory=Counter[str])
    served: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])

    @property
    def substituted(self) -> dict[tuple[str, str], int]:
        """Of `served`, those in which another model answered than was asked (F16)."""
        return {pair: count for pair, count in self.served.items() if not is_same_model(*pair)}

    def add(self, conversation_id: str, grader: str, statement: StatementRow) -> None:
        """Count one statement."""
        votes = statement.get("votes", [])
        self.statements += 1
        self.split += len({vote["decision"] for vote in votes} - {None}) > 1
        self.windowed += "windows" in statement or any("windows" in vote for vote in votes)
        if statement["source"]:
            self.sources[statement["source"]] += 1
        if statement["served_model"] and not votes:
            self.served[statement["model"], statement["served_model"]] += 1
        for citation in statement["citations"]:
            self.cited += 1
            if citation["verified"]:
                continue
            self.unverified += 1
            if len(self.quotes) < LISTED:
                place = f"{grader} {statement['id']}"
                turn, quote = citation["turn"], citation["quote"]
                self.quotes.append(
                    Unverified(conversation_id=conversation_id, place=place, turn=turn, quote=quote)
                )


def doubts(rows: Iterable[ResultRow]) -> Doubts:
    """Count over `rows`."""
    found = Doubts()
    for _ in counting_doubts(rows, found):
        pass
    return found


def counting_doubts(rows: Iterable[ResultRow], found: Doubts) -> Iterator[ResultRow]:
    """`rows` as they are; what passes is counted in `found`."""
    for row in rows:
        for grade in row["grades"]:
            for statement in grade.get("statements", []):
                found.add(row["conversation_id"], grade["grader"], statement)
        yield row
