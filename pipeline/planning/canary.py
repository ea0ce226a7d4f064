"""Canaries: statements whose answer is known, asked once a run to see whether a judge can be relied on."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from adjudge.judges.failure import UsageError
from adjudge.judges.request import canonical_json, digest
from adjudge.pipeline.grade import GradeRow, StatementRow
from adjudge.pipeline.planning.plan import PlanHead, PlannedGrader, PlannedStatement
from adjudge.pipeline.suite.spec import JudgeSpec

_SHOWN = 80


def canary_graders(judges: Mapping[str, JudgeSpec], graders: Sequence[PlannedGrader]) -> list[PlannedGrader]:
    """For each judge that has a canary and is asked by one of `graders`, a grader that asks the canary.

    It asks as the first of them does, all statements at once. Where a conversation is judged in windows, the
    answer must be right about each. Its grades are journalled like any other, and enter no result.

    Raises:
        UsageError: one of `graders` has its name.
    """
    made: list[PlannedGrader] = []
    for judge, spec in judges.items():
        first = next((grader for grader in graders if judge in grader.judges), None)
        if first is None or not spec.canary:
            continue
        name = f"canary of {judge!r}"
        if any(grader.name == name for grader in graders):
            raise UsageError(
                f"a grader is named {name!r}, which the canary of that judge is called; rename it"
            )
        statements = [
            PlannedStatement(text=known.statement, over_windows="all" if known.expect == "met" else "any")
            for known in spec.canary
        ]
        what = [judge, first.prompt, [known.model_dump() for known in spec.canary]]
        made.append(
            PlannedGrader(
                name=name,
                type="statements",
                version=digest(canonical_json(what))[:16],
                threshold=1,
                gating=False,
                judges=[judge],
                calls="per_grader",
                undetermined="not_met",
                overflow="windows",
                prompt=first.prompt,
                statements=statements,
            )
        )
    return made


def canary_grade(grade: GradeRow, spec: JudgeSpec) -> GradeRow:
    """The grade of a canary: passed if every answer is the known one, whichever that is."""
    if grade["result"] == "errored":
        return grade
    right = len(spec.canary) - len(list(_wrong(grade, spec)))
    passed = right == len(spec.canary)
    score = right / len(spec.canary)
    return {**grade, "result": "passed" if passed else "failed", "met": right, "score": score}


def unreliable(head: PlanHead, planned: Collection[str], grades: Mapping[str, GradeRow]) -> list[str]:
    """What speaks against each judge whose canary did not come out as known, in words.

    Args:
        head: the run's plan.
        planned: names of the canaries that were to be asked.
        grades: the latest grade of each that was.
    """
    said: list[str] = []
    for canary in head.canaries:
        if canary.name not in planned:
            continue
        (judge,), grade = canary.judges, grades.get(canary.name)
        if grade is None or grade["error"] is not None:
            why = (
                grade["error"]["cause"]
                if grade is not None and grade["error"] is not None
                else "not asked yet"
            )
            said.append(f"the canary of judge {judge!r} was not answered: {why}")
            continue
        for row, known in _wrong(grade, head.judges[judge]):
            said.append(f"judge {judge!r} says {row['decision']} of {_cut(row['text'])}, which is {known}")
    return said


def _wrong(grade: GradeRow, spec: JudgeSpec) -> Iterator[tuple[StatementRow, str]]:
    for row, known in zip(grade.get("statements", []), spec.canary, strict=True):
        if row["decision"] != known.expect:
            yield row, known.expect


def _cut(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")
