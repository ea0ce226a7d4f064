"""Each question is asked once, and its answer stored before anybody sees it (C5, C7, C8, C11)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from adjudge.judges.failure import Failure, StorageError, UsageError
from adjudge.judges.ledger import judge as ledger_judge
from adjudge.judges.ledger.judge import LedgerJudge
from adjudge.judges.ledger.ledger import Ledger
from adjudge.judges.ledger.record import Record, encode
from adjudge.judges.ledger.recorded import Recordings
from adjudge.judges.protocol import Judge
from adjudge.judges.request import Evidence, JudgeRequest, Model, Prompt
from adjudge.judges.scripted import ScriptedJudge
from adjudge.judges.verdict import Answer, Attempt, Citation, Origin, Usage, Verdict

NOTHING = Recordings()
DOWN = Failure(cause="unavailable", message="down", retryable=True, attempts=(Attempt(cause="unavailable"),))


def ask(unit: str = "u1", statement: str = "The agent greets.", *, require: bool = False) -> JudgeRequest:
    return JudgeRequest(
        evidence=Evidence(text="Hello.", digest="e", turns=(("Hello.",), ("Bye.",))),
        statements=(statement,),
        prompt=Prompt(name="p", system="", user="", digest="p"),
        model=Model(name="openai/any"),
        require_citations=require,
        unit=unit,
    )


def citing(quote: str, turn: int = 1) -> Verdict:
    return Verdict(
        decision="met", rationale="because", citations=(Citation(turn=turn, quote=quote, verified=True),)
    )


class Held:
    """A judge that says it was asked, and answers when it may."""

    def __init__(self, *replies: Answer | Failure | Exception) -> None:
        self.asked, self.may_answer = asyncio.Event(), asyncio.Event()
        self.calls = 0
        self._replies = replies

    async def judge(self, request: JudgeRequest, /) -> Answer | Failure:
        self.calls += 1
        reply = self._replies[min(self.calls, len(self._replies)) - 1]
        self.asked.set()
        await self.may_answer.wait()
        if isinstance(reply, Exception):
            raise reply
        return reply


MET = Answer(verdicts=(citing("Hello."),), attempts=(Attempt(served_model="m"),))


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def warnings() -> list[str]:
    return []


@pytest.fixture
def ledger(directory: Path, warnings: list[str]) -> Iterator[Ledger]:
    with Ledger.open(directory, warn=warnings.append) as opened:
        yield opened


def around(inner: Judge, ledger: Ledger, run: str = "run-1", *, refresh: bool = False) -> LedgerJudge:
    return LedgerJudge(inner, ledger, NOTHING, run=run, refresh=refresh)


def offline(inner: Judge, ledger: Ledger, recordings: Recordings = NOTHING) -> LedgerJudge:
    return LedgerJudge(inner, ledger, recordings, run="run-2", offline=True)


def recording(folder: Path, request: JudgeRequest, verdict: Verdict) -> Recordings:
    """A recording of one answer."""
    record = Record(
        key=request.key,
        fields=request.key_fields,
        verdicts=(verdict,),
        attempts=(),
        origin=None,
        created="",
        adjudge="1",
    )
    path = folder / "recorded.jsonl"
    path.write_bytes(encode(record))
    return Recordings([path])


async def answer_of(judge: Judge, request: JudgeRequest) -> Answer:
    answer = await judge.judge(request)
    assert isinstance(answer, Answer)
    return answer


async def blocked(*tasks: asyncio.Task[Answer | Failure]) -> None:
    """Let `tasks` run as far as they can."""
    for _ in range(20):
        await asyncio.sleep(0)
    assert not any(task.done() for task in tasks)


# Where an answer comes from


async def test_a_new_question_is_asked_and_its_answer_is_live(ledger: Ledger) -> None:
    answer = await answer_of(around(ScriptedJudge([citing("Hello.")]), ledger), ask())

    assert (answer.source, answer.origin) == ("live", Origin(run="run-1", unit="u1"))
    assert answer.created.endswith("+00:00")


async def test_an_answer_is_on_the_disk_before_it_is_returned(ledger: Ledger, directory: Path) -> None:
    await answer_of(around(ScriptedJudge([citing("Hello.")]), ledger), ask())
    with Ledger.open(directory, read_only=True) as other:
        stored = other.get(ask().key)

    assert stored is not None
    assert (stored.verdicts, stored.fields) == ((citing("Hello."),), ask().key_fields)


async def test_a_question_asked_before_is_answered_from_the_cache(ledger: Ledger) -> None:
    inner = ScriptedJudge([citing("Hello.")])
    await answer_of(around(inner, ledger), ask())
    answer = await answer_of(around(inner, ledger, "run-2"), ask())

    assert (answer.source, answer.verdicts, len(inner.requests)) == ("cache", (citing("Hello."),), 1)


async def test_another_unit_of_the_same_run_is_answered_from_the_cache(ledger: Ledger) -> None:
    judge = around(ScriptedJudge(["met"]), ledger)
    await answer_of(judge, ask("u1"))

    assert (await answer_of(judge, ask("u2"))).source == "cache"


async def test_a_resumed_run_counts_its_own_call_as_its_own(ledger: Ledger, directory: Path) -> None:
    spent = Attempt(seconds=1.5, usage=Usage(input_tokens=7), cost_usd=0.25, served_model="m")
    failed = Attempt(cause="timeout", message="late", raw="half a reply")
    held = Held(replace(MET, attempts=(failed, spent)))
    held.may_answer.set()
    first = await answer_of(around(held, ledger), ask())
    ledger.close()
    with Ledger.open(directory) as again:
        answer = around(ScriptedJudge([]), again).recall(ask())

    assert answer == replace(first, attempts=(replace(failed, raw=None), spent))
    assert answer is not None
    assert answer.source == "live"


async def test_a_question_never_asked_is_not_recalled(ledger: Ledger) -> None:
    assert around(ScriptedJudge([]), ledger).recall(ask()) is None


async def test_a_failure_is_not_stored(ledger: Ledger) -> None:
    inner = ScriptedJudge([DOWN, citing("Hello.")])
    judge = around(inner, ledger)

    assert await judge.judge(ask()) == DOWN
    assert list(ledger.scan()) == []
    assert (await answer_of(judge, ask())).source == "live"


async def test_a_recording_is_consulted_before_the_cache(ledger: Ledger, tmp_path: Path) -> None:
    await answer_of(around(ScriptedJudge(["not_met"]), ledger), ask())
    recordings = recording(tmp_path, ask(), citing("Hello."))
    answer = LedgerJudge(ScriptedJudge([]), ledger, recordings, run="run-1").recall(ask())

    assert answer is not None
    assert (answer.source, answer.verdicts, answer.origin) == ("recorded", (citing("Hello."),), None)


# Offline and refresh


async def test_offline_a_miss_says_how_to_see_why(ledger: Ledger) -> None:
    failure = await offline(ScriptedJudge([]), ledger).judge(ask())

    assert isinstance(failure, Failure)
    assert (failure.cause, failure.attempts) == ("not_cached", ())
    assert "--offline" in failure.message
    assert "adjudge cache why-miss" in failure.message
    assert ask().key[:12] in failure.message


async def test_offline_answers_come_from_a_cache_that_is_only_read(ledger: Ledger, directory: Path) -> None:
    await answer_of(around(ScriptedJudge(["met"]), ledger), ask())
    with Ledger.open(directory, read_only=True) as reader:
        assert (await answer_of(offline(ScriptedJudge([]), reader), ask())).source == "cache"


async def test_offline_answers_come_from_recordings(ledger: Ledger, tmp_path: Path) -> None:
    judge = offline(ScriptedJudge([]), ledger, recording(tmp_path, ask(), citing("Hello.")))

    assert (await answer_of(judge, ask())).source == "recorded"


async def test_refresh_asks_again_and_keeps_the_older_verdict(ledger: Ledger) -> None:
    await answer_of(around(ScriptedJudge(["met"]), ledger), ask())
    answer = await answer_of(around(ScriptedJudge(["not_met"]), ledger, "run-2", refresh=True), ask())
    stored = ledger.get(ask().key)

    assert (answer.source, answer.verdicts[0].decision) == ("live", "not_met")
    assert stored is not None
    assert [past.verdicts[0].decision for past in stored.history] == ["met"]


async def test_refresh_asks_once_a_run(ledger: Ledger) -> None:
    inner = ScriptedJudge(["met"])
    judge = around(inner, ledger, "run-2", refresh=True)
    sources = [(await answer_of(judge, ask(unit))).source for unit in ("u1", "u2", "u1")]

    assert (sources, len(inner.requests)) == (["live", "cache", "live"], 1)


async def test_refresh_passes_over_recordings(ledger: Ledger, tmp_path: Path) -> None:
    recordings = recording(tmp_path, ask(), citing("Hello."))
    judge = LedgerJudge(ScriptedJudge(["not_met"]), ledger, recordings, run="run-1", refresh=True)

    assert (await answer_of(judge, ask())).source == "live"


# Citations are checked again


async def test_a_stored_quote_that_stands_nowhere_is_marked_again(ledger: Ledger) -> None:
    await answer_of(around(ScriptedJudge([citing("Never said.")]), ledger), ask())
    answer = around(ScriptedJudge([]), ledger).recall(ask())

    assert answer is not None
    assert answer.verdicts == (
        replace(citing(""), citations=(Citation(turn=1, quote="Never said.", verified=False),)),
    )


async def test_a_stored_quote_once_thought_unverified_is_found(ledger: Ledger) -> None:
    unsure = replace(citing(""), citations=(Citation(turn=1, quote="Hello.", verified=False),))
    await answer_of(around(ScriptedJudge([unsure]), ledger), ask())
    answer = around(ScriptedJudge([]), ledger).recall(ask())

    assert answer is not None
    assert answer.verdicts == (citing("Hello."),)


async def test_an_unverified_quote_is_a_miss_where_citations_are_required(ledger: Ledger) -> None:
    inner = ScriptedJudge([citing("Never said."), citing("Hello.")])
    judge = around(inner, ledger)
    await answer_of(judge, ask())
    answer = await answer_of(judge, ask(require=True))
    stored = ledger.get(ask().key)

    assert (answer.verdicts, len(inner.requests), ledger.damaged) == ((citing("Hello."),), 2, 0)
    assert stored is not None
    assert [past.verdicts for past in stored.history] == [(citing("Never said."),)]


async def test_an_answer_that_cites_a_missing_turn_is_damaged(ledger: Ledger, warnings: list[str]) -> None:
    inner = ScriptedJudge([citing("Hello.", turn=3), citing("Hello.")])
    judge = around(inner, ledger)
    await answer_of(judge, ask())
    answer = await answer_of(judge, ask())

    assert (answer.verdicts, len(inner.requests), ledger.damaged) == ((citing("Hello."),), 2, 1)
    assert "turn 3, which its question doesn't show" in warnings[0]


async def test_a_recording_that_cites_a_missing_turn_is_passed_over(ledger: Ledger, tmp_path: Path) -> None:
    judge = offline(ScriptedJudge([]), ledger, recording(tmp_path, ask(), citing("Hello.", turn=3)))

    assert isinstance(await judge.judge(ask()), Failure)
    assert ledger.damaged == 1


# One flight


async def test_a_question_in_flight_is_not_asked_again(ledger: Ledger) -> None:
    inner = Held(MET)
    judge = around(inner, ledger)
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        tasks = [group.create_task(judge.judge(ask(f"u{number}"))) for number in range(10)]
        await inner.asked.wait()
        await blocked(*tasks)
        inner.may_answer.set()
    answers = [task.result() for task in tasks]

    assert inner.calls == 1
    assert [each.source for each in answers if isinstance(each, Answer)] == ["live"] + ["cache"] * 9


async def test_those_who_waited_share_a_failure_without_its_attempts(ledger: Ledger) -> None:
    inner = Held(DOWN)
    judge = around(inner, ledger)
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        tasks = [group.create_task(judge.judge(ask(f"u{number}"))) for number in range(3)]
        await inner.asked.wait()
        await blocked(*tasks)
        inner.may_answer.set()

    assert inner.calls == 1
    assert [task.result() for task in tasks] == [DOWN, replace(DOWN, attempts=()), replace(DOWN, attempts=())]


async def test_a_canceled_leader_leaves_the_question_to_those_who_waited(ledger: Ledger) -> None:
    inner = Held(MET)
    judge = around(inner, ledger)
    leader, *others = [asyncio.create_task(judge.judge(ask(f"u{number}"))) for number in range(3)]
    await inner.asked.wait()
    await blocked(leader, *others)
    leader.cancel()
    inner.may_answer.set()
    async with asyncio.timeout(30):
        answers = await asyncio.gather(leader, *others, return_exceptions=True)

    assert isinstance(answers[0], asyncio.CancelledError)
    assert [each.source for each in answers[1:] if isinstance(each, Answer)] == ["live", "cache"]
    assert inner.calls == 2


async def test_one_who_waited_can_be_canceled_alone(ledger: Ledger) -> None:
    inner = Held(MET)
    judge = around(inner, ledger)
    leader, bored, patient = [asyncio.create_task(judge.judge(ask(f"u{number}"))) for number in range(3)]
    await inner.asked.wait()
    await blocked(leader, bored, patient)
    bored.cancel()
    inner.may_answer.set()
    async with asyncio.timeout(30):
        await asyncio.wait([leader, bored, patient])

    assert bored.cancelled()
    assert isinstance(leader.result(), Answer)
    assert isinstance(patient.result(), Answer)
    assert inner.calls == 1


async def test_a_canceled_question_can_be_asked_again(ledger: Ledger) -> None:
    inner = Held(MET)
    judge = around(inner, ledger)
    task = asyncio.create_task(judge.judge(ask()))
    await inner.asked.wait()
    task.cancel()
    await asyncio.wait([task])
    inner.may_answer.set()
    async with asyncio.timeout(30):
        assert isinstance(await judge.judge(ask()), Answer)


async def test_an_answer_that_was_paid_for_is_stored_although_its_asker_is_canceled(ledger: Ledger) -> None:
    class Canceling:
        async def judge(self, request: JudgeRequest, /) -> Answer | Failure:
            task.cancel()  # arrives where the answer is being stored
            return MET

    task = asyncio.create_task(around(Canceling(), ledger).judge(ask()))
    await asyncio.wait([task])

    assert task.cancelled()
    assert ledger.get(ask().key) is not None


async def test_an_error_of_the_leader_is_found_by_everybody(ledger: Ledger) -> None:
    inner = Held(UsageError("no key"))
    judge = around(inner, ledger)
    tasks = [asyncio.create_task(judge.judge(ask(f"u{number}"))) for number in range(3)]
    await inner.asked.wait()
    await blocked(*tasks)
    inner.may_answer.set()
    async with asyncio.timeout(30):
        found = await asyncio.gather(*tasks, return_exceptions=True)

    assert [str(each) for each in found] == ["no key"] * 3


async def test_one_who_requires_citations_is_not_served_an_answer_without(ledger: Ledger) -> None:
    inner = Held(replace(MET, verdicts=(citing("Never said."),)), MET)
    judge = around(inner, ledger)
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        lax = group.create_task(judge.judge(ask("u1")))
        strict = group.create_task(judge.judge(ask("u2", require=True)))
        await inner.asked.wait()
        await blocked(lax, strict)
        inner.may_answer.set()

    answer = strict.result()
    assert isinstance(answer, Answer)
    assert (answer.verdicts, inner.calls) == ((citing("Hello."),), 2)


async def test_two_judges_on_one_ledger_ask_a_question_once(ledger: Ledger) -> None:
    inner = Held(MET)
    one, other = around(inner, ledger), around(inner, ledger)
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        first = group.create_task(one.judge(ask("u1")))
        await inner.asked.wait()
        second = group.create_task(other.judge(ask("u2")))
        await blocked(first, second)
        inner.may_answer.set()

    assert inner.calls == 1
    assert isinstance(second.result(), Answer)


async def test_waiting_long_for_somebody_else_is_said_once(
    ledger: Ledger, warnings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_judge, "_PATIENCE", 0)
    inner = Held(MET)
    one, other = around(inner, ledger), around(inner, ledger)
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        first = group.create_task(one.judge(ask()))
        await inner.asked.wait()
        waiting = [group.create_task(other.judge(ask(unit))) for unit in ("u2", "u3")]
        await blocked(first, *waiting)
        inner.may_answer.set()

    assert len(warnings) == 1
    assert "another adjudge process" in warnings[0]


# Storage


async def test_whoever_wants_to_know_is_told_when_an_answer_is_stored(ledger: Ledger) -> None:
    told: list[bool] = []

    def stored() -> None:
        told.append(ledger.get(ask().key) is not None)

    judge = LedgerJudge(ScriptedJudge([DOWN, "met"]), ledger, NOTHING, run="run-1", stored=stored)
    await judge.judge(ask())  # fails: nothing to store
    await judge.judge(ask())
    await judge.judge(ask())  # from the cache

    assert told == [True]


async def test_nothing_is_asked_where_nothing_can_be_stored(ledger: Ledger, directory: Path) -> None:
    await answer_of(around(ScriptedJudge(["met"]), ledger), ask())
    inner = ScriptedJudge(["met"])
    with (
        Ledger.open(directory, read_only=True) as reader,
        pytest.raises(StorageError, match="reading only"),
    ):
        await around(inner, reader).judge(ask(statement="Another."))

    assert inner.requests == []
