"""One leg of a run: every grade its plan still misses, judged, and journalled as it is made."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self, cast

import orjson

from adjudge.judges.calling.families import caches_from
from adjudge.judges.failure import Failure, StorageError, UsageError
from adjudge.judges.request import Evidence, JudgeRequest, digest
from adjudge.judges.verdict import Answer
from adjudge.pipeline.checks import Verifier, load_verifier
from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.display import json_line
from adjudge.pipeline.files import Journal, undamaged, whole_lines
from adjudge.pipeline.grade import GradeRow
from adjudge.pipeline.grading.checks_grade import checks_grade
from adjudge.pipeline.grading.frozen import frozen_conversation, frozen_evidence
from adjudge.pipeline.grading.questions import Asking, Question
from adjudge.pipeline.grading.statements import Outcome, answered, statements_grade
from adjudge.pipeline.grading.together import together
from adjudge.pipeline.grading.verifying import VerifierThread
from adjudge.pipeline.grading.warming import Warming
from adjudge.pipeline.planning.canary import canary_grade
from adjudge.pipeline.planning.plan import Plan, PlannedConversation, PlannedGrader
from adjudge.pipeline.rundir import CONVERSATIONS, ERRORS, GRADES, Run


class RecallingJudge(Protocol):
    """A judge that knows at once what it has been asked before."""

    def recall(self, request: JudgeRequest, /) -> Answer | None:
        """The stored answer, or None."""
        ...

    def recall_all(self, requests: Sequence[JudgeRequest], /) -> list[Answer | None]:
        """The same for several, at less cost."""
        ...

    async def judge(self, request: JudgeRequest, /) -> Answer | Failure:
        """The answer, stored before it is returned, or why there is none."""
        ...


class Watch(Protocol):
    """Whoever wants to see grades as they are made, such as a progress bar."""

    def graded(self, grade: GradeRow, /) -> None:
        """One grade was made."""
        ...

    def finished(self, conversations: int, /) -> None:
        """So many more conversations need nothing further."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...


class Leg:
    """Grades what is missing or errored of a run's plan.

    Conversations are streamed: at most `window` questions are open at a time, however many there are.
    """

    def __init__(
        self,
        run: Run,
        plan: Plan,
        judges: Mapping[str, RecallingJudge],
        watch: Watch,
        *,
        window: int,
        warn: Callable[[str], None],
    ) -> None:
        """`judges` by the name the plan gives them; `warn` is told of a line that a kill cut short."""
        self._run, self._plan, self._judges, self._watch = run, plan, judges, watch
        self._warn = warn
        self._head = plan.head
        self._models, self._limits = plan.head.models(), plan.head.limits()
        self._keeps_from = {
            name: least
            for name, spec in plan.head.judges.items()
            if spec.prefix_cache == "auto" and (least := caches_from(spec.model)) is not None
        }
        self._graders = {grader.name: grader for grader in (*plan.head.graders, *plan.head.canaries)}
        self._places = {name: place for place, name in enumerate(self._graders)}
        self._askings: dict[str, Asking] = {}
        self._window = _Window(window)
        self._stop = asyncio.Event()
        self._wrote = False

    def stop(self) -> None:
        """Begin nothing new; what is being asked may finish."""
        self._stop.set()

    async def grade(self) -> None:
        """Make every missing grade.

        Raises:
            UsageError: a judge or verifier can't be used as configured.
            StorageError: the run, the cache or the disk can't be written any more.
        """
        done, self._counted = _journalled(self._run, self._plan, self._places)
        verifiers = _verifiers(self._head.graders)
        with (
            Journal(self._run.file(GRADES)) as self._grades,
            Journal(self._run.file(ERRORS)) as self._errors,
            VerifierThread() as self._verifying,
        ):
            for journal in (self._grades, self._errors):
                if journal.torn:
                    self._warn(
                        f"{str(journal.path)!r} ended within a line, as after a kill; that line is dropped"
                    )
            try:
                async with asyncio.TaskGroup() as group:
                    await self._grade_each(group, done, verifiers)
            except BaseExceptionGroup as several:
                raise _worst(several) from several

    async def _grade_each(
        self, group: asyncio.TaskGroup, done: bytearray, verifiers: Mapping[str, Verifier]
    ) -> None:
        lines = whole_lines(self._run.file(CONVERSATIONS))
        for number, planned in enumerate(self._plan.conversations()):
            line = next(lines, b"")
            await asyncio.sleep(0)  # where all is recalled, nothing else would let a signal be heard
            if self._stop.is_set():
                return
            first = number * len(self._places)
            wanted = (*planned.graders, *planned.canaries)
            unfinished = [name for name in wanted if not done[first + self._places[name]]]
            if not planned.gradable or not unfinished:
                self._watch.finished(1)
                continue
            conversation = frozen_conversation(line, planned, self._run.file(CONVERSATIONS))
            todo = [self._graders[name] for name in unfinished]
            judging = [grader for grader in todo if grader.type == "statements"]
            evidence = frozen_evidence(self._head, conversation, planned) if judging else None
            for grader in todo:
                if grader.type == "checks":
                    await self._check(number, planned, grader, verifiers[grader.name], conversation)
            asking: list[asyncio.Task[None]] = []
            if evidence is not None:
                warming = Warming(self._keeps_from)
                for grader in judging:
                    asking += await self._judge(group, number, planned, grader, evidence, warming)
            self._finish_after(asking)

    def _finish_after(self, asking: list[asyncio.Task[None]]) -> None:
        """Say that a conversation is finished once everything asked about it is answered."""
        left = len(asking)

        def done(_: asyncio.Task[None]) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                self._watch.finished(1)

        if not asking:
            self._watch.finished(1)
        for task in asking:
            task.add_done_callback(done)

    async def _check(
        self,
        number: int,
        planned: PlannedConversation,
        grader: PlannedGrader,
        verifier: Verifier,
        conversation: Conversation,
    ) -> None:
        own = conversation.model_copy(deep=True)  # whatever a verifier does to it
        outcome = await self._verifying.verify(verifier, own)
        self._write(number, planned, checks_grade(grader, outcome))

    async def _judge(
        self,
        group: asyncio.TaskGroup,
        number: int,
        planned: PlannedConversation,
        grader: PlannedGrader,
        evidence: Mapping[str, Evidence],
        warming: Warming,
    ) -> list[asyncio.Task[None]]:
        """Grade at once what was answered before; what was not is asked in the task returned."""
        asking = self._asking(grader, planned)
        asked = list(asking.about(planned.id, evidence))
        outcomes = self._recalled(asked)
        missing = [place for place, outcome in enumerate(outcomes) if outcome is None]

        def conclude(answers: Sequence[Outcome]) -> None:
            for place, answer in zip(missing, answers, strict=True):
                outcomes[place] = answer
            settled = [outcome for outcome in outcomes if outcome is not None]
            self._journal_errors(planned, grader, asked, settled)
            if not any(_canceled(outcome) for outcome in settled):
                counted = self._counted.get(number * len(self._places) + self._places[grader.name], ())
                grade = statements_grade(grader, asking.statements, asked, settled, counted=counted)
                if grader.name in planned.canaries:
                    grade = canary_grade(grade, self._head.judges[grader.judges[0]])
                self._write(number, planned, grade)

        if not missing:
            conclude([])
            return []
        open_ = warming.sharing([asked[place] for place in missing])
        room = warming.at_once(open_)  # the others take the places of those they wait for
        await self._window.enter(room)
        return [group.create_task(self._ask(open_, warming, room, conclude))]

    def _asking(self, grader: PlannedGrader, planned: PlannedConversation) -> Asking:
        """What `grader` asks of a conversation: the same of all that bring no statements of their own."""
        plain = grader.name not in planned.statements
        if plain and grader.name in self._askings:
            return self._askings[grader.name]
        asking = Asking.of(
            grader,
            self._head.effective(grader, planned),
            models=self._models,
            limits=self._limits,
            prompt=self._head.prompts[grader.prompt].prompt(),
        )
        if plain:
            self._askings[grader.name] = asking
        return asking

    def _recalled(self, asked: Sequence[Question]) -> list[Outcome | None]:
        """What is known of each question without asking: its answer, or why it must not be asked."""
        outcomes: list[Outcome | None] = [question.refused for question in asked]
        by_judge: dict[str, list[int]] = {}
        for place, question in enumerate(asked):
            by_judge.setdefault(question.judge, []).append(place)
        for name, places in by_judge.items():
            answers = self._judges[name].recall_all([asked[place].request for place in places])
            for place, answer in zip(places, answers, strict=True):
                outcomes[place] = answer or outcomes[place]
        return outcomes

    async def _ask(self, asked: Sequence[Question], warming: Warming, room: int, conclude: _Conclude) -> None:
        try:
            answers = await together(
                warming.ask(self._judges[question.judge], question) for question in asked
            )
            conclude(answers)
        finally:
            self._window.leave(room)

    def _write(self, number: int, planned: PlannedConversation, grade: GradeRow) -> None:
        if not self._wrote:
            self._wrote = True
            self._run.forget_results()
        row = {"conversation_id": planned.id, "number": number, "grade": grade}
        self._grades.append(json_line(row))
        self._watch.graded(grade)

    def _journal_errors(
        self,
        planned: PlannedConversation,
        grader: PlannedGrader,
        asked: Sequence[Question],
        outcomes: Sequence[Outcome],
    ) -> None:
        for question, outcome in zip(asked, outcomes, strict=True):
            if isinstance(outcome, Answer) and outcome.source != "live":
                continue
            for attempt in outcome.attempts:
                if attempt.cause is None:
                    continue
                row = {
                    "at": datetime.now(UTC).isoformat(timespec="seconds"),
                    "conversation_id": planned.id,
                    "grader": grader.name,
                    "unit": question.request.unit,
                    "verdict_key": question.request.key,
                    "cause": attempt.cause,
                    "message": attempt.message,
                    "status": attempt.status,
                    "seconds": round(attempt.seconds, 3),
                    "waited": round(attempt.waited, 3),
                    "raw": attempt.raw,
                }
                self._errors.append(json_line(row))


class _Conclude(Protocol):
    def __call__(self, answers: Sequence[Outcome], /) -> None: ...


class _Window:
    """At most so many questions open at a time; a conversation with more than that goes alone."""

    def __init__(self, size: int) -> None:
        self._size, self._open = size, 0
        self._room = asyncio.Event()

    async def enter(self, questions: int) -> None:
        while self._open and self._open + questions > self._size:
            self._room.clear()
            await self._room.wait()
        self._open += questions

    def leave(self, questions: int) -> None:
        self._open -= questions
        self._room.set()


def _journalled(
    run: Run, plan: Plan, places: Mapping[str, int]
) -> tuple[bytearray, dict[int, frozenset[str]]]:
    """For each conversation and grader, whether its latest grade has a score.

    And, where it has none, the keys of the answers that its grades so far have counted.
    """
    done = bytearray(plan.tail.conversation_count * len(places))
    counted: dict[int, frozenset[str]] = {}
    with undamaged(run.file(GRADES)):
        for line in whole_lines(run.file(GRADES)):
            row = orjson.loads(line)
            place = row["number"] * len(places) + places[row["grade"]["grader"]]
            done[place] = row["grade"]["result"] != "errored"
            before = counted.pop(place, frozenset())
            if not done[place]:
                counted[place] = before.union(answered(row["grade"]))
    return done, counted


def _verifiers(graders: Sequence[PlannedGrader]) -> dict[str, Verifier]:
    found: dict[str, Verifier] = {}
    for grader in graders:
        if grader.type != "checks":
            continue
        path, _, function = grader.verifier.rpartition(":")
        try:
            same = digest(Path(path).read_bytes()) == grader.verifier_digest
        except OSError as error:
            raise UsageError(f"verifier {path!r} can't be read: {error.strerror}") from None
        if not same:
            raise UsageError(f"verifier {path!r} changed since this run was planned; start a new run")
        found[grader.name] = load_verifier(Path(path), function)
    return found


def _canceled(outcome: Outcome) -> bool:
    return isinstance(outcome, Failure) and outcome.cause == "canceled"


def _worst(several: BaseExceptionGroup[BaseException]) -> BaseException:
    """The one error of a group that people should see: storage before usage before anything else."""
    flat = list(_flatten(several))
    for kind in (StorageError, UsageError):
        for error in flat:
            if isinstance(error, kind):
                return error
    return flat[0]


def _flatten(error: BaseException) -> Iterator[BaseException]:
    if not isinstance(error, BaseExceptionGroup):
        yield error
        return
    for inner in cast("BaseExceptionGroup[BaseException]", error).exceptions:
        yield from _flatten(inner)
