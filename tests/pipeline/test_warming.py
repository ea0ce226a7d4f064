"""Which questions wait for another one that begins alike, and for how long."""

from __future__ import annotations

import asyncio

import pytest

from adjudge.judges.failure import Failure
from adjudge.judges.request import Evidence, JudgeRequest, Model, Prompt, digest
from adjudge.judges.verdict import Answer, Attempt, Verdict
from adjudge.pipeline.grading import warming as module
from adjudge.pipeline.grading.questions import Question
from adjudge.pipeline.grading.warming import Warming

MET = Answer(verdicts=(Verdict(decision="met", rationale=""),), attempts=(Attempt(),))
KEEPS = {"main": 1024}


class Held:
    """A judge that answers when it is told to."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answers: dict[str, asyncio.Future[Answer | Failure]] = {}
        self._came = asyncio.Event()

    async def until_asked(self, times: int) -> None:
        while len(self.asked) < times:
            self._came.clear()
            await self._came.wait()

    async def judge(self, request: JudgeRequest, /) -> Answer | Failure:
        (statement,) = request.statements
        self.asked.append(statement)
        self._came.set()
        self.answers[statement] = asyncio.get_running_loop().create_future()
        return await self.answers[statement]


def question(statement: str, *, about: str = "long " * 2000, judge: str = "main") -> Question:
    evidence = Evidence(text=about, digest=digest(about), turns=())
    prompt = Prompt(name="p", system="", user="", digest="p")
    request = JudgeRequest(evidence=evidence, statements=(statement,), prompt=prompt, model=Model(name="m"))
    return Question(judge=judge, request=request, places=(0,))


async def asked_at_once(warming: Warming, *questions: Question) -> list[str]:
    """What is asked before anything is answered."""
    judge = Held()
    tasks = [asyncio.ensure_future(warming.ask(judge, each)) for each in warming.sharing(questions)]
    for _ in range(5):
        await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return judge.asked


async def test_one_question_of_those_that_begin_alike_goes_ahead() -> None:
    assert await asked_at_once(Warming(KEEPS), question("A."), question("B."), question("C.")) == ["A."]


@pytest.mark.parametrize("failed", [False, True])
async def test_the_others_follow_whatever_came_of_it(failed: bool) -> None:
    judge, warming = Held(), Warming(KEEPS)
    asked = warming.sharing([question("A."), question("B."), question("C.")])
    tasks = [asyncio.ensure_future(warming.ask(judge, each)) for each in asked]
    await asyncio.sleep(0)

    judge.answers["A."].set_result(Failure(cause="timeout", message="") if failed else MET)
    await judge.until_asked(3)

    for text in ("B.", "C."):
        judge.answers[text].set_result(MET)
    assert len(await asyncio.gather(*tasks)) == 3


async def test_short_evidence_and_judges_that_keep_nothing_hold_nobody_up() -> None:
    short = [question(text, about="short") for text in ("A.", "B.")]

    assert await asked_at_once(Warming(KEEPS), *short) == ["A.", "B."]
    assert await asked_at_once(Warming({}), question("A."), question("B.")) == ["A.", "B."]


async def test_other_evidence_and_other_judges_are_other_beginnings() -> None:
    alike = [question("A."), question("B.")]
    others = [question("C.", judge="second"), question("D.", judge="second")]

    found = await asked_at_once(Warming({"main": 1024, "second": 1024}), *alike, *others)

    assert found == ["A.", "C."]


async def test_a_question_that_is_alone_with_its_beginning_says_nothing_to_the_judge() -> None:
    warming = Warming(KEEPS)

    (alone,) = warming.sharing([question("A.")])

    assert not alone.request.shares_prefix


async def test_another_grader_that_asks_about_the_same_waits_as_well() -> None:
    judge, warming = Held(), Warming(KEEPS)
    first = warming.sharing([question("A."), question("B.")])
    tasks = [asyncio.ensure_future(warming.ask(judge, each)) for each in first]
    await asyncio.sleep(0)

    (late,) = warming.sharing([question("C.")])
    tasks.append(asyncio.ensure_future(warming.ask(judge, late)))
    await asyncio.sleep(0)

    assert judge.asked == ["A."]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_slow_reply_holds_the_others_up_for_a_while_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.01)
    judge, warming = Held(), Warming(KEEPS)
    asked = warming.sharing([question("A."), question("B.")])
    tasks = [asyncio.ensure_future(warming.ask(judge, each)) for each in asked]

    await judge.until_asked(2)

    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_those_that_wait_take_no_room() -> None:
    warming = Warming(KEEPS)
    alike = warming.sharing([question("A."), question("B."), question("C.", about="short")])

    assert warming.at_once(alike) == 2
    assert Warming({}).at_once([question("A."), question("B.")]) == 2
