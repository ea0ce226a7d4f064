"""What a run says at its end about how far its verdicts can be trusted: replays, labels, quotes, votes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from adjudge.pipeline.display import visible
from adjudge.pipeline.reports.doubts import Doubts
from adjudge.pipeline.rundir import Run
from adjudge.pipeline.trust.labels import read_labels

if TYPE_CHECKING:
    from adjudge.pipeline.planning.plan import Plan


def trust_text(run: Run, plan: Plan, found: Doubts) -> str:
    """What was replayed, agreement with the suite's labels, and `found`; empty where nothing is to be said.

    Raises:
        UsageError: a label file can't be read.
    """
    said = ""
    replayed = found.sources["recorded"]
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
        agreed = agreement(judged(zip(run.results(), evidence, strict=False), labels))
        said += short_text(agreed, 0.95) + "\n"
    return titled(said + doubts_text(found))


def titled(said: str) -> str:
    """`said` under its heading; empty where nothing is."""
    return f"Trust\n\n{said}" if said else ""


def doubts_text(found: Doubts) -> str:
    """Quotes not found, votes that differ, windows, other models; empty where there are none of these."""
    lines: list[str] = []
    if found.cited:
        lines.append(f"{found.unverified} of {found.cited} quotes were not found in the turn they name")
    lines += [
        f"  {visible(one.conversation_id)} {visible(one.place)}, turn {one.turn}: {visible(one.quote)[:90]!r}"
        for one in found.quotes
    ]
    if found.unverified > len(found.quotes):
        lines.append(f"  and {found.unverified - len(found.quotes)} more")
    for count, what in (
        (found.split, "have votes that differ; `adjudge review` filters them by low agreement"),
        (found.windowed, "were judged window by window, since the conversation is long"),
    ):
        if count:
            lines.append(f"{count} of {found.statements} statements {what}")
    return "".join(f"  {line}\n" for line in (*lines, *substitutions(found)))


def substitutions(found: Doubts) -> list[str]:
    """Which model answered in place of which, and how often (F16)."""
    return [
        f"{count} statements were decided by {visible(served)} in place of {visible(asked)}"
        for (asked, served), count in found.substituted.items()
    ]
