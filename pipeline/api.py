"""The Python interface: run a suite, or grade one conversation, from a program or a notebook."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from adjudge.judges.calling.access import refuse_secrets, refuse_typos
from adjudge.judges.calling.families import resolved
from adjudge.judges.failure import UsageError
from adjudge.judges.governing.governed import GovernedJudge
from adjudge.judges.governing.governor import Governor
from adjudge.judges.governing.retry import RetryingJudge
from adjudge.judges.governing.wallet import Wallet
from adjudge.judges.ledger.ledger import Ledger
from adjudge.judges.ledger.recorded import Recordings
from adjudge.judges.media import MEDIA_KINDS
from adjudge.judges.prompt import load_prompt
from adjudge.judges.protocol import Judge
from adjudge.judges.request import Calls, Model
from adjudge.judges.room import known_media, known_windows
from adjudge.pipeline.conversation import Conversation, Overflow, StatementSpec
from adjudge.pipeline.evidence import render_for
from adjudge.pipeline.explain import findings
from adjudge.pipeline.grade import GradeRow
from adjudge.pipeline.grading.bench import Bench, Lookup
from adjudge.pipeline.grading.questions import Question, questions
from adjudge.pipeline.grading.session import carry_out
from adjudge.pipeline.grading.statements import Outcome, statements_grade
from adjudge.pipeline.grading.together import together
from adjudge.pipeline.grading.unwatched import Unwatched
from adjudge.pipeline.planning.freeze import plan_run, planned_statement
from adjudge.pipeline.planning.overrides import Overrides
from adjudge.pipeline.planning.plan import PlannedGrader, PlannedStatement, options_of
from adjudge.pipeline.rundir import Run, new_run_id, on_trial
from adjudge.pipeline.suite.load import JudgeSpec, load_suite
from adjudge.pipeline.suite.spec import EvidenceSpec

HOME = Path(".adjudge")
_log = logging.getLogger("adjudge")
T = TypeVar("T", bound=BaseModel)


def run(
    suite: str | Path,
    *,
    conversations: Sequence[str | Path] | None = None,
    judge: str | None = None,
    api_base: str | None = None,
    graders: Sequence[str] = (),
    limit: int | None = None,
    out: str | Path = HOME,
    cache: str | Path | None = None,
    offline: bool = False,
    refresh: bool = False,
    concurrency: int | None = None,
    samples: int | None = None,
    max_calls: int | None = None,
    max_cost_usd: float | None = None,
) -> Run:
    """Grade the conversations of a suite; `adjudge run` for programs.

    Everything there is to know of the run is in what is returned: `summary()` (with the `exit_code` a
    command line would have), `results()` (a row per conversation) and `path`.

    Args:
        suite: the suite file.
        conversations: files to grade instead of the suite's.
        judge: model to ask instead of the suite's, or `NAME=model` for one judge.
        api_base: server of the judge.
        graders: names of the graders to run; all if empty.
        limit: how many conversations to take at most.
        out: where runs and the cache live.
        cache: directory of the verdict cache, `out`/cache if None.
        offline: answer from recordings and the cache alone.
        refresh: ask again what was answered before.
        concurrency: calls in flight per judge.
        samples: how often each judge is asked, instead of what the suite says; the majority decides.
        max_calls: hard cap on calls.
        max_cost_usd: hard cap on US dollars.

    Raises:
        UsageError: the suite, a judge or a verifier can't be used; `offline` together with `refresh`.
        StorageError: the run or the cache can't be written.
        RuntimeError: called inside a running event loop; use `arun` there.
    """
    _refuse_running_loop("run", "arun")
    return asyncio.run(
        arun(
            suite,
            conversations=conversations,
            judge=judge,
            api_base=api_base,
            graders=graders,
            limit=limit,
            out=out,
            cache=cache,
            offline=offline,
            refresh=refresh,
            concurrency=concurrency,
            samples=samples,
            max_calls=max_calls,
            max_cost_usd=max_cost_usd,
        )
    )


async def arun(
    suite: str | Path,
    *,
    conversations: Sequence[str | Path] | None = None,
    judge: str | None = None,
    api_base: str | None = None,
    graders: Sequence[str] = (),
    limit: int | None = None,
    out: str | Path = HOME,
    cache: str | Path | None = None,
    offline: bool = False,
    refresh: bool = False,
    concurrency: int | None = None,
    samples: int | None = None,
    max_calls: int | None = None,
    max_cost_usd: float | None = None,
) -> Run:
    """`run`, inside an event loop. Same arguments, result and errors."""
    _refuse_no_list(conversations=conversations or (), graders=graders)
    overrides = Overrides(
        model=judge,
        api_base=api_base,
        graders=tuple(graders),
        limit=limit,
        concurrency=concurrency,
        samples=samples,
        max_calls=max_calls,
        max_cost_usd=max_cost_usd,
        refresh=refresh,
    )
    overrides.refuse_offline(offline)
    started = plan_run(load_suite(suite, conversations=conversations), Path(out), overrides)
    lookup = Lookup(cache=Path(cache or Path(out) / "cache"), offline=offline)
    with on_trial(started):
        await carry_out(started, started.plan(), lookup, Unwatched, warn=_log.warning)
    return started


def grade(
    conversation: Conversation | Mapping[str, Any],
    *,
    statements: Sequence[str | StatementSpec | Mapping[str, Any]],
    judge: str | Judge,
    threshold: float = 1.0,
    calls: Calls = "per_statement",
    api_base: str | None = None,
    params: Mapping[str, Any] | None = None,
    window: int | None = None,
    overflow: Overflow = "errored",
    evidence: Mapping[str, Any] | None = None,
    cache: str | Path = HOME / "cache",
) -> GradeRow:
    """Grade one conversation by statements; the result has the shape of a grade in `results.jsonl`.

    Args:
        conversation: a conversation, or a native one as plain values (spec section 7).
        statements: sentences that should be true of it, or `{"text": ..., "required": True}`.
        judge: a litellm model name, or anything with `async def judge(request)` such as a `ScriptedJudge`.
        threshold: the score that passes, in [0, 1].
        calls: one call a statement, or one for all.
        api_base: server of the model, where `judge` is a name.
        params: parameters of the model, where `judge` is a name.
        window: tokens that the judge reads at once, the reply's included; None is what litellm lists for it.
        overflow: what becomes of a longer conversation: `errored`, or judged in `windows` by statements that
            have an `over_windows`.
        evidence: what of the conversation is shown, with the keys of a suite's `evidence`, such as
            `{"timestamps": False}`.
        cache: directory of the verdict cache, where `judge` is a name.

    Raises:
        UsageError: the conversation, a statement, `evidence` or the judge is none; the judge can't be used,
            or its address or parameters hold a secret.
        StorageError: the cache can't be written.
        RuntimeError: called inside a running event loop; use `agrade` there.
    """
    _refuse_running_loop("grade", "agrade")
    return asyncio.run(
        agrade(
            conversation,
            statements=statements,
            judge=judge,
            threshold=threshold,
            calls=calls,
            api_base=api_base,
            params=params,
            window=window,
            overflow=overflow,
            evidence=evidence,
            cache=cache,
        )
    )


async def agrade(
    conversation: Conversation | Mapping[str, Any],
    *,
    statements: Sequence[str | StatementSpec | Mapping[str, Any]],
    judge: str | Judge,
    threshold: float = 1.0,
    calls: Calls = "per_statement",
    api_base: str | None = None,
    params: Mapping[str, Any] | None = None,
    window: int | None = None,
    overflow: Overflow = "errored",
    evidence: Mapping[str, Any] | None = None,
    cache: str | Path = HOME / "cache",
) -> GradeRow:
    """`grade`, inside an event loop. Same arguments, result and errors."""
    _refuse_no_list(statements=statements)
    _refuse_no_judge(judge)
    graded = _valid("a conversation", Conversation, conversation)
    shown = options_of(_valid("evidence", EvidenceSpec, evidence or {}))
    planned = [planned_statement(_statement(statement)) for statement in statements]
    grader = _grader(planned, threshold, calls, overflow)
    model, limits, takes = Model(name=""), dict[str, int](), MEDIA_KINDS
    if isinstance(judge, str):
        model = resolved(Model(name=judge, api_base=api_base, params=params or {}), os.environ)
        refuse_secrets(f"judge {judge!r}", model)
        refuse_typos(f"judge {judge!r}", model)
        limits = known_windows({"judge": model})
        takes = tuple(known_media({"judge": model})["judge"])
    if window is not None:
        limits["judge"] = window
    asked = list(
        questions(
            grader,
            planned,
            render_for(graded, shown, {"judge": takes}),
            models={"judge": model},
            limits=limits,
            prompt=load_prompt("judge"),
            conversation=graded.id,
        )
    )
    async with AsyncExitStack() as files:
        if isinstance(judge, str):
            spec = JudgeSpec(model=judge, api_base=model.api_base, params=dict(model.params))
            ledger = files.enter_context(Ledger.open(Path(cache), warn=_log.warning))
            bench = Bench(
                {"judge": spec},
                ledger,
                Recordings(),
                Wallet(),
                run=new_run_id(),
                lookup=Lookup(cache=Path(cache)),
                warn=_log.warning,
            )
            judge = (await files.enter_async_context(bench)).judges["judge"]
        else:
            # Whatever it raises becomes a cause, as in a run.
            judge = RetryingJudge(GovernedJudge(judge, Governor("judge"), Wallet()), attempts=1)
        outcomes = await together(_asked(judge, question) for question in asked)
    return statements_grade(grader, planned, asked, outcomes)


async def _asked(judge: Judge, question: Question) -> Outcome:
    return question.refused or await judge.judge(question.request)


def _refuse_running_loop(name: str, inside: str) -> None:
    """Refuse to wait inside an event loop, which would stand still.

    Raises:
        RuntimeError: there is a running one, as in a notebook.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError(
        f"adjudge.{name}() can't be called while an event loop runs, as in a notebook: "
        f"write `await adjudge.{inside}(...)`"
    )


def _refuse_no_list(**lists: object) -> None:
    """Refuse one text or path where a list is meant: its letters would be taken for the items.

    Raises:
        UsageError: naming the argument.
    """
    for name, value in lists.items():
        if isinstance(value, (str, bytes, Path)):
            raise UsageError(f"{name} is a list: write {name}=[{value!r}]")
        if isinstance(value, Mapping) or not isinstance(value, Iterable):
            raise UsageError(f"{name} is a list, not {value!r:.80}")


def _refuse_no_judge(judge: object) -> None:
    """Refuse what can't be asked.

    Raises:
        UsageError: naming it, and what a judge needs.
    """
    asked = getattr(judge, "judge", None)
    if not isinstance(judge, str) and (isinstance(judge, type) or not callable(asked)):
        raise UsageError(
            "a judge is a model's name, such as 'openai/gpt-5-mini', or an object with "
            f"`async def judge(self, request)` that returns an Answer or a Failure; this is {judge!r:.80}"
        )


def _statement(given: str | StatementSpec | Mapping[str, Any]) -> str | StatementSpec:
    return given if isinstance(given, str) else _valid("a statement", StatementSpec, given)


def _valid(what: str, model: type[T], given: T | Mapping[str, Any]) -> T:
    """`given`, or what its keys make.

    Raises:
        UsageError: it is none.
    """
    if isinstance(given, model):
        return given
    if not isinstance(given, Mapping):
        raise UsageError(f"not {what}: {given!r:.80}")
    try:
        return model.model_validate(dict(given))
    except ValidationError as error:
        wrong = "; ".join(str(finding) for finding in findings(error, model))
        raise UsageError(f"not {what}: {wrong}") from None


def _grader(
    statements: list[PlannedStatement], threshold: float, calls: Calls, overflow: Overflow
) -> PlannedGrader:
    """The rules of a suite (S2, S4), for statements given in code."""
    texts = [statement.text for statement in statements]
    if isinstance(threshold, bool) or not 0 <= threshold <= 1:
        raise UsageError(f"a threshold is a number in [0, 1], not {threshold!r}")
    if not texts:
        raise UsageError("no statements: there would be nothing to grade")
    if len(set(texts)) < len(texts):
        raise UsageError("a statement stands twice")
    if threshold == 0 and not any(statement.required for statement in statements):
        raise UsageError("threshold 0 needs a required statement: this could never fail")
    return PlannedGrader(
        name="statements",
        type="statements",
        version="",
        threshold=threshold,
        gating=True,
        judges=["judge"],
        calls=calls,
        overflow=overflow,
        statements=statements,
    )
