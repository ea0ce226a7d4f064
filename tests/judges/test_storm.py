"""Whole crowds against one server, in virtual time: rate limits, outages, refused keys."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import replace

import pytest

from adjudge.judges.failure import FATAL, Cause, Failure
from adjudge.judges.governing.governed import GovernedJudge
from adjudge.judges.governing.governor import Governor
from adjudge.judges.governing.retry import RetryingJudge
from adjudge.judges.governing.wallet import Wallet
from adjudge.judges.request import JudgeRequest
from adjudge.judges.scripted import Reply, ScriptedJudge
from adjudge.judges.verdict import Answer


def now() -> float:
    return asyncio.get_running_loop().time()


class BucketServer:
    """Allows `rate` requests a second, a fifth of that at once; refuses the others with a Retry-After."""

    def __init__(self, rate: float, latency: float, chance: random.Random) -> None:
        self.rate, self.latency, self.chance = rate, latency, chance
        self.tokens = self.burst = rate / 5
        self.filled = self.closed_until = 0.0
        self.refused = self.too_early = 0

    async def __call__(self, _: JudgeRequest) -> Reply:
        self.too_early += now() < self.closed_until
        self.tokens = min(self.burst, self.tokens + (now() - self.filled) * self.rate)
        self.filled = now()
        if self.tokens < 1:
            await asyncio.sleep(0.005)
            self.refused += 1
            self.closed_until = now() + 0.2
            return Failure(cause="rate_limited", message="429", retryable=True, retry_after=0.2)
        self.tokens -= 1
        await asyncio.sleep(self.latency * self.chance.uniform(0.5, 1.5))
        return "met"


class OutageServer:
    """Down until `up`, then answers within a second."""

    def __init__(self, up: float) -> None:
        self.up = up
        self.failed: list[float] = []

    async def __call__(self, _: JudgeRequest) -> Reply:
        if now() < self.up:
            await asyncio.sleep(0.01)
            self.failed.append(now())
            return Failure(cause="unavailable", message="connection refused", retryable=True)
        await asyncio.sleep(1.0)
        return "met"


def crowd_judge(scripted: ScriptedJudge, seed: int = 0, deadline: float = 300.0) -> RetryingJudge:
    chance = random.Random(seed).random
    governor = Governor("main", max_concurrency=64, patience=deadline, clock=now, chance=chance)
    return RetryingJudge(GovernedJudge(scripted, governor, Wallet()), deadline=deadline)


async def crowd(
    judge: RetryingJudge, question: JudgeRequest, *, jobs: int, workers: int = 64
) -> list[Answer | Failure]:
    """The outcomes of `jobs` requests, asked by `workers` at a time."""
    outcomes: list[Answer | Failure] = []
    left = iter(range(jobs))

    async def work() -> None:
        outcomes.extend([await judge.judge(replace(question, unit=str(number))) for number in left])

    await asyncio.gather(*(work() for _ in range(workers)))
    return outcomes


def causes(outcomes: list[Answer | Failure]) -> Counter[Cause]:
    return Counter(outcome.cause for outcome in outcomes if isinstance(outcome, Failure))


@pytest.mark.parametrize("latency", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("workers", [64, 500])
@pytest.mark.parametrize("seed", range(3))
async def test_a_storm_of_429s_loses_no_job_and_wastes_few_calls(
    question: JudgeRequest, latency: float, workers: int, seed: int
) -> None:
    server = BucketServer(rate=50, latency=latency, chance=random.Random(seed))
    scripted = ScriptedJudge(server)

    outcomes = await crowd(crowd_judge(scripted, seed), question, jobs=500, workers=workers)

    assert causes(outcomes) == {}
    assert server.too_early == 0
    assert server.refused > 0
    assert len(scripted.requests) <= 1.6 * 500
    assert now() < 25  # 10 s at best: it must not crawl either


async def test_an_outage_costs_ten_calls_and_its_probes_and_no_job(question: JudgeRequest) -> None:
    server = OutageServer(up=5.0)

    outcomes = await crowd(crowd_judge(ScriptedJudge(server)), question, jobs=200)

    assert causes(outcomes) == {}
    assert len(server.failed) == 10
    assert max(len(outcome.attempts) for outcome in outcomes) == 2


async def test_a_longer_outage_costs_one_call_a_probe(question: JudgeRequest) -> None:
    server = OutageServer(up=100.0)

    outcomes = await crowd(crowd_judge(ScriptedJudge(server)), question, jobs=200)

    assert causes(outcomes) == {}
    assert [round(at) for at in server.failed[10:]] == [15, 45]


async def test_an_outage_in_the_middle_of_a_run_loses_no_job(question: JudgeRequest) -> None:
    server = OutageServer(up=0.0)
    judge = crowd_judge(ScriptedJudge(server))

    async def outage() -> None:
        await asyncio.sleep(6.5)
        server.up = 12.0

    breaking = asyncio.create_task(outage())
    outcomes = await crowd(judge, question, jobs=1000)
    await breaking

    assert causes(outcomes) == {}
    assert 10 <= len(server.failed) <= 64


async def test_an_outage_without_end_errs_everybody_within_the_retry_quota(question: JudgeRequest) -> None:
    server = OutageServer(up=1e9)

    outcomes = await crowd(crowd_judge(ScriptedJudge(server)), question, jobs=200)

    assert len(outcomes) == 200
    assert set(causes(outcomes)) == {"unavailable", "circuit_open"}
    assert causes(outcomes)["unavailable"] == 10
    assert len(server.failed) <= 10 + 35
    assert now() <= 300


@pytest.mark.parametrize("cause", sorted(FATAL))
async def test_a_judge_that_can_answer_nothing_is_asked_a_few_times_and_others_go_on(
    question: JudgeRequest, cause: Cause
) -> None:
    async def refuse(_: JudgeRequest) -> Reply:
        await asyncio.sleep(0.1)
        return Failure(cause=cause, message="no", fatal=True)

    async def answer(_: JudgeRequest) -> Reply:
        await asyncio.sleep(0.1)
        return "met"

    refusing = ScriptedJudge(refuse)

    lost, won = await asyncio.gather(
        crowd(crowd_judge(refusing), question, jobs=200),
        crowd(crowd_judge(ScriptedJudge(answer)), question, jobs=200),
    )

    assert causes(lost) == {cause: 200}
    assert len(refusing.requests) <= 10
    assert causes(won) == {}
