"""From a run's journal to its results and summary: the latest grade per grader counts (P3)."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

import orjson

from adjudge.pipeline.aggregate import Aggregate, combined_bounds, score_of
from adjudge.pipeline.display import json_line
from adjudge.pipeline.files import storage, undamaged, whole_file
from adjudge.pipeline.grade import CountsRow, GradeRow, PolicyRow, ResultRow, SpentRow, SummaryRow
from adjudge.pipeline.planning.canary import unreliable
from adjudge.pipeline.planning.plan import Plan, PlannedConversation
from adjudge.pipeline.policy import Facts, decide
from adjudge.pipeline.rundir import GRADES, RESULTS, Run
from adjudge.pipeline.scoring import Result, combined, grading_state
from adjudge.pipeline.spent import add_spent, spent_nothing


def conclude(run: Run, plan: Plan, *, exit_code: int | None = None) -> SummaryRow:
    """Write `results.jsonl` and `summary.json` from the plan and the journal, and return the summary.

    `exit_code` takes the place of the policy's, for a run that a signal interrupted.
    Memory holds one number per conversation and grader, whatever the grades' size.

    Raises:
        StorageError: if they can't be written.
    """
    journal = Latest(run, plan)
    tally = _Tally(plan)
    with whole_file(run.file(RESULTS)) as file:
        for planned, grades in journal.by_conversation():
            row = result_row(planned, grades)
            tally.add(planned, row)
            file.write(json_line(row) + b"\n")
    summary = tally.summary(run.id, journal.spent, journal.canaries)
    if exit_code is not None:
        summary["exit_code"] = exit_code
    run.write_summary(summary)
    return summary


def decided(run: Run, plan: Plan, result: Callable[[GradeRow], Result]) -> tuple[PolicyRow, int]:
    """What the policy and the exit code would be if each grade had that `result`. Nothing is written (P4)."""
    journal = Latest(run, plan)
    tally = _Tally(plan)
    for planned, grades in journal.by_conversation():
        tally.add(planned, result_row(planned, [{**grade, "result": result(grade)} for grade in grades]))
    return tally.decide(journal.canaries)


class Latest:
    """The latest grade of each conversation and grader, found in the journal by its place in the file."""

    def __init__(self, run: Run, plan: Plan) -> None:
        """Read the journal once, remembering where the latest grades are and what all of them cost."""
        self._plan = plan
        self._path = run.file(GRADES)
        self._names = [grader.name for grader in (*plan.head.graders, *plan.head.canaries)]
        self.canaries: dict[str, GradeRow] = {}
        names = {canary.name for canary in plan.head.canaries}
        self.spent = spent_nothing()
        places = {name: place for place, name in enumerate(self._names)}
        self._starts = array("q", [-1]) * (plan.tail.conversation_count * len(self._names))
        start = 0
        if not self._path.exists():
            return
        with storage(self._path, "read"), undamaged(self._path), self._path.open("rb") as file:
            for line in file:
                if line.endswith(b"\n"):
                    row = orjson.loads(line)
                    self._starts[row["number"] * len(places) + places[row["grade"]["grader"]]] = start
                    add_spent(self.spent, row["grade"]["spent"])
                    if row["grade"]["grader"] in names:
                        self.canaries[row["grade"]["grader"]] = row["grade"]
                start += len(line)

    def by_conversation(self) -> Iterator[tuple[PlannedConversation, list[GradeRow]]]:
        """Each planned conversation with the grades it has, in plan order."""
        if all(start < 0 for start in self._starts):
            yield from ((planned, []) for planned in self._plan.conversations())
            return
        with storage(self._path, "read"), undamaged(self._path), self._path.open("rb") as file:
            for number, planned in enumerate(self._plan.conversations()):
                grades: list[GradeRow] = []
                for name, start in zip(self._names, self._row(number), strict=True):
                    if start >= 0 and name in planned.graders:
                        file.seek(start)
                        grades.append(orjson.loads(file.readline())["grade"])
                yield planned, grades

    def _row(self, number: int) -> array[int]:
        width = len(self._names)
        return self._starts[number * width : (number + 1) * width]


def result_row(planned: PlannedConversation, grades: list[GradeRow]) -> ResultRow:
    """One conversation's line of `results.jsonl`."""
    made = {grade["grader"] for grade in grades}
    missing = [name for name in planned.graders if name not in made]
    value = combined([*map(score_of, grades), *([None] * len(missing))]) if planned.gradable else None
    return {
        "conversation_id": planned.id,
        "test": planned.test,
        "title": planned.title,
        "rollout": planned.rollout,
        "status": planned.status,
        "termination_reason": planned.termination_reason,
        "grading_state": grading_state(
            planned.gradable, len(planned.graders), [grade["result"] for grade in grades]
        ),
        "combined_score": None if value is None else float(value),
        "agent_pov_incomplete": planned.agent_pov_incomplete,
        "tool_calls": planned.tool_calls,
        "tool_errors": planned.tool_errors,
        "agent_output": planned.agent_output,
        "error": planned.error,
        "left_out": planned.left_out,
        "grades": grades,
        "missing": missing,
    }


class _Tally:
    """Counts over all conversations; every planned grade is in exactly one of them (S13)."""

    def __init__(self, plan: Plan) -> None:
        self._head = plan.head
        self._counts: CountsRow = {
            "conversations": 0,
            "grades": 0,
            "passed": 0,
            "failed": 0,
            "errored": 0,
            "missing": 0,
            "ungradable": 0,
            "not_requested": 0,
            "not_gradable": 0,
            "unreadable": plan.tail.unreadable_count,
            "evidence_incomplete": 0,
        }
        self._gating = {grader.name for grader in plan.head.graders if grader.gating}
        self._results: Counter[str] = Counter()
        self._causes: Counter[str] = Counter()
        self._ungradable = 0
        self._graders = {grader.name: Aggregate() for grader in plan.head.graders}
        self._combined = Aggregate()
        self._canaries: set[str] = set()

    def add(self, planned: PlannedConversation, row: ResultRow) -> None:
        counts = self._counts
        self._canaries.update(planned.canaries)
        counts["conversations"] += 1
        counts["grades"] += len(planned.graders)
        counts["not_gradable"] += not planned.gradable
        counts["not_requested"] += planned.gradable and not planned.graders
        counts["evidence_incomplete"] += bool(planned.agent_pov_incomplete and planned.graders)
        self._ungradable += bool(planned.graders) and not planned.gradable
        for grade in row["grades"]:
            self._add_grade(grade)
        ungradable = 0
        for name in row.get("missing", []):
            counts["missing"] += 1
            ungradable += not planned.gradable
            self._results["missing"] += name in self._gating
            self._graders[name].add_missing(errored=False)
        counts["ungradable"] = counts.get("ungradable", 0) + ungradable
        if planned.graders:
            self._add_combined(row)

    def _add_grade(self, grade: GradeRow) -> None:
        self._counts[grade["result"]] += 1
        self._results[grade["result"]] += grade["gating"]
        value, aggregate = score_of(grade), self._graders[grade["grader"]]
        if value is None:
            aggregate.add_missing(errored=True)
        else:
            aggregate.add(value)
        if grade["error"] is not None:
            errors = [row["error"] for row in grade.get("statements", []) if row["error"]]
            self._causes.update({error["cause"] for error in (grade["error"], *errors)})

    def _add_combined(self, row: ResultRow) -> None:
        scored = row["combined_score"] is not None
        value = combined([score_of(grade) for grade in row["grades"]]) if scored else None
        if value is None:
            lowest, highest = combined_bounds(row)
            errored = row["grading_state"] == "error"
            self._combined.add_missing(errored=errored, lowest=lowest, highest=highest)
        else:
            self._combined.add(value)

    def decide(self, canaries: Mapping[str, GradeRow]) -> tuple[PolicyRow, int]:
        results = self._results
        facts = Facts(
            passed=results["passed"],
            failed=results["failed"],
            errored=results["errored"],
            missing=results["missing"],
            not_gradable=self._ungradable,
            budget_exhausted=self._causes["budget_exhausted"],
            unreliable=tuple(unreliable(self._head, self._canaries, canaries)),
            not_admitted=tuple(self._head.not_admitted),
        )
        return decide(self._counts, facts, self._head.policy)

    def summary(self, run_id: str, spent: SpentRow, canaries: Mapping[str, GradeRow]) -> SummaryRow:
        policy, exit_code = self.decide(canaries)
        return {
            "run_id": run_id,
            "suite": self._head.suite,
            "counts": self._counts,
            "policy": policy,
            "exit_code": exit_code,
            "graders": {name: aggregate.row() for name, aggregate in self._graders.items()},
            "combined_score": self._combined.row(),
            "calls": spent["calls"],
            "cached": spent["cached"],
            "usage": spent["usage"],
            "usage_unknown_calls": spent["usage_unknown_calls"],
            "cost_usd": None if spent["cost_unknown_calls"] and not spent["cost_usd"] else spent["cost_usd"],
            "cost_unknown_calls": spent["cost_unknown_calls"],
            "errors_by_cause": dict(sorted(self._causes.items())),
        }
