"""New thresholds and flags over old verdicts: no calls, and nothing written into the run (P4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from adjudge.judges.failure import UsageError
from adjudge.pipeline.grade import GradeRow, ResultRow
from adjudge.pipeline.planning.plan import PlanHead
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
    """The result of `grade` under `change`. An errored grade stays errored: there is nothing to decide.

    Raises:
        UsageError: the grade could not fail any more: nothing required at threshold 0 (S4).
    """
    if grade["met"] is None or grade["total"] is None:
        return "errored"
    required = [
        met for label, flag, met in _parts(grade) if change.required.get((grade["grader"], label), flag)
    ]
    threshold = change.threshold(grade)
    if threshold == 0 and not required:
        raise UsageError(
            f"grader {grade['grader']!r}: with threshold 0 and nothing required nothing could fail; "
            "raise it or --require something"
        )
    return result(Fraction(grade["met"], grade["total"]), threshold, all(required))


def check_labels(rows: Iterable[ResultRow], change: Change) -> None:
    """See that every statement and check that `change` names is in some grade.

    Raises:
        UsageError: naming one that is in none.
    """
    unknown = set(change.required)
    for row in rows:
        for grade in row["grades"]:
            unknown -= {(grade["grader"], label) for label, _, _ in _parts(grade)}
        if not unknown:
            return
    for name, label in sorted(unknown):
        raise UsageError(f"no grade of {name!r} has a statement or check {label!r}")


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


def _parts(grade: GradeRow) -> Iterator[tuple[str, bool, bool]]:
    """Text or label of each statement or check, whether it is required, and whether it is met."""
    for row in grade.get("statements", []):
        yield row["text"], row["required"], row["decision"] == "met"
    for check in grade.get("checks", []):
        yield check["label"], check["required"], check["passed"]


def _threshold(head: PlanHead, word: str) -> tuple[str, Fraction]:
    name, _, number = word.rpartition("=")
    if name:
        _known(head, name)
    try:
        value = float(number)
    except ValueError:
        raise UsageError(
            f"--threshold {word!r}: {number!r} is not a number; write 0.8 or GRADER=0.8"
        ) from None
    if not 0 <= value <= 1:
        raise UsageError(f"--threshold {word!r}: a threshold is a number in [0, 1]")
    return name or EVERY, exact(value)


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
