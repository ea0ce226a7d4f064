"""`adjudge labels`: people's labels from and to other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from adjudge.pipeline.cli.options import DEFAULT_HOME, Home

app = typer.Typer(no_args_is_help=True, help="Bring people's labels in, and take them out.")

Files = Annotated[list[Path], typer.Argument(metavar="FILE...", help="Labels: JSON lines, or CSV.")]


@app.command(name="import")
def import_(
    files: Files,
    *,
    to: Annotated[Path | None, typer.Option(metavar="FILE", help="[default: OUT/labels.jsonl]")] = None,
    out: Home = DEFAULT_HOME,
) -> None:
    """Add the labels of files to those of the review page.

    A CSV has the columns conversation_id, statement and label (met, not_met, undecidable; or true, false,
    yes, no, pass, fail), and may have grader, evidence, reviewer, at, note and blind.
    """
    from adjudge.pipeline.cli import agreement

    agreement.import_labels(files, to or out / "labels.jsonl")


@app.command(name="export")
def export(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILE...]", help="Labels. [default: OUT/labels.jsonl]"),
    ] = None,
    *,
    form: Annotated[Literal["csv", "jsonl"], typer.Option("--format", "-f", help="Shape.")] = "csv",
    to: Annotated[Path | None, typer.Option(metavar="FILE", help="[default: stdout]")] = None,
    out: Home = DEFAULT_HOME,
) -> None:
    """Write the last word of each reviewer about each statement."""
    from adjudge.pipeline.cli import agreement

    agreement.export_labels(files or [out / "labels.jsonl"], form, to)
