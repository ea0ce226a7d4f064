"""What a run says at its end about how far its verdicts can be trusted: replays, labels, quotes."""

from __future__ import annotations

from pathlib import Path

from adjudge.pipeline.display import visible
from adjudge.pipeline.planning.plan import Plan
from adjudge.pipeline.rundir import Run
from adjudge.pipeline.trust.agreement import (
    agreement,
    agreement_text,
    quotes,
    quotes_text,
    sources,
)
from adjudge.pipeline.trust.labels import read_labels


def trust_text(run: Run, plan: Plan) -> str:
    """What was replayed, agreement with the suite's labels, quotes not found; ends in a newline.

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
        labels = read_labels(Path(file.path) for file in plan.head.labels)
        said += agreement_text(agreement(run.results(), labels)) + "\n"
    return said + quotes_text(quotes(run.results()))
