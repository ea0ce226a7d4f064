"""The governed judge, in virtual time: one attempt, paid once, within what is left of its deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from adjudge.judges.failure import Failure
from adjudge.judges.governing.deadline import Deadline
from adjudge.judges.governing.governed import GovernedJudge
from adjudge.judges.governing.governor import Governor
from adjudge.judges.governing.wallet import Wallet
from adjudge.judges.request import JudgeRequest
from adjudge.judges.scripted import ByCall, Reply, ScriptedJudge
from adjudge.judges.verdict import Answer


def now() -> float:
    return asyncio.get_running_loop().time()


def governed(
    script: ByCall | Callable[[JudgeRequest], Reply | Awaitable[Reply]],
    wallet: Wallet | None = None,
    max_concurrency: int = 32,
) -> GovernedJudge:
    governor = Governor("main", max_concurrency=max_concurrency, clock=now, chance=lambda: 1.0)
    return GovernedJudge(ScriptedJudge(script), governor, wallet or Wallet())


async def never(_: JudgeRequest) -> Reply:
    await asyncio.sleep(1e6)
    return "met"


async def after_a_second(_: JudgeRequest) -> Reply:
    await asyncio.sleep(1.0)
    return "met"


async def test_exactly_as_many_calls_as_the_budget_has_are_made(question: JudgeRequest) -> None:
    wallet = Wallet(max_calls=20)
    judge = governed(after_a_second, wallet)

    outcomes = await asyncio.gather(*(judge.judge(question) for _ in range(50)))

    causes = [outcome.cause for outcome in outcomes if isinstance(outcome, Failure)]
    assert causes == ["budget_exhausted"] * 30
    assert wallet.calls == judge.governor.state().calls == 20


async def test_two_judges_share_one_wallet(question: JudgeRequest) -> None:
    wallet = Wallet(max_calls=15)
    judges = [governed(after_a_second, wallet) for _ in range(2)]

    await asyncio.gather(*(judge.judge(question) for judge in judges for _ in range(20)))

    assert sum(judge.governor.state().calls for judge in judges) == wallet.calls == 15


async def test_an_attempt_is_cut_off_at_the_deadline_and_kept(question: JudgeRequest) -> None:
    outcome = await governed(never).judge(question, Deadline(8.0, now()))

    assert isinstance(outcome, Failure)
    assert (outcome.cause, outcome.retryable) == ("timeout", True)
    assert "deadline of 8 s" in outcome.message
    assert [(a.cause, a.seconds) for a in outcome.attempts] == [("timeout", pytest.approx(8.0))]


async def test_a_timeout_inside_the_judge_is_not_taken_for_the_deadline(question: JudgeRequest) -> None:
    def script(_: JudgeRequest) -> Reply:
        raise TimeoutError("the judge's own")

    with pytest.raises(TimeoutError, match="the judge's own"):
        await governed(script).judge(question)


async def test_a_call_that_was_interrupted_is_counted_with_unknown_cost(question: JudgeRequest) -> None:
    wallet = Wallet()
    judge = governed(never, wallet, max_concurrency=1)
    task = asyncio.create_task(judge.judge(question))
    await asyncio.sleep(1.0)

    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert (wallet.calls, wallet.cost_unknown_calls) == (1, 1)
    assert (judge.governor.state().calls, judge.governor.state().in_flight) == (1, 0)


async def test_an_interrupted_probe_leaves_its_place_to_the_next(question: JudgeRequest) -> None:
    down = Failure(cause="unavailable", message="down")
    judge = governed([*[down] * 10, "met"])
    for _ in range(10):
        await judge.judge(question)
    probe = asyncio.create_task(judge.judge(question))
    other = asyncio.create_task(judge.judge(question))
    await asyncio.sleep(14.0)

    probe.cancel()

    assert isinstance(await other, Answer)
    assert judge.governor.state().breaker == "closed"


async def test_a_failure_that_made_no_request_costs_no_call(question: JudgeRequest) -> None:
    class TooLong:
        async def judge(self, _: JudgeRequest, /) -> Answer | Failure:
            return Failure(cause="input_too_long", message="too long")

    wallet = Wallet(max_calls=1)
    judge = GovernedJudge(TooLong(), Governor("main", clock=now), wallet)

    outcomes = [await judge.judge(question) for _ in range(3)]

    assert [outcome.cause for outcome in outcomes if isinstance(outcome, Failure)] == ["input_too_long"] * 3
    assert wallet.calls == judge.governor.state().calls == 0


async def test_the_wait_for_a_turn_is_on_the_attempt(question: JudgeRequest) -> None:
    judge = governed(after_a_second, max_concurrency=1)

    outcomes = await asyncio.gather(*(judge.judge(question) for _ in range(3)))

    waited = [attempt.waited for outcome in outcomes for attempt in outcome.attempts]
    assert waited == pytest.approx([0.0, 1.0, 2.0])


async def test_a_judge_that_failed_for_good_is_not_asked_again_and_others_go_on(
    question: JudgeRequest,
) -> None:
    judge = governed([Failure(cause="quota", message="no credit", fatal=True), "met"])
    other = governed(["met"])

    outcomes = [await judge.judge(question) for _ in range(3)]

    assert [outcome.cause for outcome in outcomes if isinstance(outcome, Failure)] == ["quota"] * 3
    assert judge.governor.state().calls == 1
    assert isinstance(await other.judge(question), Answer)


async def test_preparing_takes_no_time_from_the_deadline_and_happens_once(question: JudgeRequest) -> None:
    prepared: list[float] = []

    async def prepare() -> None:
        prepared.append(now())
        await asyncio.sleep(60.0)

    governor = Governor("main", clock=now)
    judge = GovernedJudge(ScriptedJudge(after_a_second), governor, Wallet(), prepare=prepare)

    outcomes = [await judge.judge(question, Deadline(5.0, now())) for _ in range(3)]

    assert all(isinstance(outcome, Answer) for outcome in outcomes)
    assert prepared == [0.0]
