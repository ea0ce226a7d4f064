"""What `adjudge lint` does."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from adjudge.pipeline.display import json_text
from adjudge.pipeline.suite.load import load_suite


def lint(suite: Path, conversations: Sequence[Path] | None, *, strict: bool, as_json: bool) -> int:
    """Print what is to be said of a suite's statements. Returns the exit code: 1 only if `strict`.

    Raises:
        SuiteError, UsageError: the suite or its conversations can't be used.
    """
    from adjudge.pipeline.lint.suite import lint_suite
    from adjudge.pipeline.reports.lint import lint_json, lint_report

    loaded = load_suite(suite, conversations=conversations)
    seen = lint_suite(loaded)
    sys.stdout.write(json_text(lint_json(loaded.name, seen)) if as_json else lint_report(seen))
    return int(strict and bool(seen.found))
