"""Two runs side by side: what each made of every statement and check that either of them was asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from adjudge.judges.request import digest
from adjudge.pipeline.aggregate import items
from adjudge.pipeline.files import undamaged, whole_lines
from adjudge.pipeline.grade import GradeRow, ResultRow
from adjudge.pipeline.planning.plan import Plan, PlannedConversation
from adjudge.pipeline.rundir import CONVERSATIONS, RESULTS, Run

By = Literal["conversation", "test"]
"""What makes two conversations a pair: their id, or their test and which rollout of it they are."""


@dataclass(frozen=True, slots=True)
class Side:
    """What one run made of something: whether it is met (or passed), or None and why that is not known."""

    met: bool | None
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One statement or check in both runs; one grade as a whole where `label` is None.

    Attributes:
        conversation: what the pair of conversations is called.
        cluster: the same for all that is no independent evidence: the conversation, or its test.
        label: the statement's text, or the check's label.
    """

    conversation: str
    cluster: str
    grader: str
    label: str | None
    a: Side
    b: Side


@dataclass(slots=True, kw_only=True)
class Graded:
    """One conversation of a run.

    Attributes:
        shown: digest of what judges are shown of it; of all of it where no judge is shown anything.
        sides: what was made of all that was asked.
    """

    id: str
    test: str | None
    rollout: int | None
    shown: str
    sides: dict[Asked, Side] = field(default_factory=dict["Asked", Side])


Asked = tuple[str, str | None]
"""Grader and label, as in `Pair`."""

Couple = tuple[str, str, Graded | None, Graded | None]
"""A conversation's name and cluster, and what it is in either run."""


def graded(run: Run, plan: Plan) -> list[Graded]:
    """The conversations of a concluded run, in plan order.

    Raises:
        StorageError: the run can't be read.
    """
    lines = whole_lines(run.file(CONVERSATIONS))
    with undamaged(run.file(RESULTS)):
        return [
            _graded(plan, planned, row, line)
            for planned, row, line in zip(plan.conversations(), run.results(), lines, strict=True)
        ]


def couples(a: Sequence[Graded], b: Sequence[Graded], by: By) -> list[Couple]:
    """Conversations of both runs, in the order of A, then what only B has."""
    of_a, of_b = _named(a, by), _named(b, by)
    return [(*place, of_a.get(place), of_b.get(place)) for place in dict.fromkeys((*of_a, *of_b))]


def pairs(couple: Couple) -> Iterator[Pair]:
    """Every grade, statement and check of a conversation that is in either run."""
    name, cluster, a, b = couple
    asked = dict.fromkeys((*(a.sides if a else ()), *(b.sides if b else ())))
    for grader, label in asked:
        yield Pair(
            conversation=name,
            cluster=cluster,
            grader=grader,
            label=label,
            a=_side(a, grader, label),
            b=_side(b, grader, label),
        )


def _side(one: Graded | None, grader: str, label: str | None) -> Side:
    if one is None:
        return Side(None, "the run has no such conversation")
    whole = one.sides.get((grader, None))
    if whole is None:
        return Side(None, "the grader was not asked")
    absent = Side(None, whole.why or "the grader was not asked this")
    return one.sides.get((grader, label), absent)


def _graded(plan: Plan, planned: PlannedConversation, row: ResultRow, line: bytes) -> Graded:
    made = Graded(
        id=planned.id,
        test=planned.test,
        rollout=planned.rollout,
        shown=planned.evidence or digest(line),
    )
    grades = {grade["grader"]: grade for grade in row["grades"]}
    for name in planned.graders:
        grade = grades.get(name)
        if grade is not None:
            made.sides.update(((name, label), side) for label, side in _sides(grade))
            continue
        why = Side(None, "not graded" if planned.gradable else f"the conversation {planned.status}")
        texts = [each.text for each in plan.head.effective(plan.head.grader(name), planned)]
        made.sides.update(((name, label), why) for label in (None, *texts))
    return made


def _sides(grade: GradeRow) -> Iterator[tuple[str | None, Side]]:
    error = grade["error"]
    why = f"{error['cause']}: {error['message']}" if error else ""
    yield None, Side(None, why) if error else Side(grade["result"] == "passed")
    for item in items(grade):
        yield item.label, Side(item.passed, item.detail if item.passed is None else "")


def _named(run: Sequence[Graded], by: By) -> Mapping[tuple[str, str], Graded]:
    if by == "conversation":
        return {(one.id, one.id): one for one in run}
    tests: dict[str, list[Graded]] = {}
    for one in run:
        tests.setdefault(one.id if one.test is None else one.test, []).append(one)
    return {
        (f"{test} #{place}" if len(some) > 1 else test, test): one
        for test, some in tests.items()
        for place, one in enumerate(_in_order(some), 1)
    }


def _in_order(rollouts: Sequence[Graded]) -> Sequence[Graded]:
    """By number, if all have one."""
    numbers = [one.rollout for one in rollouts]
    if None in numbers:
        return rollouts
    return sorted(rollouts, key=lambda one: one.rollout or 0)
