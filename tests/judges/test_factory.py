"""Judges put together, against a real server on loopback."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from adjudge.judges.calling.price import Price
from adjudge.judges.calling.transport import Transport
from adjudge.judges.factory import Surroundings, build_judge
from adjudge.judges.failure import Failure, UsageError
from adjudge.judges.governing.wallet import Wallet
from adjudge.judges.ledger.ledger import Ledger
from adjudge.judges.ledger.recorded import Recordings
from adjudge.judges.request import JudgeRequest, Model
from adjudge.judges.scripted import ScriptedJudge
from adjudge.judges.verdict import Answer
from adjudge.testing import FaultServer, Reply, met, says

BUSY = Reply(status=429, headers={"Retry-After": "0"})
DOWN = Reply(status=503)
NO_KEY = Reply(status=401)


@asynccontextmanager
async def run(cache: Path, wallet: Wallet | None = None, *, name: str = "r1") -> AsyncGenerator[Surroundings]:
    """The surroundings of one run over `cache`."""
    async with Transport() as transport:
        with Ledger.open(cache) as ledger:
            yield Surroundings(
                run=name,
                ledger=ledger,
                recordings=Recordings(),
                transport=transport,
                wallet=wallet or Wallet(),
            )


def at(server: FaultServer) -> Model:
    return Model(name="openai/any", api_base=server.url, output="text")


async def test_a_judge_asks_until_it_has_an_answer_and_then_never_again(
    tmp_path: Path, question: JudgeRequest
) -> None:
    async with FaultServer([BUSY, DOWN, says("I think so."), met()]) as server:
        request = replace(question, model=at(server))
        async with run(tmp_path) as around:
            first = await build_judge("main", at(server), around).judge.judge(request)
        async with run(tmp_path, name="r2") as around:
            second = await build_judge("main", at(server), around).judge.judge(request)

    assert isinstance(first, Answer)
    assert isinstance(second, Answer)
    causes = [attempt.cause for attempt in first.attempts]
    assert causes == ["rate_limited", "unavailable", "malformed_output", None]
    assert server.count == 4
    assert (second.source, second.verdicts) == ("cache", first.verdicts)


async def test_attempts_are_requests_on_the_wire(tmp_path: Path, question: JudgeRequest) -> None:
    async with FaultServer(DOWN) as server, run(tmp_path) as around:
        built = build_judge("main", at(server), around, attempts=2)
        outcome = await built.judge.judge(replace(question, model=at(server)))

    assert isinstance(outcome, Failure)
    assert (outcome.cause, server.count) == ("unavailable", 2)
    assert (around.wallet.calls, around.wallet.cost_unknown_calls) == (2, 0)
    assert built.governor.state().retries == 1


async def test_a_refused_key_ends_one_judge_and_no_other(tmp_path: Path, question: JudgeRequest) -> None:
    async with FaultServer(NO_KEY) as refusing, FaultServer(met()) as other, run(tmp_path) as around:
        lost, kept = (build_judge(server.origin, at(server), around) for server in (refusing, other))
        requests = [replace(question, statements=(f"Statement {n}.",)) for n in range(3)]
        failures = [await lost.judge.judge(replace(r, model=at(refusing))) for r in requests]
        answers = [await kept.judge.judge(replace(r, model=at(other))) for r in requests]

    assert [f.cause for f in failures if isinstance(f, Failure)] == ["auth"] * 3
    assert all(isinstance(answer, Answer) for answer in answers)
    assert refusing.count == 1
    assert lost.governor.state().breaker == "shut"


async def test_another_judge_may_stand_in_place_of_the_model(tmp_path: Path, question: JudgeRequest) -> None:
    async with run(tmp_path) as around:
        built = build_judge("main", question.model, around, asked=ScriptedJudge(["not_met"]))
        outcome = await built.judge.judge(question)

    assert isinstance(outcome, Answer)
    assert outcome.verdicts[0].decision == "not_met"


async def test_a_cost_cap_refuses_a_judge_without_a_price_before_any_call(
    tmp_path: Path, question: JudgeRequest
) -> None:
    async with FaultServer(met()) as server, run(tmp_path, Wallet(max_cost_usd=1.0)) as around:
        with pytest.raises(UsageError, match="'main' has no known price"):
            await build_judge("main", at(server), around).judge.judge(replace(question, model=at(server)))

    assert server.count == 0


async def test_a_price_in_the_suite_keeps_a_cost_cap(tmp_path: Path, question: JudgeRequest) -> None:
    async with FaultServer(met()) as server, run(tmp_path, Wallet(max_cost_usd=1.0)) as around:
        built = build_judge("main", at(server), around, price=Price(input=1e6, output=1e6))
        requests = [replace(question, model=at(server), sample=sample) for sample in range(3)]
        outcomes = [await built.judge.judge(request) for request in requests]

    assert [isinstance(outcome, Answer) for outcome in outcomes] == [True, False, False]
    assert [outcome.cause for outcome in outcomes[1:] if isinstance(outcome, Failure)] == [
        "budget_exhausted",
        "budget_exhausted",
    ]
    assert server.count == 1
