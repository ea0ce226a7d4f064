"""A grade and the rows it becomes in `grades.jsonl` and `results.jsonl` (spec section 8)."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from adjudge.judges.failure import Cause
from adjudge.judges.verdict import Decision
from adjudge.pipeline.scoring import GradingState, Result

GraderType = Literal["statements", "checks"]


class ErrorRow(TypedDict):
    """Why there is no number. `retryable` says whether `adjudge resume` may mend it."""

    cause: Cause
    message: str
    retryable: bool


class CitationRow(TypedDict):
    """A quote, and whether code found it in its turn (J6)."""

    turn: int
    quote: str
    verified: bool


class UsageRow(TypedDict):
    """Tokens; null is unknown, never 0."""

    input_tokens: int | None
    output_tokens: int | None
    cached_input_tokens: int | None


class WindowRow(TypedDict):
    """One window of a long conversation, and what a judge decided about it (J7).

    `window` is its number, from 1. The turns are null where it shows the agent's output alone. `cut` says of
    which turns it shows a part, and which part.
    """

    window: int
    first_turn: int | None
    last_turn: int | None
    does_not_show: list[str]
    cut: list[str]
    decision: Decision | None
    rationale: str | None
    error: ErrorRow | None
    cached: bool
    verdict_key: str


class VoteRow(TypedDict):
    """One juror's or one sample's vote on a statement (J8). `windows`, and then no key, if it saw windows."""

    judge: str
    model: str
    sample: int
    decision: Decision | None
    rationale: str | None
    error: ErrorRow | None
    cached: bool
    verdict_key: str | None
    windows: NotRequired[list[WindowRow]]


class StatementRow(TypedDict):
    """One statement of a `statements` grade. `counted` is false for verdicts of an errored grade (S6).

    `votes` where several judges or samples voted, `windows` where one saw the conversation in windows.
    """

    id: str
    text: str
    required: bool
    decision: Decision | None
    counted: bool
    rationale: str | None
    citations: list[CitationRow]
    error: ErrorRow | None
    cached: bool
    source: Literal["live", "cache", "recorded"] | None
    verdict_key: str | None
    judge: str
    model: str
    served_model: str | None
    attempts: int
    usage: UsageRow
    cost_usd: float | None
    votes: NotRequired[list[VoteRow]]
    windows: NotRequired[list[WindowRow]]


class CheckRow(TypedDict):
    """One check of a `checks` grade."""

    label: str
    passed: bool
    detail: str
    required: bool


class SpentRow(TypedDict):
    """What a grade cost this run: wire calls, verdicts not called for, tokens, dollars."""

    calls: int
    cached: int
    usage: UsageRow
    usage_unknown_calls: int
    cost_usd: float
    cost_unknown_calls: int


class GradeRow(TypedDict):
    """One grader on one conversation, with the threshold it was decided with (P2)."""

    grader: str
    grader_version: str
    type: GraderType
    gating: bool
    result: Result
    score: float | None
    met: int | None
    total: int | None
    threshold: float
    error: ErrorRow | None
    spent: SpentRow
    statements: NotRequired[list[StatementRow]]
    checks: NotRequired[list[CheckRow]]


class ResultRow(TypedDict):
    """One conversation: a line of `results.jsonl`.

    `missing` names the selected graders without a grade, `left_out` what of it no judge was shown.
    """

    conversation_id: str
    test: str | None
    title: str | None
    rollout: int | None
    status: Literal["completed", "failed", "canceled"]
    termination_reason: str | None
    grading_state: GradingState | None
    combined_score: float | None
    agent_pov_incomplete: bool | None
    tool_calls: int
    tool_errors: int
    agent_output: str
    error: str | None
    left_out: NotRequired[list[str]]
    grades: list[GradeRow]
    missing: NotRequired[list[str]]


class CountsRow(TypedDict):
    """How many of each there are. Grades: planned = passed + failed + errored + missing.

    `ungradable` are those of the missing grades that no resume can make: their conversation failed or was
    canceled. Earlier versions wrote no such count.
    """

    conversations: int
    grades: int
    passed: int
    failed: int
    errored: int
    missing: int
    ungradable: NotRequired[int]
    not_requested: int
    not_gradable: int
    unreadable: int
    evidence_incomplete: int


class PolicyRow(TypedDict):
    """The rule that turned the run into an exit code, and why it came out as it did."""

    name: str
    result: Literal["met", "not_met", "undecided"]
    reasons: list[str]


class AggregateRow(TypedDict):
    """A mean with its denominator and, where something is missing, what the missing part allows (S13)."""

    mean: float | None
    scored: int
    selected: int
    errored: int
    lowest: float | None
    highest: float | None


class SummaryRow(TypedDict):
    """`summary.json`."""

    run_id: str
    suite: str
    counts: CountsRow
    policy: PolicyRow
    exit_code: int
    graders: dict[str, AggregateRow]
    combined_score: AggregateRow
    calls: int
    cached: int
    usage: UsageRow
    usage_unknown_calls: int
    cost_usd: float | None
    cost_unknown_calls: int
    errors_by_cause: dict[str, int]
