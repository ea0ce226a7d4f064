"""Carry out a run: open what it needs, grade what is missing, conclude. Used by the command line and the API."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from adjudge.judges.bench import Bench
from adjudge.judges.failure import UsageError
from adjudge.judges.governor import GovernorState
from adjudge.judges.ledger import Ledger
from adjudge.judges.recorded import Recordings
from adjudge.judges.request import digest
from adjudge.judges.wallet import Wallet
from adjudge.pipeline.conclude import Latest, conclude
from adjudge.pipeline.grade import GradeRow, SummaryRow
from adjudge.pipeline.grading import Leg
from adjudge.pipeline.plan import Plan, PlannedFile
from adjudge.pipeline.rundir import RESULTS, SUMMARY, Run

GRACE_SECONDS = 10.0
"""How long calls in flight may take to finish after the first SIGINT or SIGTERM."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Where verdicts come from.

    Attributes:
        cache: directory of the verdict cache.
        offline: answer from recordings and the cache alone (C11).
        refresh: ask again what was answered before this run (C8).
    """

    cache: Path
    offline: bool = False
    refresh: bool = False


class Audience(Protocol):
    """Whoever watches a run: told of grades as they are made, and able to ask what the judges are doing."""

    def graded(self, grade: GradeRow, /) -> None:
        """One grade was made."""
        ...

    def finished(self, conversations: int, /) -> None:
        """So many more conversations are done."""
        ...


class Nobody:
    """An audience of none."""

    def graded(self, grade: GradeRow, /) -> None:
        """Nothing."""

    def finished(self, conversations: int, /) -> None:
        """Nothing."""
