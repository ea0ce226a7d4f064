"""From a suite to a plan: everything that decides a run, frozen before anything is judged (P1)."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from adjudge.judges.calling.access import refuse_secrets, refuse_typos
from adjudge.judges.calling.families import resolved
from adjudge.judges.failure import UsageError
from adjudge.judges.prompt import load_prompt
from adjudge.judges.request import SCHEMA_VERSION, Evidence, Model, Prompt, canonical_json, digest
from adjudge.judges.room import known_media, known_windows
from adjudge.pipeline.conversation import Conversation, StatementSpec
from adjudge.pipeline.evidence import EvidenceOptions, render, render_for
from adjudge.pipeline.explain import unknown
from adjudge.pipeline.files import Journal, storage, whole_lines
from adjudge.pipeline.planning.canary import canary_graders
from adjudge.pipeline.planning.overrides import Overrides
from adjudge.pipeline.planning.plan import (
    Plan,
    PlanHead,
    PlannedConversation,
    PlannedFile,
    PlannedGrader,
    PlannedPrompt,
    PlannedStatement,
    ReadFile,
    Tail,
    UnreadableRecord,
)
from adjudge.pipeline.readers.several import read_files
from adjudge.pipeline.readers.source import Unreadable
from adjudge.pipeline.rundir import CONVERSATIONS, PLAN, Run, new_run_id, planning
from adjudge.pipeline.suite.load import ChecksGrader, JudgeSpec, StatementsGrader, Suite
from adjudge.pipeline.trust.labels import read_labels
from adjudge.pipeline.trust.requirement import Requirement

PACKAGES = ("adjudge", "litellm", "pydantic", "tenacity", "diskcache", "aiohttp")
LISTED_UNREADABLE = 1000


def plan_run(suite: Suite, home: Path, overrides: Overrides | None = None) -> Run:
    """Freeze `suite` into a new run directory: the plan, and the conversations it will grade.

    Raises:
        UsageError: something the suite names can't be used.
        StorageError: the run can't be written; nothing is left behind.
    """
    overrides = overrides or Overrides()
    run_id = new_run_id()
    head = plan_head(suite, run_id, overrides)
    with planning(home, run_id) as draft:
        rows = draft / ".rows"
        frozen = Freezing(suite, head)
        with Journal(draft / CONVERSATIONS) as copies, Journal(rows) as planned:
            for conversation, row in frozen.conversations(overrides.limit):
                copies.append(conversation.model_dump_json(exclude_defaults=True).encode())
                planned.append(row.model_dump_json(exclude_defaults=True).encode())
        Plan.write(draft / PLAN, head, frozen.tail(), whole_lines(rows))
        with storage(rows, "remove"):
            rows.unlink()
    return Run(home / "runs" / run_id)


def plan_head(suite: Suite, run_id: str, overrides: Overrides) -> PlanHead:
    """Everything of the plan but the conversations.

    Raises:
        UsageError: an unknown grader or judge, an address that holds a secret, a prompt or labels that can't
            be used.
    """
    for _ in read_labels(suite.label_files):
        pass  # what is wrong with labels is better known before anything is asked
    judges = _with_windows({name: _resolved(name, spec) for name, spec in overrides.judges(suite).items()})
    if suite.evidence.media == "pass":
        judges = _with_media(judges)
    names = [grader.name for grader in suite.graders]
    for name in overrides.graders:
        if name not in names:
            raise UsageError(f"--grader: {unknown('grader', name, names)}")
    chosen = [
        overrides.grader(grader)
        for grader in suite.graders
        if not overrides.graders or grader.name in overrides.graders
    ]
    prompts = {
        grader.name: load_prompt("judge" if grader.prompt is None else suite.resolve(grader.prompt))
        for grader in chosen
        if isinstance(grader, StatementsGrader)
    }
    by_digest = {prompt.digest: prompt for prompt in prompts.values()}
    budget = {"max_calls": overrides.max_calls, "max_cost_usd": overrides.max_cost_usd}
    graders = [_planned_grader(suite, grader, judges, prompts) for grader in chosen]
    return PlanHead(
        run_id=run_id,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        suite=suite.name,
        suite_path=str(suite.path),
        suite_digest=suite.digest,
        suite_text=suite.text,
        graders=graders,
        canaries=canary_graders(judges, graders),
        judges=judges,
        prompts={
            key: PlannedPrompt(name=p.name, system=p.system, user=p.user, digest=p.digest)
            for key, p in by_digest.items()
        },
        evidence=suite.evidence,
        policy=suite.policy,
        budget=suite.budget.model_copy(update={k: v for k, v in budget.items() if v is not None}),
        recorded=[_planned_file(path) for path in suite.recorded_files],
        labels=[_planned_file(path) for path in suite.label_files],
        not_admitted=list(_not_admitted(suite, judges, graders)),
        packages=_packages(),
        refresh=overrides.refresh,
    )


@dataclass(slots=True)
class Freezing:
    """Reads a suite's conversations once and says of each what will be graded of it."""

    suite: Suite
    head: PlanHead
    count: int = 0
    unreadable: int = 0
    listed: list[UnreadableRecord] = field(default_factory=list[UnreadableRecord])
    asked: set[str] = field(default_factory=set[str])
    tests: set[str | None] = field(default_factory=set[str | None])
    read: list[ReadFile] = field(default_factory=list[ReadFile])
    stopped: bool = False

    def conversations(self, limit: int | None = None) -> Iterator[tuple[Conversation, PlannedConversation]]:
        """Each conversation with its row of the plan; what can't be read is kept for `tail`.

        Raises:
            UsageError: a file can't be read at all, or its format is not known.
        """
        seen: set[bytes] = set()
        graders = {grader.name: grader for grader in self.head.graders}
        options = self.head.evidence_options()
        for reading in read_files(self.suite.conversation_files):
            graded, refused = self.count, self.unreadable
            for found in reading.records:
                if limit is not None and self.count >= limit:
                    self.stopped = True
                    break
                if isinstance(found, Unreadable):
                    self._refuse(found.file, found.line, found.reason)
                    continue
                mark = blake2b(found.id.encode(), digest_size=8).digest()
                reason = f"duplicate id {found.id!r}" if mark in seen else ""
                seen.add(mark)
                try:
                    row = None if reason else self._row(found, graders, options)
                except ValueError as error:
                    row, reason = None, str(error)
                if row is None:
                    self._refuse(str(reading.files[0]), found.line, reason)
                    continue
                self.count += 1
                self.tests.add(found.test)
                yield found, row
            self.read.append(
                ReadFile(
                    files=[str(file) for file in reading.files],
                    format=reading.format,
                    conversations=self.count - graded,
                    unreadable=self.unreadable - refused,
                )
            )
            if self.stopped:
                return

    def tail(self) -> Tail:
        """What is known once all conversations were read."""
        return Tail(
            conversation_count=self.count,
            unused_tests=self.unused_tests,
            unreadable_count=self.unreadable,
            unreadable=self.listed,
            read=self.read,
        )

    @property
    def unused_tests(self) -> list[str]:
        """Tests of the suite that no conversation ran, likely misspelt; none where not all were read."""
        return [] if self.stopped else [name for name in self.suite.tests if name not in self.tests]

    def _refuse(self, file: str, line: int | None, reason: str) -> None:
        self.unreadable += 1
        if len(self.listed) < LISTED_UNREADABLE:
            self.listed.append(UnreadableRecord(file=file, line=line, reason=reason))

    def _row(
        self, conversation: Conversation, graders: Mapping[str, PlannedGrader], options: EvidenceOptions
    ) -> PlannedConversation:
        _check_names(conversation, self.suite)
        test = self.suite.tests.get(conversation.test or "")
        wanted = conversation.graders
        if wanted is None and test is not None:
            wanted = test.graders
        selected = [name for name in graders if wanted is None or name in wanted]
        extras = {
            name: _extra_statements(graders[name], conversation, test.statements if test else {})
            for name in selected
            if graders[name].type == "statements"
        }
        judged = conversation.status == "completed" and bool(extras)
        evidence = render(conversation, options) if judged else None
        return PlannedConversation(
            id=conversation.id,
            test=conversation.test,
            title=test.title if test else None,
            rollout=conversation.rollout,
            status=conversation.status,
            termination_reason=conversation.termination_reason,
            agent_pov_incomplete=conversation.agent_pov_incomplete,
            agent_output=conversation.final_text,
            error=conversation.error,
            tool_calls=sum(len(message.tool_calls) for message in conversation.shown),
            tool_errors=conversation.tool_errors,
            evidence=evidence.digest if evidence else "",
            left_out=self._left_out(conversation, evidence, options) if evidence else [],
            graders=selected,
            statements={name: statements for name, statements in extras.items() if statements},
            canaries=list(self._canaries(graders[name] for name in extras)) if judged else [],
        )

    def _left_out(
        self, conversation: Conversation, evidence: Evidence, options: EvidenceOptions
    ) -> list[str]:
        """What any judge is not shown."""
        if not evidence.media:
            return list(evidence.left_out)
        shown = render_for(conversation, options, self.head.takes()).values()
        return list(dict.fromkeys(line for each in shown for line in each.left_out))

    def _canaries(self, graders: Iterable[PlannedGrader]) -> Iterator[str]:
        """The canaries of judges that `graders` ask, and that nobody has asked before."""
        judges = {judge for grader in graders for judge in grader.judges}
        for canary in self.head.canaries:
            if canary.name not in self.asked and judges.intersection(canary.judges):
                self.asked.add(canary.name)
                yield canary.name


def _planned_grader(
    suite: Suite,
    grader: StatementsGrader | ChecksGrader,
    judges: Mapping[str, JudgeSpec],
    prompts: Mapping[str, Prompt],
) -> PlannedGrader:
    if isinstance(grader, ChecksGrader):
        file, _, function = grader.verifier.rpartition(":")
        path = suite.resolve(file).resolve()
        file_digest = digest(path.read_bytes())
        return PlannedGrader(
            name=grader.name,
            type="checks",
            version=_version({"type": "checks", "verifier": file_digest, "function": function}),
            threshold=grader.threshold,
            gating=grader.gating,
            verifier=f"{path}:{function}",
            verifier_digest=file_digest,
        )
    statements = [planned_statement(statement) for statement in grader.statements or []]
    prompt = prompts[grader.name]
    asked = [judges[name] for name in grader.judges]
    what: dict[str, Any] = {
        "type": "statements",
        "statements": [statement.text for statement in statements],
        "judges": [[j.model, j.api_base, j.output, dict(j.params)] for j in asked],
        "samples": grader.samples,
        "calls": grader.calls,
        "undetermined": grader.undetermined,
        "citations": grader.citations,
        "prompt": prompt.digest,
        "schema": SCHEMA_VERSION,
    }
    if grader.overflow == "windows":
        what["windows"] = [
            [judge.window for judge in asked],
            [statement.over_windows for statement in statements],
        ]
    return PlannedGrader(
        name=grader.name,
        type="statements",
        version=_version(what),
        threshold=grader.threshold,
        gating=grader.gating,
        judges=grader.judges,
        samples=grader.samples,
        calls=grader.calls,
        undetermined=grader.undetermined,
        citations=grader.citations,
        overflow=grader.overflow,
        prompt=prompt.digest,
        statements=statements,
    )


def _resolved(name: str, spec: JudgeSpec) -> JudgeSpec:
    """`spec` with the address that the environment names for its provider: it is part of the key (C6).

    Raises:
        UsageError: the address or a parameter holds a secret.
    """
    model = resolved(Model(name=spec.model, api_base=spec.api_base, params=spec.params), os.environ)
    refuse_secrets(f"judge {name!r}", model)
    refuse_typos(f"judge {name!r}", model)
    return spec.model_copy(update={"api_base": model.api_base})


def _with_windows(judges: Mapping[str, JudgeSpec]) -> dict[str, JudgeSpec]:
    """The judges, each with the window the suite gives it, else with what is known of its model (J7)."""
    known = known_windows(
        {
            name: Model(name=spec.model, params=spec.params)
            for name, spec in judges.items()
            if spec.window is None
        }
    )
    return {
        name: spec.model_copy(update={"window": known[name]}) if name in known else spec
        for name, spec in judges.items()
    }


def _with_media(judges: Mapping[str, JudgeSpec]) -> dict[str, JudgeSpec]:
    """The judges, each with the media the suite says it takes, else with what litellm lists of its model."""
    known = known_media({name: Model(name=s.model) for name, s in judges.items() if s.media is None})
    return {
        name: spec.model_copy(update={"media": known[name]}) if name in known else spec
        for name, spec in judges.items()
    }


def _not_admitted(
    suite: Suite, judges: Mapping[str, JudgeSpec], graders: Sequence[PlannedGrader]
) -> Iterator[str]:
    """What speaks against the judges that are asked and have to be admitted, in words."""
    for name, spec in judges.items():
        asking = [grader for grader in graders if name in grader.judges]
        if spec.admitted_by is None or not asking:
            continue
        from adjudge.pipeline.trust.admission import identity, not_admitted, read_record

        path = suite.resolve(spec.admitted_by)
        if not path.exists():
            yield (
                f"judge {name!r}: there is no {spec.admitted_by!r} yet; label verdicts of this run, then "
                f"`adjudge agreement RUN --labels FILE --write {spec.admitted_by}`"
            )
            continue
        required = [Requirement.parse(text) for text in spec.admitted_if]
        for said in not_admitted(name, identity(spec, asking), read_record(path), required):
            yield f"judge {name!r}: {said}"


def _version(what: dict[str, Any]) -> str:
    return digest(canonical_json(what))[:16]


def planned_statement(statement: StatementSpec | str) -> PlannedStatement:
    """A statement as the plan freezes it; a bare sentence has no flags."""
    if isinstance(statement, str):
        return PlannedStatement(text=statement)
    return PlannedStatement(
        text=statement.text, required=statement.required, over_windows=statement.over_windows
    )


def _planned_file(path: Path) -> PlannedFile:
    with storage(path, "read"):
        return PlannedFile(path=str(path.resolve()), digest=digest(path.read_bytes()))


def _packages() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def _check_names(conversation: Conversation, suite: Suite) -> None:
    """Refuse a conversation that speaks of graders the suite doesn't have.

    Raises:
        ValueError: naming the grader.
    """
    types = {grader.name: grader.type for grader in suite.graders}
    for name in [*(conversation.graders or []), *conversation.statements]:
        if name not in types:
            raise ValueError(unknown("grader", name, types))
    for name in conversation.statements:
        if types[name] == "checks":
            raise ValueError(f"grader {name!r} is of type checks, so it takes no statements")


def _extra_statements(
    grader: PlannedGrader, conversation: Conversation, from_test: Mapping[str, Sequence[StatementSpec | str]]
) -> list[PlannedStatement]:
    """What the test and the conversation add to the grader's own statements.

    Raises:
        ValueError: a statement stands twice (S4).
    """
    added = [*from_test.get(grader.name, ()), *conversation.statements.get(grader.name, ())]
    extra = [planned_statement(statement) for statement in added]
    texts = [statement.text for statement in (*grader.statements, *extra)]
    twice = next((text for place, text in enumerate(texts) if text in texts[:place]), None)
    if twice is not None:
        raise ValueError(f"grader {grader.name!r} would be asked {twice!r} twice")
    return extra
