"""What the verdicts of a run themselves say of how far they can be trusted: quotes, votes, windows. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from adjudge.judges.calling.served import is_same_model
from adjudge.pipeline.grade import ResultRow


@dataclass(slots=True)
class Doubts:
    """Counts over all statements.

    Attributes:
        statements: of grades with statements.
        cited: quotes, and `unverified` those of them that stand in no such turn (J6).
        split: statements whose votes differ, errors aside (J8).
        windowed: statements that a judge saw in windows (J7).
        served: how many were decided by which model, as (asked, the model that says it answered).
    """

    statements: int = 0
    cited: int = 0
    unverified: int = 0
    split: int = 0
    windowed: int = 0
    served: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])

    @property
    def substituted(self) -> dict[tuple[str, str], int]:
        """Of `served`, those in which another model answered than was asked (F16)."""
        return {pair: count for pair, count in self.served.items() if not is_same_model(*pair)}


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
                votes = statement.get("votes", [])
                found.statements += 1
                found.cited += len(statement["citations"])
                found.unverified += sum(not citation["verified"] for citation in statement["citations"])
                found.split += len({vote["decision"] for vote in votes} - {None}) > 1
                found.windowed += "windows" in statement or any("windows" in vote for vote in votes)
                if statement["served_model"] and not votes:
                    found.served[statement["model"], statement["served_model"]] += 1
        yield row
