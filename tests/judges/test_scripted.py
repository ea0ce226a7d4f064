"""The scripted judge: says what it was told, remembers what it was asked."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from adjudge.judges.failure import Failure, UsageError
from adjudge.judges.request import JudgeRequest
from adjudge.judges.scripted import Reply, ScriptedJudge
from adjudge.judges.verdict import Answer, Attempt, Verdict


def two(question: JudgeRequest) -> JudgeRequest:
    return replace(question, statements=("First.", "Second."), calls="per_grader")


def decisions(outcome: Answer | Failure) -> list[str]:
    assert isinstance(outcome, Answer)
    return [verdict.decision for verdict in outcome.verdicts]


async def test_a_mapping_answers_by_statement(question: JudgeRequest) -> None:
    judge = ScriptedJudge({"Second.": "not_met", "First.": "met"})

    assert decisions(await judge.judge(two(question))) == ["met", "not_met"]


async def test_a_sequence_answers_by_call_and_repeats_its_last(question: JudgeRequest) -> None:
    judge = ScriptedJudge(["met", "not_met"])

    outcomes = [decisions(await judge.judge(question)) for _ in range(3)]

    assert outcomes == [["met"], ["not_met"], ["not_met"]]


async def test_a_function_answers_by_request(question: JudgeRequest) -> None:
    verdict = Verdict(decision="undetermined", rationale="unclear")

    def script(request: JudgeRequest) -> Reply:
        return ["met", verdict] if request.sample else "not_met"

    judge = ScriptedJudge(script)

    assert decisions(await judge.judge(two(question))) == ["not_met", "not_met"]
    outcome = await judge.judge(replace(two(question), sample=1))
    assert isinstance(outcome, Answer)
    assert outcome.verdicts[1] is verdict


async def test_an_async_function_may_take_its_time(question: JudgeRequest) -> None:
    gate = asyncio.Event()

    async def script(_: JudgeRequest) -> Reply:
        await gate.wait()
        return "met"

    task = asyncio.create_task(ScriptedJudge(script).judge(question))
    gate.set()

    assert decisions(await task) == ["met"]


async def test_a_failed_vote_fails_the_request_and_counts_as_an_attempt(question: JudgeRequest) -> None:
    judge = ScriptedJudge({"First.": "met", "Second.": Failure(cause="refusal", message="I can't.")})

    outcome = await judge.judge(two(question))

    assert isinstance(outcome, Failure)
    assert [(a.cause, a.message, a.cost_usd) for a in outcome.attempts] == [("refusal", "I can't.", 0.0)]


async def test_a_failure_with_attempts_is_returned_as_it_is(question: JudgeRequest) -> None:
    failure = Failure(cause="timeout", message="slow", attempts=(Attempt(cause="timeout", seconds=60.0),))

    assert await ScriptedJudge([failure]).judge(question) is failure


async def test_an_answer_is_one_attempt_that_cost_nothing(question: JudgeRequest) -> None:
    outcome = await ScriptedJudge(["met"]).judge(question)

    assert isinstance(outcome, Answer)
    assert [(a.cause, a.cost_usd) for a in outcome.attempts] == [(None, 0.0)]
    assert outcome.served_model == "scripted"


async def test_it_remembers_what_it_was_asked(question: JudgeRequest) -> None:
    judge = ScriptedJudge(["met"])

    await judge.judge(question)
    await judge.judge(two(question))

    assert judge.requests == [question, two(question)]


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ({"Another.": "met"}, "no vote for the statement 'The agent greets.'"),
        ([], "the script is empty"),
        ([["met", "met"]], "2 votes for 1 statements"),
        (["yes"], "'yes', which is none of met, not_met, undetermined"),
    ],
    ids=["unknown statement", "no replies", "wrong number", "unknown decision"],
)
async def test_a_script_that_does_not_fit_is_an_error_that_says_so(
    question: JudgeRequest, script: object, message: str
) -> None:
    judge = ScriptedJudge(script)  # pyright: ignore[reportArgumentType]

    with pytest.raises(UsageError, match=message):
        await judge.judge(question)
