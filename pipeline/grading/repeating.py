"""Ask a run's judges again what they were asked already, as further samples (C6), beside the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from adjudge.judges.failure import Failure
from adjudge.judges.governing.wallet import Wallet
from adjudge.judges.ledger.judge import LedgerJudge
from adjudge.judges.verdict import Answer, Verdict
from adjudge.pipeline.conclude import Latest
from adjudge.pipeline.conversation import OverWindows
from adjudge.pipeline.files import whole_lines
from adjudge.pipeline.grade import SpentRow
from adjudge.pipeline.grading.bench import Lookup
from adjudge.pipeline.grading.frozen import frozen_conversation, frozen_evidence
from adjudge.pipeline.grading.questions import Question, questions
from adjudge.pipeline.grading.session import bench_of, until_stopped
from adjudge.pipeline.grading.statements import Outcome
from adjudge.pipeline.grading.together import together
from adjudge.pipeline.planning.plan import Plan, PlannedStatement
from adjudge.pipeline.rundir import CONVERSATIONS, Run
from adjudge.pipeline.spent import add_spent, spent_nothing, spent_on
from adjudge.pipeline.suite.load import Budget
from adjudge.pipeline.windows import decide_over

Wanted = Mapping[tuple[int, str], set[int]]
"""By number of the conversation (from 0) and grader, the places of statements to ask about again."""

Asked = tuple[int, str, int, str, int]
"""Number of the conversation, grader, place of the statement, judge, sample."""


@dataclass(frozen=True, slots=True)
class Ahead:
    """What is about to be asked, said before it is: questions, and those answered already."""

    questions: int
    answered: int

    @property
    def calls(self) -> int:
        """Calls to make, retries not counted."""
        return self.questions - self.answered


@dataclass(slots=True)
class Repeated:
    """What came of it.

    Attributes:
        votes: the verdict or failure of each statement and sample.
        spent: by what was asked now.
        stopped_by: the signal that ended it before its end, or None.
    """

    ahead: Ahead
    votes: dict[Asked, Verdict | Failure]
    spent: SpentRow
    stopped_by: int | None


async def ask_again(
    run: Run,
    plan: Plan,
    wanted: Wanted,
    lookup: Lookup,
    *,
    samples: int,
    caps: Budget,
    tell: Callable[[Ahead], bool],
    warn: Callable[[str], None],
) -> Repeated:
    """Ask each judge until it was asked `samples` times about what is `wanted`. The run stays as it is.

    Answers are stored like any other, so that nothing is asked twice. The caps count this asking alone; where
    one isn't set, it is what the run has left of its own.

    Args:
        tell: told what lies ahead before anything is asked; False calls it off.
        warn: told of damage in the cache, and that a signal was heard.

    Raises:
        UsageError: a judge can't be used as configured.
        StorageError: the run can't be read, or the cache can't be written.
    """
    wallet = _wallet(run, plan, caps)
    async with bench_of(run, plan, lookup, wallet, warn) as bench:
        asking = _Asking(bench.judges)

        def found() -> Iterator[_Repeat]:
            return _repeats(run, plan, wanted, samples)

        ahead = asking.ahead(found())
        stopped_by = None
        if ahead.questions and tell(ahead):
            asked = asking.ask(found(), window=max(bench.window, 1))
            stopped_by = await until_stopped(asked, asking.stop, bench, warn)
    return Repeated(ahead=ahead, votes=asking.votes(), spent=asking.spent, stopped_by=stopped_by)


def _wallet(run: Run, plan: Plan, caps: Budget) -> Wallet:
    budget = plan.head.budget
    if (budget.max_calls, budget.max_cost_usd) == (None, None):
        return Wallet(caps.max_calls, caps.max_cost_usd)
    spent = Latest(run, plan).spent
    calls = None if budget.max_calls is None else max(0, budget.max_calls - spent["calls"])
    cost = None if budget.max_cost_usd is None else max(0.0, budget.max_cost_usd - spent["cost_usd"])
    return Wallet(
        calls if caps.max_calls is None else caps.max_calls,
        cost if caps.max_cost_usd is None else caps.max_cost_usd,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Repeat:
    number: int
    grader: str
    statements: Sequence[PlannedStatement]
    question: Question


def _repeats(run: Run, plan: Plan, wanted: Wanted, samples: int) -> Iterator[_Repeat]:
    """The questions that the run did not ask yet, about what is wanted."""
    head = plan.head
    models, limits = head.models(), head.limits()
    lines = whole_lines(run.file(CONVERSATIONS))
    for number, planned in enumerate(plan.conversations()):
        line = next(lines, b"")
        graders = [head.grader(name) for name in planned.graders if wanted.get((number, name))]
        graders = [grader for grader in graders if grader.samples < samples]
        if not graders:
            continue
        evidence = frozen_evidence(head, frozen_conversation(line, planned, run.file(CONVERSATIONS)), planned)
        for grader in graders:
            statements = head.effective(grader, planned)
            for question in questions(
                grader.model_copy(update={"samples": samples}),
                statements,
                evidence,
                models=models,
                limits=limits,
                prompt=head.prompts[grader.prompt].prompt(),
                conversation=planned.id,
            ):
                further = question.request.sample >= grader.samples
                if further and not wanted[number, grader.name].isdisjoint(question.places):
                    yield _Repeat(number=number, grader=grader.name, statements=statements, question=question)


@dataclass(slots=True)
class _Asking:
    judges: Mapping[str, LedgerJudge]
    spent: SpentRow = field(default_factory=spent_nothing)
    _parts: dict[Asked, list[Verdict | Failure]] = field(
        default_factory=dict[Asked, "list[Verdict | Failure]"]
    )
    _rules: dict[Asked, OverWindows | None] = field(default_factory=dict[Asked, "OverWindows | None"])
    _stopped: bool = False

    def stop(self) -> None:
        self._stopped = True

    def ahead(self, repeats: Iterator[_Repeat]) -> Ahead:
        known = [self._known(repeat.question) is not None for repeat in repeats]
        return Ahead(questions=len(known), answered=sum(known))

    async def ask(self, repeats: Iterator[_Repeat], *, window: int) -> None:
        """Ask them all, `window` at a time."""

        async def work() -> None:
            for repeat in repeats:
                if self._stopped:
                    return
                self._keep(repeat, await self._answer(repeat.question))

        await together(work() for _ in range(window))

    def votes(self) -> dict[Asked, Verdict | Failure]:
        """What each sample decided; of a conversation in windows, over all of them (J7)."""
        found: dict[Asked, Verdict | Failure] = {}
        for asked, parts in self._parts.items():
            rule = self._rules.get(asked)
            found[asked] = parts[0] if rule is None else decide_over(rule, parts)
        return found

    def _known(self, question: Question) -> Outcome | None:
        return self.judges[question.judge].recall(question.request) or question.refused

    async def _answer(self, question: Question) -> Outcome:
        known = self._known(question)
        if known is not None:
            add_spent(self.spent, spent_nothing(cached=1))
            return known
        outcome = await self.judges[question.judge].judge(question.request)
        live = isinstance(outcome, Failure) or outcome.source == "live"
        add_spent(self.spent, spent_on(outcome.attempts) if live else spent_nothing(cached=1))
        return outcome

    def _keep(self, repeat: _Repeat, outcome: Outcome) -> None:
        question = repeat.question
        for index, place in enumerate(question.places):
            asked = (repeat.number, repeat.grader, place, question.judge, question.request.sample)
            vote = outcome.verdicts[index] if isinstance(outcome, Answer) else outcome
            self._parts.setdefault(asked, []).append(vote)
            if question.window is not None:
                self._rules[asked] = repeat.statements[place].over_windows
