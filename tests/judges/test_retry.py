"""The retry, in virtual time: which failures are asked about again, how often and how soon."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.judges.failure import FATAL, Cause, Failure, UsageError
from adjudge.judges.governing.governed import GovernedJudge
from adjudge.judges.governing.governor import Governor
from adjudge.judges.governing.retry import CHANGES, CORRECTIONS, RetryingJudge
from adjudge.judges.governing.wallet import Wallet
from adjudge.judges.request import JudgeRequest
from adjudge.judges.scripted import ByCall, Reply, ScriptedJudge
from adjudge.judges.verdict import Answer


def now() -> float:
    return asyncio.get_running_loop().time()


class Bench:
    """A retrying judge around a script, with every chance at its highest: waits are as long as can be."""

    def __init__(
        self,
        script: ByCall | Callable[[JudgeRequest], Reply | Awaitable[Reply]],
        *,
        attempts: int = 4,
        deadline: float = 300.0,
        wallet: Wallet | None = None,
        chance: float = 1.0,
    ) -> None:
        self.scripted = ScriptedJudge(script)
        self.governor = Governor("main", patience=deadline, clock=now, chance=lambda: chance)
        governed = GovernedJudge(self.scripted, self.governor, wallet or Wallet())
        self.judge = RetryingJudge(governed, attempts=attempts, deadline=deadline).judge

    @property
    def calls(self) -> int:
        return len(self.scripted.requests)


DOWN = Failure(cause="unavailable", message="503", retryable=True)
BUSY = Failure(cause="rate_limited", message="429", retryable=True)
SLOW = Failure(cause="timeout", message="slow", retryable=True)
GARBLED = Failure(cause="malformed_output", message="the reply is not JSON", retryable=True)
CUT = Failure(cause="truncated", message="the reply hit max_tokens 16", retryable=True)
OTHERWISE = Failure(cause="bad_request", message="no json_schema here", changed=True)


async def test_a_first_success_is_returned_as_it_is(question: JudgeRequest) -> None:
    bench = Bench(["met"])

    outcome = await bench.judge(question)

    assert isinstance(outcome, Answer)
    assert (bench.calls, len(outcome.attempts), now()) == (1, 1, 0.0)


@pytest.mark.parametrize("attempts", [1, 3, 5])
@pytest.mark.parametrize("failure", [DOWN, BUSY, SLOW], ids=lambda failure: failure.cause)
async def test_attempts_is_the_number_of_calls(
    question: JudgeRequest, failure: Failure, attempts: int
) -> None:
    bench = Bench([failure], attempts=attempts)

    outcome = await bench.judge(question)

    assert isinstance(outcome, Failure)
    assert outcome.cause == failure.cause
    assert bench.calls == len(outcome.attempts) == attempts


async def test_every_attempt_is_kept_oldest_first(question: JudgeRequest) -> None:
    bench = Bench([DOWN, BUSY, GARBLED, "not_met"])

    outcome = await bench.judge(question)

    assert isinstance(outcome, Answer)
    causes = [attempt.cause for attempt in outcome.attempts]
    assert causes == ["unavailable", "rate_limited", "malformed_output", None]


@pytest.mark.parametrize(
    "cause",
    ["bad_request", "input_too_long", "content_filter", "refusal", "auth", "quota", "not_found", "internal"],
)
async def test_a_failure_that_another_attempt_cannot_mend_ends_it(
    question: JudgeRequest, cause: Cause
) -> None:
    bench = Bench([Failure(cause=cause, message="no", retryable=True, fatal=cause in FATAL), "met"])

    outcome = await bench.judge(question)

    assert isinstance(outcome, Failure)
    assert (outcome.cause, outcome.message, bench.calls, now()) == (cause, "no", 1, 0.0)


async def test_a_server_that_forbids_the_retry_is_not_asked_again(question: JudgeRequest) -> None:
    bench = Bench([replace(DOWN, retryable=False), "met"])

    assert isinstance(await bench.judge(question), Failure)
    assert bench.calls == 1


@pytest.mark.parametrize("failure", [GARBLED, CUT], ids=lambda failure: failure.cause)
async def test_a_bad_reply_is_asked_for_once_more_with_what_was_wrong(
    question: JudgeRequest, failure: Failure
) -> None:
    bench = Bench([failure, failure, "met"])

    outcome = await bench.judge(question)

    assert isinstance(outcome, Failure)
    assert (outcome.cause, len(outcome.attempts), now()) == (failure.cause, 2, 0.0)
    assert [request.correction for request in bench.scripted.requests] == [None, failure.message]
    assert {request.key for request in bench.scripted.requests} == {question.key}


async def test_the_correction_outlasts_a_transient_failure(question: JudgeRequest) -> None:
    bench = Bench([GARBLED, DOWN, "met"])

    await bench.judge(question)

    assert bench.scripted.requests[-1].correction == GARBLED.message


async def test_bad_replies_have_a_budget_of_their_own(question: JudgeRequest) -> None:
    bench = Bench([DOWN, GARBLED, DOWN, "met"], attempts=3)

    outcome = await bench.judge(question)

    assert isinstance(outcome, Answer)
    assert bench.calls == 4


async def test_asking_differently_is_free_and_at_once(question: JudgeRequest) -> None:
    bench = Bench([OTHERWISE, OTHERWISE, "met"], attempts=1)

    outcome = await bench.judge(question)

    assert isinstance(outcome, Answer)
    assert (bench.calls, now()) == (3, 0.0)
    assert bench.governor.state().retries == 0


async def test_a_judge_that_never_stops_changing_is_given_up_on(question: JudgeRequest) -> None:
    bench = Bench([OTHERWISE])

    outcome = await bench.judge(question)

    assert isinstance(outcome, Failure)
    assert (outcome.cause, bench.calls) == ("bad_request", 1 + CHANGES)


async def test_back_off_doubles_up_to_twenty_seconds(question: JudgeRequest) -> None:
    bench = Bench([DOWN], attempts=8)

    outcome = await bench.judge(question)

    waited = [attempt.waited for attempt in outcome.attempts]
    assert waited == pytest.approx([0, 1, 2, 4, 8, 16, 20, 20])


async def test_back_off_is_never_shorter_than_retry_after(question: JudgeRequest) -> None:
    bench = Bench([replace(BUSY, retry_after=7.0), "met"])

    outcome = await bench.judge(question)

    assert outcome.attempts[1].waited == pytest.approx(8.0)


async def test_the_newest_retry_after_counts_for_each_attempt(question: JudgeRequest) -> None:
    bench = Bench([replace(BUSY, retry_after=9.0), replace(BUSY, retry_after=0.5), "met"], chance=0.0)

    outcome = await bench.judge(question)

    assert [attempt.waited for attempt in outcome.attempts] == pytest.approx([0.0, 9.0, 0.5])


async def test_a_retry_after_beyond_the_deadline_ends_it_at_once_with_its_cause(
    question: JudgeRequest,
) -> None:
    bench = Bench([replace(BUSY, retry_after=60.0), "met"], deadline=30.0)

    outcome = await bench.judge(question)

    assert isinstance(outcome, Failure)
    assert (outcome.cause, bench.calls, now()) == ("rate_limited", 1, 0.0)
    assert "60 s more, over the deadline" in outcome.message


async def test_a_back_off_beyond_the_deadline_ends_it_at_once_with_its_cause(question: JudgeRequest) -> None:
    bench = Bench([DOWN], attempts=9, deadline=6.0)

    outcome = await bench.judge(question)

    assert isinstance(outcome, Failure)
    assert (outcome.cause, bench.calls, now()) == ("unavailable", 3, pytest.approx(3.0))
    assert "deadline of 6 s" in outcome.message


async def test_the_deadline_cuts_off_the_attempt_that_is_under_way(question: JudgeRequest) -> None:
    async def script(_: JudgeRequest) -> Reply:
        if bench.calls == 1:
            return DOWN
        await asyncio.sleep(1000.0)
        return "met"

    bench = Bench(script, deadline=10.0)

    outcome = await bench.judge(question)

    assert isinstance(outcome, Failure)
    assert [attempt.cause for attempt in outcome.attempts] == ["unavailable", "timeout"]
    assert (outcome.cause, now()) == ("timeout", pytest.approx(10.0))


async def test_a_retry_that_waits_in_vain_keeps_the_cause_of_its_last_attempt(question: JudgeRequest) -> None:
    async def script(request: JudgeRequest) -> Reply:
        if request.unit == "hog":
            await asyncio.sleep(1000.0)
        return DOWN

    scripted = ScriptedJudge(script)
    governor = Governor("main", max_concurrency=1, clock=now, chance=lambda: 1.0)
    judge = RetryingJudge(GovernedJudge(scripted, governor, Wallet()), deadline=30.0)
    task = asyncio.create_task(judge.judge(question))
    await asyncio.sleep(0.5)
    hog = asyncio.create_task(
        GovernedJudge(scripted, governor, Wallet()).judge(replace(question, unit="hog"))
    )

    outcome = await task

    assert isinstance(outcome, Failure)
    assert (outcome.cause, len(outcome.attempts), now()) == ("unavailable", 1, pytest.approx(30.0))
    assert "no turn" in outcome.message
    hog.cancel()
    await asyncio.gather(hog, return_exceptions=True)


async def test_a_budget_that_ends_between_attempts_is_the_cause(question: JudgeRequest) -> None:
    bench = Bench([DOWN, "met"], wallet=Wallet(max_calls=1))

    outcome = await bench.judge(question)

    assert isinstance(outcome, Failure)
    assert (outcome.cause, len(outcome.attempts)) == ("budget_exhausted", 1)


async def test_cancellation_during_back_off_is_immediate(question: JudgeRequest) -> None:
    bench = Bench([replace(BUSY, retry_after=60.0)])
    task = asyncio.create_task(bench.judge(question))
    await asyncio.sleep(5.0)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert (now(), bench.calls) == (5.0, 1)


async def test_a_stopped_run_ends_a_back_off_at_once_as_canceled(question: JudgeRequest) -> None:
    bench = Bench([replace(BUSY, retry_after=60.0)])
    task = asyncio.create_task(bench.judge(question))
    await asyncio.sleep(5.0)

    bench.governor.stop()
    outcome = await task

    assert isinstance(outcome, Failure)
    assert (outcome.cause, len(outcome.attempts), bench.calls, now()) == ("canceled", 1, 1, 5.0)


async def test_a_judge_that_fails_for_good_ends_the_back_off_of_others(question: JudgeRequest) -> None:
    bench = Bench([DOWN, Failure(cause="auth", message="no key", fatal=True)], chance=0.5)
    first = asyncio.create_task(bench.judge(question))
    await asyncio.sleep(0.1)

    outcomes = [await bench.judge(question), await first]

    assert [outcome.cause for outcome in outcomes if isinstance(outcome, Failure)] == ["auth", "auth"]
    assert (bench.calls, now()) == (2, pytest.approx(0.1))


async def test_an_exception_of_the_judge_is_an_internal_failure(question: JudgeRequest) -> None:
    def script(_: JudgeRequest) -> Reply:
        raise ZeroDivisionError("no\nstatements")

    bench = Bench(script)

    outcome = await bench.judge(question)

    assert isinstance(outcome, Failure)
    assert (outcome.cause, outcome.message) == ("internal", "ZeroDivisionError: no statements")
    assert [attempt.cause for attempt in outcome.attempts] == ["internal"]
    assert bench.calls == 1


async def test_an_error_of_the_user_is_raised(question: JudgeRequest) -> None:
    def script(_: JudgeRequest) -> Reply:
        if bench.calls == 1:
            return DOWN
        raise UsageError("no API key")

    bench = Bench(script)

    with pytest.raises(UsageError, match="no API key"):
        await bench.judge(question)


async def test_a_used_up_retry_quota_ends_it_with_its_cause(question: JudgeRequest) -> None:
    bench = Bench([DOWN])
    while bench.governor.spend_retry("unavailable"):
        pass

    outcome = await bench.judge(question)

    assert isinstance(outcome, Failure)
    assert (outcome.cause, bench.calls) == ("unavailable", 1)
    assert "retry quota" in outcome.message


async def test_a_success_gives_back_what_its_last_retry_took(question: JudgeRequest) -> None:
    replies: list[Reply] = [DOWN, "met"]
    bench = Bench(replies * 50)

    outcomes = [await bench.judge(question) for _ in range(50)]

    assert all(isinstance(outcome, Answer) for outcome in outcomes)
    assert bench.governor.state().retries == 50


REPLIES: st.SearchStrategy[Reply] = st.sampled_from(
    [DOWN, BUSY, SLOW, GARBLED, CUT, OTHERWISE, Failure(cause="refusal", message="no"), "met"]
)


@given(script=st.lists(REPLIES, min_size=1, max_size=14), attempts=st.integers(1, 5))
async def test_calls_are_bounded_and_a_success_is_never_dropped(
    question: JudgeRequest, script: list[Reply], attempts: int
) -> None:
    bench = Bench(script, attempts=attempts)

    outcome = await bench.judge(question)

    told = [script[min(place, len(script) - 1)] for place in range(bench.calls)]
    assert bench.calls <= attempts + CORRECTIONS + CHANGES
    assert isinstance(outcome, Answer) == ("met" in told)
    assert [attempt.cause for attempt in outcome.attempts] == [
        reply.cause if isinstance(reply, Failure) else None for reply in told
    ]
