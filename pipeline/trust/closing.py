"""What a run says at its end about how far its verdicts can be trusted: replays, labels, quotes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from adjudge.pipeline.display import visible
from adjudge.pipeline.grade import ResultRow
from adjudge.pipeline.reports.doubts import Doubts, doubts
from adjudge.pipeline.rundir import Run
from adjudge.pipeline.trust.labels import read_labels
from adjudge.pipeline.trust.quotes import Quotes, quotes, statements

if TYPE_CHECKING:
    from adjudge.pipeline.planning.plan import Plan


def trust_text(run: Run, plan: Plan) -> str:
    """What was replayed, agreement with the suite's labels, quotes not found, votes that differ, windows.

    Raises:
        UsageError: a label file can't be read.
    """
    said = "Trust\n\n"
    replayed = sources(run.results())["recorded"]
    if replayed:
        models = sorted({spec.model for spec in plan.head.judges.values()})
        said += (
            f"  {replayed} verdicts were recorded from {visible(', '.join(models))} and are replayed: "
            "no model was asked.\n"
            "  To ask a live judge: --judge openai/MODEL, --judge anthropic/MODEL, --judge ollama/MODEL,\n"
            "  or any OpenAI-compatible server with --judge openai/MODEL --api-base URL.\n\n"
        )
    if plan.head.labels:
        from adjudge.pipeline.reports.agreement import short_text
        from adjudge.pipeline.trust.agreement import agreement
        from adjudge.pipeline.trust.matching import Labels, judged

        labels = Labels.of(read_labels(Path(file.path) for file in plan.head.labels))
        evidence = (planned.evidence for planned in plan.conversations())
        found = agreement(judged(zip(run.results(), evidence, strict=False), labels))
        said += short_text(found, 0.95) + "\n"
    return said + verdicts_text(run)


def verdicts_text(run: Run) -> str:
    """What the verdicts themselves show: quotes not found, votes that differ, windows; ends in a newline."""
    return quotes_text(quotes(run.results())) + doubts_text(doubts(run.results()))


def doubts_text(found: Doubts) -> str:
    """Votes that differ and windows, in words; empty where there are none, else ends in a newline."""
    said = [
        (found.split, "have votes that differ; `adjudge review` filters them by low agreement"),
        (found.windowed, "were judged window by window, since the conversation is long"),
    ]
    lines = [f"  {count} of {found.statements} statements {text}\n" for count, text in said if count]
    return "".join([*lines, *(f"  {text}\n" for text in substitutions(found))])


def substitutions(found: Doubts) -> list[str]:
    """Which model answered in place of which, and how often (F16)."""
    return [
        f"{count} statements were decided by {visible(served)} in place of {visible(asked)}"
        for (asked, served), count in found.substituted.items()
    ]


def sources(rows: Iterable[ResultRow]) -> Counter[str]:
    """How many statements were decided by live calls, the cache and recordings."""
    return Counter(statement["source"] for _, _, statement in statements(rows) if statement["source"])


def quotes_text(found: Quotes, listed: int = 5) -> str:
    """Unverified quotes in words; ends in a newline, or empty where nothing was quoted."""
    if not found.cited:
        return ""
    lines = [f"  {len(found.missing)} of {found.cited} quotes were not found in the turn they name"]
    lines += [
        f"    {visible(conversation)} {visible(statement)}, turn {turn}: {visible(quote)[:90]!r}"
        for conversation, statement, turn, quote in found.missing[:listed]
    ]
    if len(found.missing) > listed:
        lines.append(f"    and {len(found.missing) - listed} more")
    return "\n".join(lines) + "\n"
