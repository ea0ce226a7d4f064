"""A dry run: how many calls a run would take, how many are answered already, and what it would cost."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TypedDict

from adjudge.judges.calling.model import ModelJudge
from adjudge.judges.calling.transport import Transport
from adjudge.judges.failure import UsageError
from adjudge.judges.ledger.ledger import Ledger
from adjudge.judges.ledger.recorded import Recordings
from adjudge.judges.request import JudgeRequest, Model
from adjudge.judges.verdict import Usage
from adjudge.pipeline.display import visible
from adjudge.pipeline.grading.bench import Lookup, price_of
from adjudge.pipeline.planning.freeze import Freezing, plan_head
from adjudge.pipeline.planning.overrides import Overrides
from adjudge.pipeline.planning.plan import UnreadableRecord
from adjudge.pipeline.preview.questions import questions_of
from adjudge.pipeline.reports.listing import named
from adjudge.pipeline.suite.load import JudgeSpec, Suite

CHARACTERS_PER_TOKEN = 4
"""A rule of thumb for English; other scripts take more tokens."""

OUTPUT_TOKENS_PER_STATEMENT = 150

UNKEPT = "no price is known, so the cap on cost can't be kept: give `price:` in the suite, or drop the cap"

LISTED_RECORDS = 10
"""Records that can't be read and are named."""

LISTED_FILES = 10
"""Files whose format is said one by one."""


class Estimate(TypedDict):
    """What a run would take.

    Tokens are estimated from characters. Equal questions are one: `repeated` counts the others. `too_long`
    questions would not be asked (J7). `cost_usd` is null where no price is known for a judge that would be
    called; it is an estimate, not a bound. `cannot_be_asked` says of judges by name why a run would be
    refused; `unreadable_records` has the first of the records that can't be read.
    """

    conversations: int
    unreadable: int
    grades: int
    questions: int
    repeated: int
    cached: int
    too_long: int
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    unpriced_judges: list[str]
    cannot_be_asked: dict[str, str]
    unreadable_records: list[str]
    files: list[EstimatedFile]


class EstimatedFile(TypedDict):
    """Files conversations are read from, as in `plan.json`: in which format, and how many."""

    files: list[str]
    format: str | None
    conversations: int
    unreadable: int


def estimate(suite: Suite, overrides: Overrides, lookup: Lookup) -> Estimate:
    """Go through everything a run would ask, and ask nobody.

    Raises:
        UsageError: see `plan_head`.
        StorageError: the cache can't be read.
    """
    head = plan_head(suite, "dry-run", overrides)
    freezing = Freezing(suite, head)
    loads = {name: _Load() for name in head.judges}
    grades = repeated = cached = too_long = 0
    seen: set[bytes] = set()
    with ExitStack() as files:
        answered = _answered(suite, lookup, files)
        for planned, asked in questions_of(head, freezing, overrides.limit):
            grades += len(planned.graders)
            for _, question in asked:
                key = bytes.fromhex(question.request.key)
                if key in seen:
                    repeated += 1
                    continue
                seen.add(key)
                if answered(question.request.key):
                    cached += 1
                elif question.refused is not None:
                    too_long += 1
                else:
                    loads[question.judge].add(question.request)
    called = {name: load for name, load in loads.items() if load.calls}
    costs = {name: load.cost(head.judges[name]) for name, load in called.items()}
    unpriced = [name for name, cost in costs.items() if cost is None]
    hindered: dict[str, str] = {}
    if not lookup.offline:
        hindered |= {} if head.budget.max_cost_usd is None else dict.fromkeys(unpriced, UNKEPT)
        hindered |= _hindered({name: head.judges[name] for name in called})
    calls = sum(load.calls for load in called.values())
    return {
        "conversations": freezing.count,
        "unreadable": freezing.unreadable,
        "grades": grades,
        "questions": cached + too_long + calls,
        "repeated": repeated,
        "cached": cached,
        "too_long": too_long,
        "calls": calls,
        "input_tokens": sum(load.input_tokens for load in called.values()),
        "output_tokens": sum(load.output_tokens for load in called.values()),
        "cost_usd": None if unpriced else sum(cost for cost in costs.values() if cost is not None),
        "unpriced_judges": unpriced,
        "cannot_be_asked": hindered,
        "unreadable_records": [_place(record) for record in freezing.listed[:LISTED_RECORDS]],
        "files": [
            {
                "files": each.files,
                "format": each.format,
                "conversations": each.conversations,
                "unreadable": each.unreadable,
            }
            for each in freezing.read
        ],
    }


def estimate_text(found: Estimate) -> str:
    """An estimate in words; ends in a newline."""
    cost = found["cost_usd"]
    unpriced = ", ".join(found["unpriced_judges"])
    lines = [
        *_files(found["files"]),
        f"{found['conversations']} conversations, {found['grades']} grades, {found['questions']} questions",
        *([f"{found['repeated']} more are the same questions again"] if found["repeated"] else ()),
        f"{found['cached']} are answered already; {found['calls']} calls would be made",
        f"about {found['input_tokens']} input and {found['output_tokens']} output tokens",
        f"cost unknown: no price is known for {unpriced}; give `price:` in the suite"
        if cost is None
        else f"about ${cost:.4f}, retries not counted"
        if found["calls"]
        else "nothing to pay",
    ]
    if found["too_long"]:
        lines.append(f"{found['too_long']} questions are too long for their judge and would not be asked")
    if found["unreadable"]:
        lines.append(f"{found['unreadable']} records can't be read; such a run can't pass")
        lines += [f"  {visible(record)}" for record in found["unreadable_records"]]
    lines += [
        f"a run would be refused: {visible(name)}: {visible(why)}"
        for name, why in found["cannot_be_asked"].items()
    ]
    return "\n".join(lines) + "\n"


def _files(files: Sequence[EstimatedFile]) -> Iterator[str]:
    for each in files[:LISTED_FILES]:
        lost = f", {each['unreadable']} records that can't be read" if each["unreadable"] else ""
        yield f"{named(each['files'], each['format'])} ({each['conversations']} conversations{lost})"
    more = Counter(each["format"] or "no format" for each in files[LISTED_FILES:])
    if more:
        yield "and " + ", ".join(f"{count} files more: {form}" for form, count in more.items())


def _place(record: UnreadableRecord) -> str:
    place = record.file if record.line is None else f"{record.file}:{record.line}"
    return f"{place}: {record.reason}"


def _hindered(judges: Mapping[str, JudgeSpec]) -> dict[str, str]:
    """Why judges can't be asked, such as for want of a key, by name; nothing is sent."""
    found: dict[str, str] = {}
    transport = Transport(connections=1)
    for name, spec in judges.items():
        model = Model(name=spec.model, api_base=spec.api_base, params=spec.params, output=spec.output)
        judge = ModelJudge(
            model, transport, name=name, api_key_env=spec.api_key_env, headers_env=spec.headers_env
        )
        try:
            asyncio.run(judge.ready())
        except UsageError as error:
            found[name] = str(error)
    return found


@dataclass(slots=True)
class _Load:
    """What one judge would have to answer."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def add(self, request: JudgeRequest) -> None:
        texts = (request.prompt.system, request.prompt.user, request.evidence.text, *request.statements)
        self.calls += 1
        self.input_tokens += sum(map(len, texts)) // CHARACTERS_PER_TOKEN
        self.input_tokens += sum(media.tokens for media in request.evidence.media)
        self.output_tokens += OUTPUT_TOKENS_PER_STATEMENT * len(request.statements)

    def cost(self, judge: JudgeSpec) -> float | None:
        price = price_of(judge)
        tokens = Usage(input_tokens=self.input_tokens, output_tokens=self.output_tokens)
        return None if price is None else replace(price, up_to=None).cost(tokens)


def _answered(suite: Suite, lookup: Lookup, files: ExitStack) -> Callable[[str], bool]:
    """Whether a key is answered already. A cache that doesn't exist yet is not made."""
    if lookup.refresh:
        return lambda _: False
    recordings = Recordings(suite.recorded_files)
    if not lookup.cache.exists():
        return lambda key: recordings.get(key) is not None
    ledger = files.enter_context(Ledger.open(lookup.cache, read_only=True))
    return lambda key: recordings.get(key) is not None or ledger.get(key) is not None
