"""The governor, in virtual time: who may go, when, and how many at once."""

from __future__ import annotations

import asyncio

import pytest

from adjudge.judges.failure import Cause, Failure
from adjudge.judges.governing.deadline import Deadline
from adjudge.judges.governing.governor import FIRST_LIMIT, LONGEST_GATE, RAMP, Governor, Permit
from adjudge.judges.verdict import Answer, Attempt, Verdict

ANSWER = Answer(verdicts=(Verdict(decision="met", rationale=""),), attempts=(Attempt(),))


def failed(cause: Cause, *, retry_after: float | None = None, fatal: bool = False) -> Failure:
    return Failure(
        cause=cause, message=cause, retry_after=retry_after, fatal=fatal, attempts=(Attempt(cause=cause),)
    )


def now() -> float:
    return asyncio.get_running_loop().time()


def governor(max_concurrency: int = 32, patience: float = 300.0) -> Governor:
    return Governor("main", max_concurrency=max_concurrency, patience=patience, clock=now, chance=lambda: 1.0)


def fresh(seconds: float = 300.0) -> Deadline:
    return Deadline(seconds, now())


def begun(seconds: float = 300.0) -> Deadline:
    deadline = fresh(seconds)
    deadline.start(now())
    return deadline


async def admitted(governor: Governor, deadline: Deadline | None = None) -> Permit:
    permit = await governor.admit(deadline or fresh())
    assert isinstance(permit, Permit)
    return permit


async def refused(governor: Governor, deadline: Deadline | None = None) -> Failure:
    failure = await governor.admit(deadline or fresh())
    assert isinstance(failure, Failure)
    return failure


async def once(governor: Governor, outcome: Answer | Failure) -> None:
    """One request that ends with `outcome`."""
    governor.done(await admitted(governor), outcome)


async def settled() -> None:
    """Let everybody who can go on do so, without time passing."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_the_first_requests_go_out_at_once_and_no_more_than_a_few() -> None:
    subject = governor()

    tasks = [asyncio.create_task(subject.admit(fresh())) for _ in range(30)]
    await settled()

    assert sum(task.done() for task in tasks) == FIRST_LIMIT == 10
    assert (subject.state().in_flight, subject.state().waiting) == (10, 20)
    await _cancel(tasks)


async def test_turns_come_in_the_order_asked() -> None:
    subject, order = governor(max_concurrency=1), list[int]()

    async def ask(number: int) -> None:
        permit = await admitted(subject)
        order.append(number)
        subject.done(permit, ANSWER)

    await asyncio.gather(*(ask(number) for number in range(20)))

    assert order == list(range(20))


async def test_an_answer_that_is_not_stored_yet_takes_the_place_of_a_request() -> None:
    subject = Governor("main", max_concurrency=2, storing=True, clock=now)
    await once(subject, ANSWER)
    await once(subject, failed("bad_request"))  # nothing to store
    await admitted(subject)

    waiting = asyncio.create_task(admitted(subject))
    await settled()
    assert not waiting.done()

    subject.stored()
    await waiting


async def test_verdicts_under_way_go_before_new_ones() -> None:
    subject, order = governor(max_concurrency=1), list[str]()
    running = await admitted(subject)

    async def ask(name: str, deadline: Deadline) -> None:
        permit = await admitted(subject, deadline)
        order.append(name)
        subject.done(permit, ANSWER)

    tasks = [
        asyncio.create_task(ask("new", fresh())),
        asyncio.create_task(ask("first retry", begun())),
        asyncio.create_task(ask("second retry", begun())),
    ]
    await settled()
    subject.done(running, ANSWER)
    await asyncio.gather(*tasks)

    assert order == ["first retry", "second retry", "new"]


async def test_every_success_raises_the_limit_until_the_first_429() -> None:
    subject = governor(max_concurrency=FIRST_LIMIT + 2 * RAMP + 1)

    for _ in range(2):
        await once(subject, ANSWER)
    assert subject.state().limit == FIRST_LIMIT + 2 * RAMP
    for _ in range(5):
        await once(subject, ANSWER)

    assert subject.state().limit == FIRST_LIMIT + 2 * RAMP + 1


async def test_a_429_halves_the_limit_once_per_round_trip() -> None:
    subject = governor()
    permits = [await admitted(subject) for _ in range(8)]

    for permit in permits:
        subject.done(permit, failed("rate_limited", retry_after=1))

    assert subject.state().limit == 5
    assert subject.state().throttled == 8
    await once(subject, failed("rate_limited", retry_after=1))
    assert subject.state().limit == 2


async def test_after_a_429_a_limits_worth_of_successes_raises_the_limit_by_one() -> None:
    subject = governor()
    await once(subject, failed("rate_limited", retry_after=1))
    assert subject.state().limit == 5

    for _ in range(4):
        await once(subject, ANSWER)
    assert subject.state().limit == 5
    await once(subject, ANSWER)
    assert subject.state().limit == 6
    for _ in range(6):
        await once(subject, ANSWER)

    assert subject.state().limit == 7


async def test_the_limit_never_falls_below_one() -> None:
    subject = governor()

    for _ in range(10):
        await once(subject, failed("rate_limited", retry_after=1))

    assert subject.state().limit == 1


async def test_nobody_goes_before_retry_after_ends() -> None:
    subject = governor()
    await once(subject, failed("rate_limited", retry_after=7.0))
    assert subject.state().gate_seconds == 7.0

    await asyncio.gather(*(admitted(subject) for _ in range(5)))

    assert now() == pytest.approx(7.0)


async def test_retry_after_of_an_overloaded_server_closes_the_gate_too() -> None:
    subject = governor()

    await once(subject, failed("unavailable", retry_after=3.0))

    assert subject.state().gate_seconds == 3.0


async def test_the_newest_retry_after_is_obeyed() -> None:
    subject = governor()
    first, second = await admitted(subject), await admitted(subject)
    subject.done(first, failed("rate_limited", retry_after=2.0))
    await asyncio.sleep(1.0)

    subject.done(second, failed("rate_limited", retry_after=30.0))
    assert subject.state().gate_seconds == 30.0
    await once(subject, failed("rate_limited", retry_after=1.0))

    assert subject.state().gate_seconds == pytest.approx(1.0)


async def test_a_gate_is_not_opened_early_by_a_reply_to_an_older_request() -> None:
    subject = governor()
    first, second = await admitted(subject), await admitted(subject)
    subject.done(first, failed("rate_limited", retry_after=30.0))

    subject.done(second, failed("rate_limited", retry_after=1.0))

    assert subject.state().gate_seconds == 30.0


async def test_retry_after_is_capped() -> None:
    subject = governor()

    await once(subject, failed("rate_limited", retry_after=1e12))

    assert subject.state().gate_seconds == LONGEST_GATE


async def test_a_retry_after_of_zero_closes_no_gate() -> None:
    subject = governor()

    await once(subject, failed("rate_limited", retry_after=0.0))

    assert subject.state().gate_seconds == 0.0


async def test_429s_that_name_no_time_close_the_gate_for_longer_each_time() -> None:
    subject, pauses = governor(), list[float]()

    for _ in range(4):
        await once(subject, failed("rate_limited"))
        pauses.append(subject.state().gate_seconds)
    await once(subject, ANSWER)
    await once(subject, failed("rate_limited"))
    pauses.append(subject.state().gate_seconds)

    assert pauses == pytest.approx([1, 2, 4, 8, 1])


async def test_a_gate_longer_than_the_deadline_is_not_waited_for() -> None:
    subject = governor(max_concurrency=1, patience=20.0)
    running = await admitted(subject)
    tasks = [asyncio.create_task(subject.admit(begun(seconds))) for seconds in (5.0, 20.0)]
    await settled()

    subject.done(running, failed("rate_limited", retry_after=10.0))
    await settled()

    assert [task.done() for task in tasks] == [True, False]
    failure = tasks[0].result()
    assert isinstance(failure, Failure)
    assert (failure.cause, failure.attempts, failure.retryable) == ("rate_limited", (), True)
    await _cancel(tasks)


async def test_nobody_waits_for_a_gate_longer_than_patience() -> None:
    subject = governor(patience=20.0)
    await once(subject, failed("rate_limited", retry_after=60.0))

    failure = await refused(subject)

    assert failure.cause == "rate_limited"
    assert "60 s" in failure.message
    assert now() == 0.0


async def test_time_in_the_queue_does_not_count_against_a_new_verdict() -> None:
    subject = governor(max_concurrency=1)
    running = await admitted(subject)
    task = asyncio.create_task(subject.admit(fresh(5.0)))

    await asyncio.sleep(100.0)
    subject.done(running, ANSWER)

    assert isinstance(await task, Permit)


async def test_a_verdict_under_way_waits_for_its_turn_no_longer_than_its_deadline() -> None:
    subject = governor(max_concurrency=1)
    await admitted(subject)

    failure = await refused(subject, begun(5.0))

    assert failure.cause == "timeout"
    assert now() == pytest.approx(5.0)
    assert subject.state().waiting == 0


async def test_a_fatal_failure_shuts_the_judge_for_those_waiting_and_those_to_come() -> None:
    subject = governor(max_concurrency=1)
    running = await admitted(subject)
    waiting = [asyncio.create_task(subject.admit(fresh())) for _ in range(3)]
    await settled()

    subject.done(running, failed("auth", fatal=True))

    failures = [await task for task in waiting] + [await refused(subject)]
    assert [f.cause for f in failures if isinstance(f, Failure)] == ["auth"] * 4
    assert all(f.fatal and not f.attempts for f in failures if isinstance(f, Failure))
    assert subject.state().breaker == "shut"
    assert subject.state().calls == 1


async def test_a_stopped_judge_lets_requests_in_flight_finish_and_nothing_more_out() -> None:
    subject = governor(max_concurrency=1)
    running = await admitted(subject)
    waiting = asyncio.create_task(subject.admit(fresh()))
    await settled()

    subject.stop()

    causes = [f.cause for f in (await waiting, await refused(subject)) if isinstance(f, Failure)]
    assert causes == ["canceled", "canceled"]
    subject.done(running, ANSWER)
    assert (subject.state().calls, subject.state().in_flight) == (1, 0)


async def test_a_pause_ends_when_the_judge_is_stopped() -> None:
    subject = governor()
    await subject.pause(10.0)
    pause = asyncio.create_task(subject.pause(60.0))
    await asyncio.sleep(5.0)

    subject.stop()
    await pause

    assert now() == 15.0


async def test_an_open_breaker_makes_requests_wait_and_then_sends_one_probe() -> None:
    subject = governor()
    for _ in range(10):
        await once(subject, failed("unavailable"))
    assert subject.state().breaker == "open"

    tasks = [asyncio.create_task(subject.admit(fresh())) for _ in range(5)]
    await asyncio.sleep(15.0)
    await settled()

    assert [task.done() for task in tasks] == [True, False, False, False, False]
    assert subject.state().breaker == "half_open"
    await _cancel(tasks)


async def test_an_answered_probe_lets_the_others_go_few_at_first() -> None:
    subject = governor()
    for _ in range(22):
        await once(subject, ANSWER)
    assert subject.state().limit == 32
    for _ in range(10):
        await once(subject, failed("timeout"))
    tasks = [asyncio.create_task(subject.admit(fresh())) for _ in range(30)]
    await asyncio.sleep(15.0)
    await settled()

    probe = tasks[0].result()
    assert isinstance(probe, Permit)
    subject.done(probe, ANSWER)
    await settled()

    assert subject.state().breaker == "closed"
    assert sum(task.done() for task in tasks) == 1 + FIRST_LIMIT
    await _cancel(tasks)


async def test_an_outage_that_outlasts_patience_turns_everybody_away_with_what_failed() -> None:
    subject = governor(patience=20.0)
    for _ in range(10):
        await once(subject, failed("unavailable"))
    tasks = [asyncio.create_task(_probe(subject)) for _ in range(20)]

    outcomes = await asyncio.gather(*tasks)

    assert [outcome for outcome in outcomes if outcome == "probed"] == ["probed"] * 4
    assert now() == pytest.approx(15.0)
    failure = await refused(subject)
    assert (failure.cause, failure.retryable) == ("circuit_open", True)
    assert "unavailable" in failure.message


async def test_a_429_is_no_outage() -> None:
    subject = governor()

    for _ in range(50):
        await once(subject, failed("rate_limited", retry_after=1.0))

    assert subject.state().breaker == "closed"


async def test_a_canceled_waiter_leaves_the_queue_and_takes_nobodys_turn() -> None:
    subject = governor(max_concurrency=1)
    running = await admitted(subject)
    first, second = (asyncio.create_task(subject.admit(fresh())) for _ in range(2))
    await settled()

    first.cancel()
    await settled()
    assert subject.state().waiting == 1
    subject.done(running, ANSWER)

    assert isinstance(await second, Permit)


async def test_a_turn_that_comes_in_the_instant_of_cancellation_is_passed_on() -> None:
    subject = governor(max_concurrency=1)
    running = await admitted(subject)
    first, second = (asyncio.create_task(subject.admit(fresh())) for _ in range(2))
    await settled()

    subject.done(running, ANSWER)
    first.cancel()

    assert isinstance(await second, Permit)
    assert subject.state().in_flight == 1


async def test_the_retry_quota_bears_35_transient_or_100_throttled_retries() -> None:
    transient, throttled = governor(), governor()

    spent = [transient.spend_retry("unavailable") for _ in range(40)]
    assert spent == [14] * 35 + [None] * 5
    spent = [throttled.spend_retry("rate_limited") for _ in range(110)]
    assert spent == [5] * 100 + [None] * 10

    assert transient.state().retries == 35


async def test_successes_fill_the_retry_quota_again_but_not_over() -> None:
    subject = governor()
    while subject.spend_retry("unavailable"):
        pass
    for _ in range(4):
        await once(subject, ANSWER)
    assert subject.spend_retry("unavailable") == 14

    for _ in range(1000):
        subject.return_retry(14)

    assert sum(subject.spend_retry("unavailable") is not None for _ in range(50)) == 35


async def _probe(subject: Governor) -> str:
    permit = await subject.admit(fresh())
    if isinstance(permit, Failure):
        return permit.cause
    subject.done(permit, failed("unavailable"))
    return "probed"


async def _cancel(tasks: list[asyncio.Task[Permit | Failure]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
