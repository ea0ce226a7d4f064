"""What a judge answered: verdicts with their citations, usage and provenance."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from adjudge.judges.failure import Cause

Decision = Literal["met", "not_met", "undetermined"]
Source = Literal["live", "cache", "recorded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A quote the judge rests its decision on.

    Attributes:
        turn: number of the cited turn, from 1.
        quote: the words cited, as the judge wrote them.
        verified: whether code found the quote in that turn (J6).
    """

    turn: int
    quote: str
    verified: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A judge's validated answer about one statement (J1): no score, no pass, no threshold."""

    decision: Decision
    rationale: str
    citations: tuple[Citation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one or more calls. None is unknown, never 0.

    Attributes:
        input_tokens: prompt tokens, cached ones included.
        output_tokens: completion tokens, reasoning included.
        cached_input_tokens: those of `input_tokens` that the provider served from its prefix cache.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One request on the wire (C1).

    Attributes:
        cause: why it gave no verdict; None for the attempt that did.
        message: one redacted line on what happened; empty for the attempt that did.
        status: HTTP status, or None where none arrived.
        seconds: monotonic duration, 0 or more.
        waited: seconds spent waiting before it (back-off, gate, breaker, a free slot), 0 or more.
        raw: the reply's text, bounded and redacted, kept for whoever reads an errored grade.
        usage: tokens it cost; a reply that fails validation was paid for all the same.
        cost_usd: US dollars, or None when unknown.
        served_model: the model the provider says answered.
    """

    cause: Cause | None = None
    message: str = ""
    status: int | None = None
    seconds: float = 0.0
    waited: float = 0.0
    raw: str | None = None
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = None
    served_model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The unit of work a verdict was first obtained for, so that a resumed run knows its own calls.

    Attributes:
        run: run id.
        unit: what the call was made for: conversation, grader, statement, judge and sample.
    """

    run: str
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One valid reply: exactly one verdict for every statement asked, in their order.

    Attributes:
        verdicts: one a statement, in the order of `JudgeRequest.statements`.
        attempts: every request it took, the successful one last.
        source: where it came from in this run.
        origin: the unit it was first obtained for; None where unknown (imported, recorded).
        created: when it was obtained, ISO 8601 UTC; empty until stored.
    """

    verdicts: tuple[Verdict, ...]
    attempts: tuple[Attempt, ...]
    source: Source = "live"
    origin: Origin | None = None
    created: str = ""

    @property
    def served_model(self) -> str | None:
        """The model the provider says answered, or None."""
        return self.attempts[-1].served_model if self.attempts else None
