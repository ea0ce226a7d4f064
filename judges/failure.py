"""Why a judge did not answer: one closed set of causes, and the failure that carries one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from adjudge.judges.verdict import Attempt

Cause = Literal[
    "rate_limited",
    "timeout",
    "unavailable",
    "auth",
    "quota",
    "not_found",
    "bad_request",
    "input_too_long",
    "content_filter",
    "refusal",
    "truncated",
    "malformed_output",
    "undetermined",
    "no_majority",
    "verifier_error",
    "no_required_checks",
    "no_statements",
    "budget_exhausted",
    "not_cached",
    "circuit_open",
    "canceled",
    "internal",
]
"""Every way a statement or a grade can end without a number (spec section 8)."""

TRANSIENT: frozenset[Cause] = frozenset({"rate_limited", "timeout", "unavailable"})
"""Causes worth the same request again, after a wait (C2)."""

FATAL: frozenset[Cause] = frozenset({"auth", "quota", "not_found"})
"""Causes that no further call to this judge can mend: its breaker opens for good (C2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A judge's failure, as a value. It is never a number (S5).

    Attributes:
        cause: one of `Cause`.
        message: one line for people, already redacted; names what to do where that is known.
        retryable: whether asking the same again later may succeed.
        fatal: whether the judge can answer nothing any more (C2); implies not retryable.
        changed: the judge will ask differently next time (another output mode), so that asking again at
            once is no repeat: it costs no attempt and no wait.
        retry_after: seconds the provider asked to wait, 0 or more; None when it named none.
        attempts: every request that was made, oldest first.
    """

    cause: Cause
    message: str
    retryable: bool = False
    fatal: bool = False
    changed: bool = False
    retry_after: float | None = None
    attempts: tuple[Attempt, ...] = ()

    def after(self, *earlier: Attempt) -> Failure:
        """This failure with `earlier` attempts put before its own."""
        return replace(self, attempts=(*earlier, *self.attempts))


class AdjudgeError(Exception):
    """Base of the errors a user can mend. Shown as its message alone, never as a traceback."""

    exit_code = 2


class UsageError(AdjudgeError):
    """A command line, a suite or an environment that can't be used: exit code 2."""


class StorageError(AdjudgeError):
    """A disk, a cache or a run directory that can't be read or written: exit code 4."""

    exit_code = 4
