"""What `run` and `resume` do within a step of GitHub Actions."""

from __future__ import annotations

import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from adjudge.pipeline.files import storage
from adjudge.pipeline.grade import SummaryRow
from adjudge.pipeline.rundir import Run


def at_github() -> bool:
    """Whether this is a step of GitHub Actions."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


@contextmanager
def no_commands(stream: TextIO) -> Generator[None]:
    """Let GitHub take no line of the step's output for a command meanwhile: others wrote what it shows."""
    token = secrets.token_hex(16)
    stream.write(f"::stop-commands::{token}\n")
    stream.flush()
    try:
        yield
    finally:
        stream.write(f"::{token}::\n")
        stream.flush()


def report_to_github(run: Run, summary: SummaryRow, stream: TextIO) -> None:
    """Write annotations to `stream`, and add the report to the step's summary where there is one.

    Raises:
        StorageError: the summary can't be written.
    """
    from adjudge.pipeline.reports.github import commands, step_summary

    stream.writelines(commands(summary, run.results()))
    named = os.environ.get("GITHUB_STEP_SUMMARY")
    if named:
        path = Path(named)
        with storage(path, "write"), path.open("a", encoding="utf-8") as file:
            file.write(step_summary(summary, run.results))
