"""What grades add up to: means with denominators and bounds (S13). Pure and exact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from adjudge.pipeline.grade import AggregateRow, GradeRow, ResultRow, StatementRow
from adjudge.pipeline.scoring import exact, score


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One statement or one check of a grade, in one shape.

    Attributes:
        label: the statement's text, or the check's label.
        passed: whether it is met; None where that was not decided (S6, S7).
        detail: the judge's rationale or the check's detail; of an undecided statement, why.
        required: whether the grade fails without it (S3).
    """

    label: str
    passed: bool | None
    detail: str
    required: bool


def items(grade: GradeRow) -> list[Item]:
    """The statements or checks of `grade`, in order."""
    checks = grade.get("checks")
    if checks is not None:
        return [Item(**check) for check in checks]
    return [_statement_item(row) for row in grade.get("statements", [])]


def score_of(grade: GradeRow) -> Fraction | None:
    """The exact score of `grade` (S1); None where it errored (S5)."""
    if grade["met"] is None or not grade["total"]:
        return None
    return score(grade["met"], grade["total"])


def failing(grade: GradeRow) -> list[Item]:
    """What made `grade` fail (S3): required items that are not met; below the threshold, all that are not.

    Empty for a grade that passed or errored.
    """
    value = score_of(grade)
    if value is None:
        return []
    below = value < exact(grade["threshold"])
    return [item for item in items(grade) if item.passed is False and (item.required or below)]


def missing_graders(row: ResultRow) -> list[str]:
    """The graders selected for a conversation that made no grade: not begun, canceled, or it has no trace."""
    return row.get("missing", [])


def task(row: ResultRow) -> str:
    """What a conversation is reported under: its test, or itself where it ran none."""
    return row["conversation_id"] if row["test"] is None else row["test"]


class Aggregate:
    """A mean of values in [0, 1] of which some may be missing (S13); keeps sums, not values."""

    def __init__(self) -> None:
        """Begin at nothing."""
        self._sum = Fraction(0)
        self._lowest = Fraction(0)  # of what is not known
        self._highest = Fraction(0)
        self._scored = 0
        self._selected = 0
        self._errored = 0

    def add(self, value: Fraction) -> None:
        """Count one known value, in [0, 1]."""
        self._sum += value
        self._scored += 1
        self._selected += 1

    def add_missing(
        self, *, errored: bool, lowest: Fraction = Fraction(0), highest: Fraction = Fraction(1)
    ) -> None:
        """Count one value that is not known, only that it lies between `lowest` and `highest`."""
        self._errored += errored
        self._selected += 1
        self._lowest += lowest
        self._highest += highest

    @property
    def mean(self) -> Fraction | None:
        """Mean of the known values; None where there is none."""
        return self._sum / self._scored if self._scored else None

    def row(self) -> AggregateRow:
        """The mean, how much of the selection it covers, and bounds where it doesn't cover all of it."""
        complete = self._scored == self._selected
        return {
            "mean": None if self.mean is None else float(self.mean),
            "scored": self._scored,
            "selected": self._selected,
            "errored": self._errored,
            "lowest": None if complete else float((self._sum + self._lowest) / self._selected),
            "highest": None if complete else float((self._sum + self._highest) / self._selected),
        }


def combined_bounds(row: ResultRow) -> tuple[Fraction, Fraction]:
    """Lowest and highest combined score (S8) that the grades a conversation still misses allow."""
    scores = [score_of(grade) for grade in row["grades"]]
    known = [value for value in scores if value is not None]
    count = len(scores) + len(missing_graders(row))
    if count == 0:
        return Fraction(0), Fraction(1)
    total = sum(known, Fraction(0))
    return total / count, (total + count - len(known)) / count


def results_by_grader(rows: Iterable[ResultRow]) -> dict[str, Counter[str]]:
    """How often each grader passed, failed and errored, in the order the graders appear. Streams `rows`."""
    found: dict[str, Counter[str]] = {}
    for _ in counting_results(rows, found):
        pass
    return found


def counting_results(rows: Iterable[ResultRow], found: dict[str, Counter[str]]) -> Iterator[ResultRow]:
    """`rows`, for whoever reads them; on the way `found` becomes what `results_by_grader` gives."""
    for row in rows:
        for grade in row["grades"]:
            found.setdefault(grade["grader"], Counter())[grade["result"]] += 1
        yield row


def _statement_item(row: StatementRow) -> Item:
    error = row["error"]
    decided = error is None and row["decision"] is not None
    return Item(
        label=row["text"],
        passed=row["decision"] == "met" if decided else None,
        detail=f"{error['cause']}: {error['message']}" if error else row["rationale"] or "",
        required=row["required"],
    )
