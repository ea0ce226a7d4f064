"""New thresholds and flags over old verdicts: no calls, and nothing written into the run (P4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from adjudge.judges.failure import UsageError
from adjudge.pipeline.grade import GradeRow, ResultRow
from adjudge.pipeline.plan import PlanHead
from adjudge.pipeline.scoring import Result, exact, result

EVERY = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What to decide anew.

    Attributes:
        thresholds: new threshold by grader name; `*` stands for every grader.
        required: new flag by (grader name, statement text or check label).
    """

    thresholds: Mapping[str, Fraction] = field(default_factory=dict[str, Fraction])
    required: Mapping[tuple[str, str], bool] = field(default_factory=dict[tuple[str, str], bool])

    def threshold(self, grade: GradeRow) -> Fraction:
        """The threshold for `grade` under this change."""
        kept = exact(grade["threshold"])
        return self.thresholds.get(grade["grader"], self.thresholds.get(EVERY, kept))


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """One grade whose result the change would turn."""

    conversation_id: str
    grader: str
    before: Result
    after: Result


def parse_change(
    head: PlanHead, thresholds: Iterable[str], required: Iterable[str], optional: Iterable[str]
) -> Change:
    """The change that command-line words ask for.

    Args:
        head: the run's plan, for the names of graders and statements.
        thresholds: `0.8` for every grader, or `GRADER=0.8`.
        required: `GRADER:s2`, or `GRADER:text` of a statement or a check's label.
        optional: the same, for flags to take away.

    Raises:
        UsageError: for a number outside [0, 1] or a name the plan doesn't know.
    """
    return Change(
        thresholds=dict(_threshold(head, word) for word in thresholds),
        required={_flag(head, word): True for word in required}
        | {_flag(head, word): False for word in optional},
    )


def redecide(grade: GradeRow, change: Change) -> Result:
    """The result of `grade` under `change`. An errored grade stays errored: there is nothing to decide."""
    if grade["met"] is None or grade["total"] is None:
        return "errored"
    parts = [(row["text"], row["required"], row["decision"] == "met") for row in grade.get("statements", [])]
    parts += [(row["label"], row["required"], row["passed"]) for row in grade.get("checks", [])]
    required_met = all(
        met for label, flag, met in parts if change.required.get((grade["grader"], label), flag)
    )
    return result(Fraction(grade["met"], grade["total"]), change.threshold(grade), required_met)


def flips(rows: Iterable[ResultRow], change: Change) -> Iterable[Flip]:
    """Every grade whose result the change turns, in the run's order."""
    for row in rows:
        for grade in row["grades"]:
            after = redecide(grade, change)
            if after != grade["result"]:
                yield Flip(
                    conversation_id=row["conversation_id"],
                    grader=grade["grader"],
                    before=grade["result"],
                    after=after,
                )


def _threshold(head: PlanHead, word: str) -> tuple[str, Fraction]:
    name, _, number = word.rpartition("=")
    if name:
        _known(head, name)
    try:
        value = Fraction(Decimal(number))
    except (InvalidOperation, ValueError, OverflowError):
        raise UsageError(
            f"--threshold {word!r}: {number!r} is not a number; write 0.8 or GRADER=0.8"
        ) from None
    if not 0 <= value <= 1:
        raise UsageError(f"--threshold {word!r}: a threshold lies in [0, 1]")
    return name or EVERY, value


def _flag(head: PlanHead, word: str) -> tuple[str, str]:
    name, _, label = word.partition(":")
    _known(head, name)
    if not label:
        raise UsageError(f"{word!r}: write GRADER:s2 or GRADER:text of the statement or check")
    statements = head.grader(name).statements
    if label[0] == "s" and label[1:].isdecimal() and 1 <= int(label[1:]) <= len(statements):
        label = statements[int(label[1:]) - 1].text
    return name, label


def _known(head: PlanHead, name: str) -> None:
    names = [grader.name for grader in head.graders]
    if name not in names:
        raise UsageError(f"the run has no grader {name!r}; it has: {', '.join(names)}")
