"""The plan: the frozen copy of everything that decides a run (P1). Read and written as `plan.json`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import repeat
from pathlib import Path
from typing import Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from adjudge.judges.failure import StorageError
from adjudge.judges.media import MediaKind
from adjudge.judges.request import Calls, Model, Prompt
from adjudge.pipeline.conversation import Overflow, OverWindows, Status
from adjudge.pipeline.evidence import EvidenceOptions
from adjudge.pipeline.files import storage, whole_file
from adjudge.pipeline.grade import GraderType
from adjudge.pipeline.suite.load import Budget, EvidenceSpec, JudgeSpec, Policy

PLAN_FORMAT = "adjudge-plan/1"
_ROWS_BEGIN = b'\n "conversations": [\n'
_ROWS_END = b" ]\n}\n"


class _Frozen(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class PlannedStatement(_Frozen):
    """A statement as frozen: its text, whether a grade fails without it (S3), how windows decide it (J7)."""

    text: str
    required: bool = False
    over_windows: OverWindows | None = None


class PlannedGrader(_Frozen):
    """A grader as frozen. `version` digests what makes its verdicts; thresholds and flags are beside it."""

    name: str
    type: GraderType
    version: str
    threshold: float
    gating: bool
    judges: list[str] = Field(default_factory=list[str])
    samples: int = 1
    calls: Calls = "per_statement"
    undetermined: Literal["errored", "not_met"] = "errored"
    citations: Literal["verify", "require"] = "verify"
    overflow: Overflow = "errored"
    prompt: str = ""
    statements: list[PlannedStatement] = Field(default_factory=list[PlannedStatement])
    verifier: str = ""
    verifier_digest: str = ""


class PlannedPrompt(_Frozen):
    """A prompt's text as frozen."""

    name: str
    system: str
    user: str
    digest: str

    def prompt(self) -> Prompt:
        """The prompt to fill."""
        return Prompt(name=self.name, system=self.system, user=self.user, digest=self.digest)


class PlannedFile(_Frozen):
    """A file the run reads, with the SHA-256 it had when planned."""

    path: str
    digest: str


class UnreadableRecord(_Frozen):
    """A record that could not be read. The others are graded; the run can't pass."""

    file: str
    line: int | None
    reason: str


class ReadFile(_Frozen):
    """Files that conversations were read from, as one where there are several.

    Attributes:
        format: the format they were read in; None where no format recognised the file.
        conversations: how many they hold that can be graded, as far as they were read.
        unreadable: how many records of them could not be read.
    """

    files: list[str]
    format: str | None
    conversations: int
    unreadable: int


class PlannedConversation(_Frozen):
    """One conversation as frozen: what is needed to grade and to report it, without its transcript.

    Attributes:
        evidence: SHA-256 hex of the rendered evidence, as a judge that takes all its media is shown it; empty
            where no judge is shown it.
        left_out: what of the conversation the evidence doesn't show, to any of the judges, and why.
        graders: names of the graders selected for it, in plan order.
        statements: by grader, what its test and itself add to the grader's own statements.
        canaries: names of the canaries asked of it; what they answer is no result of it.
    """

    id: str
    test: str | None = None
    title: str | None = None
    rollout: int | None = None
    status: Status = "completed"
    termination_reason: str | None = None
    agent_pov_incomplete: bool | None = None
    agent_output: str = ""
    error: str | None = None
    tool_calls: int = 0
    tool_errors: int = 0
    evidence: str = ""
    left_out: list[str] = Field(default_factory=list[str])
    graders: list[str] = Field(default_factory=list[str])
    statements: dict[str, list[PlannedStatement]] = Field(default_factory=dict[str, list[PlannedStatement]])
    canaries: list[str] = Field(default_factory=list[str])

    @property
    def gradable(self) -> bool:
        """Whether it has a completed trace (S9)."""
        return self.status == "completed"


class PlanHead(_Frozen):
    """Everything of a plan but its conversations.

    `not_admitted` says what speaks against judges that the suite wants admitted (`judges.NAME.admitted_by`).
    """

    format: Literal["adjudge-plan/1"] = PLAN_FORMAT
    run_id: str
    created: str
    suite: str
    suite_path: str
    suite_digest: str
    suite_text: str
    graders: list[PlannedGrader]
    canaries: list[PlannedGrader] = Field(default_factory=list[PlannedGrader])
    judges: dict[str, JudgeSpec]
    prompts: dict[str, PlannedPrompt]
    evidence: EvidenceSpec
    policy: Policy
    budget: Budget
    recorded: list[PlannedFile]
    labels: list[PlannedFile]
    not_admitted: list[str] = Field(default_factory=list[str])
    packages: dict[str, str]
    refresh: bool = False

    def grader(self, name: str) -> PlannedGrader:
        """The grader of that name.

        Raises:
            KeyError: if there is none.
        """
        for grader in self.graders:
            if grader.name == name:
                return grader
        raise KeyError(name)

    def models(self) -> dict[str, Model]:
        """The judges' models by judge name, as they enter requests and keys."""
        return {
            name: Model(name=spec.model, api_base=spec.api_base, params=spec.params, output=spec.output)
            for name, spec in self.judges.items()
        }

    def limits(self) -> dict[str, int]:
        """How many tokens each judge reads at once, by its name, where that is known (J7)."""
        return {name: spec.window for name, spec in self.judges.items() if spec.window is not None}

    def evidence_options(self) -> EvidenceOptions:
        """What of a conversation judges are shown."""
        return options_of(self.evidence)

    def takes(self) -> dict[str, list[MediaKind]]:
        """The media that each judge takes beside text, by its name."""
        return {name: spec.media or [] for name, spec in self.judges.items()}

    def effective(self, grader: PlannedGrader, conversation: PlannedConversation) -> list[PlannedStatement]:
        """The statements `grader` is asked about `conversation`: its own, the test's, the conversation's."""
        return [*grader.statements, *conversation.statements.get(grader.name, [])]


def options_of(evidence: EvidenceSpec) -> EvidenceOptions:
    """What of a conversation judges are shown, from a suite's `evidence`."""
    return EvidenceOptions(
        tool_results=evidence.tool_results,
        system_prompt=evidence.system_prompt,
        timestamps=evidence.timestamps,
        metadata=tuple(evidence.metadata),
        media=evidence.media,
        reasoning=evidence.reasoning,
    )


class Tail(_Frozen):
    """What is known only when all conversations were read: how many, from where, what was of no use."""

    conversation_count: int
    unused_tests: list[str] = Field(default_factory=list[str])
    unreadable_count: int
    unreadable: list[UnreadableRecord]
    read: list[ReadFile] = Field(default_factory=list[ReadFile])


class Plan:
    """A plan on disk. The head is in memory; conversations are streamed, one line each, so it stays small."""

    def __init__(self, path: Path, head: PlanHead, tail: Tail, rows_at: int) -> None:
        """Use `Plan.read`."""
        self.path, self.head, self.tail, self._rows_at = path, head, tail, rows_at

    @staticmethod
    def write(path: Path, head: PlanHead, tail: Tail, rows: Iterable[bytes]) -> Plan:
        """Write `plan.json` whole or not at all; `rows` are the conversations' JSON lines, in order.

        Raises:
            StorageError: if it can't be written.
        """
        front = {**head.model_dump(mode="json"), **tail.model_dump(mode="json")}
        with whole_file(path) as file:
            file.write(orjson.dumps(front, option=orjson.OPT_INDENT_2).removesuffix(b"\n}") + b",")
            file.write(_ROWS_BEGIN)
            separator = b"  "
            for row in rows:
                file.write(separator + row)
                separator = b",\n  "
            file.write(_ROWS_END if separator == b"  " else b"\n" + _ROWS_END)
        return Plan.read(path)

    @staticmethod
    def read(path: Path) -> Plan:
        """Read a plan's head; its conversations stay on disk.

        Raises:
            StorageError: if the file can't be read or is not a plan of this version.
        """
        with storage(path, "read"), path.open("rb") as file:
            front = b""
            for line in file:
                if b"\n" + line == _ROWS_BEGIN:
                    break
                front += line
            else:
                raise StorageError(f"{str(path)!r} is not a plan: it lists no conversations")
            rows_at = file.tell()
        try:
            values = orjson.loads(front.rstrip().removesuffix(b",") + b"}")
            tail = Tail.model_validate({name: values.pop(name) for name in Tail.model_fields})
            head = PlanHead.model_validate(values)
        except ValidationError as error:
            raise StorageError(f"{str(path)!r} is not a plan this version reads: {_first(error)}") from None
        except (KeyError, ValueError) as error:
            raise StorageError(f"{str(path)!r} is not a plan this version reads: {error}") from None
        return Plan(path, head, tail, rows_at)

    def sources(self) -> Iterator[str]:
        """The file (of several read as one: the first) that each conversation was read from, in order."""
        for read in self.tail.read:
            yield from repeat(read.files[0], read.conversations)

    def conversations(self) -> Iterator[PlannedConversation]:
        """The planned conversations, in order, read as they are needed.

        Raises:
            StorageError: if a line is damaged.
        """
        with storage(self.path, "read"), self.path.open("rb") as file:
            file.seek(self._rows_at)
            for line in file:
                row = line.strip().removesuffix(b",")
                if row == b"]":
                    return
                if not row:  # the list is empty
                    continue
                try:
                    yield PlannedConversation.model_validate_json(row)
                except ValidationError as error:
                    raise StorageError(f"{str(self.path)!r} is damaged: {_first(error)}") from None
            raise StorageError(f"{str(self.path)!r} is damaged: it ends too soon")


def _first(error: ValidationError) -> str:
    """The first thing that is wrong, in one line."""
    found = error.errors(include_url=False, include_input=False)[0]
    return ": ".join((*map(str, found["loc"]), found["msg"]))
