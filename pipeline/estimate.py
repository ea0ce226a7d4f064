"""A dry run: how many calls a run would take, how many are answered already, and what it would cost."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TypedDict

from adjudge.judges.ledger import Ledger
from adjudge.judges.ledger_judge import LedgerJudge
from adjudge.judges.recorded import Recordings
from adjudge.judges.request import JudgeRequest
from adjudge.judges.scripted import ScriptedJudge
from adjudge.pipeline.evidence import render
from adjudge.pipeline.planning import Freezing, Overrides, plan_head
from adjudge.pipeline.session import Access
from adjudge.pipeline.statements import questions
from adjudge.pipeline.suite import JudgeSpec, Suite

CHARACTERS_PER_TOKEN = 4
"""A rule of thumb for English; other scripts take more tokens."""

OUTPUT_TOKENS_PER_STATEMENT = 150


class Estimate(TypedDict):
    """What a run would take.

    Tokens are estimated from characters. `cost_usd` is null where no price is known for a judge that would
    be called; it is an estimate, not a bound.
    """

    conversations: int
    unreadable: int
    grades: int
    questions: int
    cached: int
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    unpriced_judges: list[str]


def estimate(suite: Suite, overrides: Overrides, access: Access) -> Estimate:
    """Go through everything a run would ask, and ask nobody.

    Raises:
        UsageError: see `plan_head`.
        StorageError: the cache can't be read.
    """
    head = plan_head(suite, "dry-run", overrides)
    found: Estimate = {
        "conversations": 0,
        "unreadable": 0,
        "grades": 0,
        "questions": 0,
        "cached": 0,
        "calls": 0,
        "input_tokens": 0,
        "output_tokens": 0,
        "cost_usd": 0.0,
        "unpriced_judges": [],
    }
    graders = {grader.name: grader for grader in head.graders}
    models, options, freezing = head.models(), head.evidence_options(), Freezing(suite, head)
    by_judge: dict[str, list[tuple[int, int]]] = {}
    with ExitStack() as open_files:
        known = _known(suite, access, open_files)
        for conversation, planned in freezing.conversations(overrides.limit):
            found["grades"] += len(planned.graders)
            if not planned.evidence:
                continue
            evidence = render(conversation, options)
            for name in planned.graders:
                grader = graders[name]
                if grader.type == "checks":
                    continue
                statements = head.effective(grader, planned)
                prompt = head.prompts[grader.prompt].prompt()
                for question in questions(
                    grader, statements, evidence, models=models, prompt=prompt, conversation=planned.id
                ):
                    found["questions"] += 1
                    if known is not None and known.recall(question.request) is not None:
                        found["cached"] += 1
                    else:
                        by_judge.setdefault(question.judge, []).append(_tokens(question.request))
    found["conversations"], found["unreadable"] = freezing.count, freezing.unreadable
    _add_calls(found, by_judge, head.judges)
    return found


def estimate_text(found: Estimate) -> str:
    """An estimate in words; ends in a newline."""
    cost = found["cost_usd"]
    unpriced = ", ".join(found["unpriced_judges"])
    lines = [
        f"{found['conversations']} conversations, {found['grades']} grades, {found['questions']} questions",
        f"{found['cached']} are answered already; {found['calls']} calls would be made",
        f"about {found['input_tokens']} input and {found['output_tokens']} output tokens",
        f"cost unknown: no price is known for {unpriced}; give `price:` in the suite"
        if cost is None
        else f"about ${cost:.4f}, retries not counted",
    ]
    if found["unreadable"]:
        lines.append(f"{found['unreadable']} records can't be read; such a run can't pass")
    return "\n".join(lines) + "\n"


def _known(suite: Suite, access: Access, files: ExitStack) -> LedgerJudge | None:
    """What is answered already; a cache that doesn't exist yet is not made."""
    raise NotImplementedError


def _tokens(request: JudgeRequest) -> tuple[int, int]:
    texts = (request.prompt.system, request.prompt.user, request.evidence.text, *request.statements)
    return (
        sum(map(len, texts)) // CHARACTERS_PER_TOKEN,
        OUTPUT_TOKENS_PER_STATEMENT * len(request.statements),
    )


def _add_calls(
    found: Estimate, by_judge: Mapping[str, list[tuple[int, int]]], judges: Mapping[str, JudgeSpec]
) -> None:
    raise NotImplementedError
