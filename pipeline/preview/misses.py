"""Why questions of a suite have no verdict in a cache: what is stored instead, and what differs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from adjudge.judges.ledger.ledger import Ledger
from adjudge.judges.ledger.recorded import Recordings
from adjudge.pipeline.display import visible
from adjudge.pipeline.planning.freeze import Freezing, plan_head
from adjudge.pipeline.planning.overrides import Overrides
from adjudge.pipeline.preview.nearest import why_miss
from adjudge.pipeline.preview.questions import questions_of
from adjudge.pipeline.suite.load import Suite


def explain_misses(
    suite: Suite, overrides: Overrides, cache: Path, *, conversation: str | None = None, limit: int = 5
) -> Iterator[str]:
    """Lines that explain the first `limit` misses, and count them all.

    Raises:
        UsageError: see `plan_head`.
        StorageError: the cache can't be read.
    """
    head = plan_head(suite, "why-miss", overrides)
    recordings = Recordings(suite.recorded_files)
    asked = missed = 0
    with Ledger.open(cache, read_only=True) as ledger:
        for planned, several in questions_of(head, Freezing(suite, head)):
            if conversation not in (None, planned.id):
                continue
            for _, question in several:
                asked += 1
                request = question.request
                if recordings.get(request.key) is not None or ledger.get(request.key) is not None:
                    continue
                missed += 1
                if missed <= limit:
                    found = why_miss(ledger, request.key_fields, conversation=planned.id)
                    yield f"{visible(request.unit)} ({request.key[:12]})"
                    if found.damage is not None:
                        yield f"  stored, but damaged: {visible(found.damage)}"
                    for near in found.nearest:
                        date = near.created or "unknown date"
                        yield visible(f"  {near.key[:12]} of {date}: {near.why}")
                    if question.refused is not None:
                        yield visible(f"  would not be asked: {question.refused.message}")
                    elif not found.nearest and not found.stored:
                        yield "  never asked: nothing stored shares its evidence or its statements"
    yield f"{missed} of {asked} questions have no verdict in {visible(str(cache))}"
