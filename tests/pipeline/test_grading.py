"""One leg of a run: what it makes, in what order, how much at a time, and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from adjudge.judges.failure import Failure, StorageError, UsageError
from adjudge.judges.request import JudgeRequest
from adjudge.judges.scripted import ScriptedJudge
from adjudge.judges.verdict import Answer
from adjudge.pipeline.grade import GradeRow
from adjudge.pipeline.grading.leg import Leg
from adjudge.pipeline.grading.unwatched import Unwatched
from adjudge.pipeline.rundir import Run

if TYPE_CHECKING:
    from tests.pipeline.conftest import NewRun

Script = Callable[[JudgeRequest], Any]


class Fake:
    """A judge that remembers nothing, and how many asked it at once."""

    def __init__(self, script: Any = ("met",)) -> None:
        self.judged = ScriptedJudge(script)
        self.recalls: dict[str, Answer] = {}
        self.at_once = self.most = 0

    def recall(self, request: JudgeRequest, /) -> Answer | None:
        return self.recalls.get(request.statements[0])

    def recall_all(self, requests: Sequence[JudgeRequest], /) -> list[Answer | None]:
        return [self.recall(request) for request in requests]

    async def judge(self, request: JudgeRequest, /) -> Answer | Failure:
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        try:
            await asyncio.sleep(0)
            return await self.judged.judge(request)
        finally:
            self.at_once -= 1


def leg(run: Run, judge: Fake, *, window: int = 100, watch: Any = None) -> Leg:
    return Leg(run, run.plan(), {"main": judge}, watch or Unwatched(), window=window, warn=lambda _: None)


def journal(run: Run, name: str = "grades.jsonl") -> list[Any]:
    return [orjson.loads(line) for line in run.file(name).read_bytes().splitlines()]


async def test_every_grade_of_the_plan_is_made_and_journalled(new_run: NewRun) -> None:
    run = new_run({}, {"name": "second"}, conversations=["c0", "c1"])

    await leg(run, Fake({"A.": "met", "B.": "not_met"})).grade()

    made = {(row["number"], row["grade"]["grader"], row["grade"]["met"]) for row in journal(run)}
    assert made == {(n, grader, 1) for n in (0, 1) for grader in ("behaves", "second")}
    assert journal(run, "errors.jsonl") == []


async def test_a_second_leg_makes_what_errored_and_nothing_else(new_run: NewRun) -> None:
    run = new_run(conversations=["c0", "c1"])
    failing = Failure(cause="unavailable", message="down", retryable=True)

    def script(request: JudgeRequest) -> Any:
        return failing if request.unit == "c1/behaves/s1/main/0" else "met"

    await leg(run, Fake(script)).grade()
    again = Fake()
    await leg(run, again).grade()

    assert {request.unit for request in again.judged.requests} == {
        "c1/behaves/s1/main/0",
        "c1/behaves/s2/main/0",
    }
    assert [row["grade"]["result"] for row in journal(run) if row["number"] == 1] == ["errored", "passed"]
    (error,) = journal(run, "errors.jsonl")
    assert (error["cause"], error["unit"]) == ("unavailable", "c1/behaves/s1/main/0")


async def test_no_more_questions_are_open_at_a_time_than_the_window_takes(new_run: NewRun) -> None:
    run = new_run(conversations=[f"c{n}" for n in range(30)])
    judge = Fake()

    await leg(run, judge, window=5).grade()

    assert judge.most <= 5
    assert len(journal(run)) == 30


async def test_a_conversation_with_more_questions_than_the_window_takes_goes_alone(new_run: NewRun) -> None:
    run = new_run(conversations=["c0", "c1"])
    judge = Fake()

    await leg(run, judge, window=1).grade()

    assert judge.most == 2
    assert len(journal(run)) == 2


async def test_what_is_recalled_is_not_asked(new_run: NewRun) -> None:
    run = new_run()
    judge = Fake()
    answer = await ScriptedJudge(["not_met"]).judge(JudgeRequest(**known(run)))
    assert isinstance(answer, Answer)
    judge.recalls["A."] = answer

    await leg(run, judge).grade()

    assert [request.statements for request in judge.judged.requests] == [("B.",)]
    assert journal(run)[0]["grade"]["met"] == 1


def known(run: Run) -> dict[str, Any]:
    """What a request takes, of any content."""
    head = run.plan().head
    evidence: Any = None
    prompt = head.prompts[head.graders[0].prompt].prompt()
    return {"evidence": evidence, "statements": ("A.",), "prompt": prompt, "model": head.models()["main"]}


async def test_a_stopped_leg_begins_no_further_conversation(new_run: NewRun) -> None:
    run = new_run(conversations=[f"c{n}" for n in range(30)])
    judge = Fake()
    subject = leg(run, judge, window=2)

    class Stopping(Unwatched):
        def graded(self, grade: GradeRow, /) -> None:
            subject.stop()

    subject = leg(run, judge, window=2, watch=Stopping())
    await subject.grade()

    assert 1 <= len(journal(run)) < 5


async def test_a_leg_that_recalls_everything_hears_that_it_is_to_stop(new_run: NewRun) -> None:
    run = new_run(conversations=[f"c{n}" for n in range(30)])
    judge = Fake()
    answer = await ScriptedJudge(["met"]).judge(JudgeRequest(**known(run)))
    assert isinstance(answer, Answer)
    judge.recalls = {"A.": answer, "B.": answer}
    subject = leg(run, judge)

    grading = asyncio.create_task(subject.grade())
    for _ in range(5):
        await asyncio.sleep(0)
    subject.stop()
    await grading

    assert 1 <= len(journal(run)) < 10


async def test_a_canceled_answer_makes_no_grade(new_run: NewRun) -> None:
    run = new_run(conversations=["c0", "c1"])
    canceled = Failure(cause="canceled", message="the run was stopped", retryable=True)

    def script(request: JudgeRequest) -> Any:
        return canceled if request.unit.startswith("c0/behaves/s2") else "met"

    await leg(run, Fake(script)).grade()

    assert [row["number"] for row in journal(run)] == [1]


async def test_an_error_a_user_can_mend_ends_the_leg_and_keeps_what_was_made(new_run: NewRun) -> None:
    run = new_run(conversations=["c0", "c1", "c2"])

    def script(request: JudgeRequest) -> Any:
        if request.unit.startswith("c2"):
            raise UsageError("no key")
        return "met"

    with pytest.raises(UsageError, match="no key"):
        await leg(run, Fake(script), window=2).grade()
    assert [row["number"] for row in journal(run)] == [0, 1]


async def test_of_several_errors_at_once_the_disks_is_told(new_run: NewRun) -> None:
    run = new_run({}, {"name": "second"})

    def script(request: JudgeRequest) -> Any:
        raise StorageError("the disk is full") if "second" in request.unit else UsageError("no key")

    with pytest.raises(StorageError, match="the disk is full"):
        await leg(run, Fake(script)).grade()


async def test_results_are_forgotten_with_the_first_grade_they_do_not_know(new_run: NewRun) -> None:
    run = new_run()
    for name in ("results.jsonl", "summary.json"):
        run.file(name).write_text("{}")

    await leg(run, Fake()).grade()
    assert not run.file("results.jsonl").exists()
    assert run.summary() is None

    run.file("results.jsonl").write_text("{}")
    await leg(run, Fake()).grade()  # nothing is missing any more
    assert run.file("results.jsonl").exists()


async def test_verifiers_that_changed_since_planning_are_refused_before_anything_is_asked(
    new_run: NewRun, tmp_path: Path
) -> None:
    (tmp_path / "v.py").write_text("def verify(conversation): return []\n")
    checks = {"name": "checked", "type": "checks", "verifier": "v.py:verify"}
    behaves = {"name": "behaves", "type": "statements", "judge": "main", "statements": ["A."]}
    run = new_run(graders=[behaves, checks])
    (tmp_path / "v.py").write_text("def verify(conversation): return [1]\n")
    judge = Fake()

    with pytest.raises(UsageError, match=r"v\.py' changed since this run was planned"):
        await leg(run, judge).grade()
    assert judge.judged.requests == []


async def test_evidence_that_is_not_what_was_planned_is_refused(new_run: NewRun) -> None:
    run = new_run()
    file = run.file("conversations.jsonl")
    file.write_text(file.read_text().replace('"content":"c1"', '"content":"c2"'))

    with pytest.raises(StorageError, match="the evidence of 'c1' is not what run"):
        await leg(run, Fake()).grade()
