"""What is wrong with a suite file, shown with the place in the file and a caret under it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from adjudge.judges.failure import UsageError
from adjudge.judges.redact import masked

MAX_SHOWN = 50
_LINE_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
_SHOWN_WIDTH = 100
_MASKED_BEFORE = 1000  # characters of the line before what is shown that may name a secret in it
_MESSAGE_WIDTH = 1000


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Problem:
    """One thing wrong with a file.

    Attributes:
        line: number of the line, from 1; 0 where the file as a whole is meant.
        column: number of the character in that line, from 1; 0 with line 0.
        message: what is wrong and what to do, in one line.
        secret: what stands there may be a secret: the line is shown up to it.
    """

    line: int = 0
    column: int = 0
    message: str
    secret: bool = False


class SuiteError(UsageError):
    """A suite that can't be used. Its text lists every problem found, each with its place in the file."""

    def __init__(self, path: str, text: str, problems: Iterable[Problem]) -> None:
        """List `problems` of the file `path`, whose content is `text`, in the order of the file."""
        self.path = path
        self.problems: Sequence[Problem] = tuple(sorted(set(problems)))
        lines = _LINE_BREAK.split(text)
        shown = [_shown(path, lines, problem) for problem in self.problems[:MAX_SHOWN]]
        if len(self.problems) > MAX_SHOWN:
            shown.append(f"{path}: {len(self.problems) - MAX_SHOWN} more problems, not listed")
        super().__init__("\n".join(shown))


def _shown(path: str, lines: Sequence[str], problem: Problem) -> str:
    message = problem.message
    if len(message) > _MESSAGE_WIDTH:
        message = f"{message[:_MESSAGE_WIDTH]}..."
    if not 1 <= problem.line <= len(lines):
        return f"{path}: {message}"
    source = lines[problem.line - 1]
    caret = min(problem.column - 1, len(source))
    start = max(0, caret - _SHOWN_WIDTH * 3 // 4)
    before = max(0, start - _MASKED_BEFORE)
    excerpt = masked(source[before : start + _SHOWN_WIDTH])[start - before :]
    excerpt = excerpt[: caret - start] if problem.secret else excerpt
    excerpt = "".join(c if c.isprintable() else " " for c in excerpt)
    return (
        f"{path}:{problem.line}:{problem.column}: {message}\n"
        f"    {excerpt.rstrip()}\n"
        f"    {' ' * (caret - start)}^"
    )
