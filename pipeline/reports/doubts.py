"""What the verdicts of a run themselves say of how far they can be trusted: quotes, votes, windows. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from adjudge.pipeline.grade import ResultRow


@dataclass(slots=True)
class Doubts:
    """Counts over all statements.

    Attributes:
        statements: of grades with statements.
        cited: quotes, and `unverified` those of them that stand in no such turn (J6).
        split: statements whose votes differ, errors aside (J8).
        windowed: statements that a judge saw in windows (J7).
    """

    statements: int = 0
    cited: int = 0
    unverified: int = 0
    split: int = 0
    windowed: int = 0


def doubts(rows: Iterable[ResultRow]) -> Doubts:
    """Count over `rows`."""
    found = Doubts()
    for row in rows:
        for grade in row["grades"]:
            for statement in grade.get("statements", []):
                votes = statement.get("votes", [])
                found.statements += 1
                found.cited += len(statement["citations"])
                found.unverified += sum(not citation["verified"] for citation in statement["citations"])
                found.split += len({vote["decision"] for vote in votes} - {None}) > 1
                found.windowed += "windows" in statement or any("windows" in vote for vote in votes)
    return found
