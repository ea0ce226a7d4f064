"""The quotes of a run's verdicts, and those that stand in no turn (J6). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from adjudge.pipeline.grade import ResultRow, StatementRow


@dataclass(slots=True)
class Quotes:
    """The quotes of all verdicts, and those that were not found in the turn they name (J6).

    Attributes:
        missing: conversation, grader and statement id (`service s2`), turn, quote.
    """

    cited: int = 0
    missing: list[tuple[str, str, int, str]] = field(default_factory=list[tuple[str, str, int, str]])


def quotes(rows: Iterable[ResultRow]) -> Quotes:
    """Every quote of `rows`, counted, and the unverified ones listed."""
    found = Quotes()
    for row, grader, statement in statements(rows):
        found.cited += len(statement["citations"])
        for citation in statement["citations"]:
            if not citation["verified"]:
                place = f"{grader} {statement['id']}"
                found.missing.append((row["conversation_id"], place, citation["turn"], citation["quote"]))
    return found


def statements(rows: Iterable[ResultRow]) -> Iterator[tuple[ResultRow, str, StatementRow]]:
    """Every statement of `rows` with its row and its grader's name."""
    for row in rows:
        for grade in row["grades"]:
            for statement in grade.get("statements", []):
                yield row, grade["grader"], statement
