"""A run for GitHub Actions: annotations as workflow commands, and a step summary in Markdown."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from adjudge.pipeline.aggregate import failing, items, missing_graders, score_of
from adjudge.pipeline.display import block, visible
from adjudge.pipeline.grade import GradeRow, ResultRow, SummaryRow
from adjudge.pipeline.reports.markdown import write_markdown
from adjudge.pipeline.reports.text import not_graded, reward, threshold

SHOWN = 10
"""Annotations of one level that GitHub shows of a step; the last one says how many more there are."""

SUMMARY_BYTES = 1_000_000
"""GitHub refuses a step summary above 1 MiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Annotation:
    level: str
    title: str
    message: str

    def __str__(self) -> str:
        title = _escaped(visible(self.title)).replace(":", "%3A").replace(",", "%2C")
        return f"::{self.level} title={title}::{_escaped(block(self.message))}\n"


def commands(summary: SummaryRow, rows: Iterable[ResultRow]) -> Iterator[str]:
    """Workflow commands, a line each: what failed, what errored (apart), what was not graded, the policy.

    Grades that gate are errors, others warnings. No text from outside can end its command or begin another.
    """
    counts: dict[str, int] = {}
    last: dict[str, _Annotation] = {}
    for one in _all(rows):
        counts[one.level] = counts.get(one.level, 0) + 1
        if counts[one.level] < SHOWN:
            yield str(one)
        last[one.level] = one
    for level, count in counts.items():
        if count == SHOWN:
            yield str(last[level])
        elif count > SHOWN:
            more = f"{count - SHOWN + 1} more: `adjudge show` lists them all"
            yield str(_Annotation(level=level, title="and more", message=more))
    policy = summary["policy"]
    title = f"policy {policy['name']}: {policy['result'].replace('_', ' ')}"
    yield str(_Annotation(level="notice", title=title, message="\n".join(policy["reasons"])))


def step_summary(
    summary: SummaryRow, rows: Callable[[], Iterable[ResultRow]], limit: int = SUMMARY_BYTES
) -> str:
    """The Markdown report, cut before the conversation with which it would be larger than `limit` bytes."""
    stream = _Bounded(limit)
    try:
        write_markdown(summary, rows, stream)
    except _FullError:
        whole = stream.getvalue()
        kept = whole[: max(0, whole.rfind("\n## "))]
        return f"{kept}\n\nThe report is cut here: a step summary takes no more. `adjudge show` has all.\n"
    return stream.getvalue()


class _FullError(Exception):
    """No more fits."""


class _Bounded(io.StringIO):
    def __init__(self, limit: int) -> None:
        super().__init__()
        self._left = limit

    def write(self, text: str, /) -> int:
        self._left -= len(text.encode())
        if self._left < 0:
            raise _FullError
        return super().write(text)

    def writelines(self, lines: Iterable[str], /) -> None:
        for line in lines:
            self.write(line)


def _all(rows: Iterable[ResultRow]) -> Iterator[_Annotation]:
    for row in rows:
        for grade in row["grades"]:
            if grade["result"] != "passed":
                yield _of_grade(row, grade)
        for name in missing_graders(row):
            title = f"not graded: {name}, {row['conversation_id']}"
            message = ": ".join(part for part in (not_graded(row), row["error"]) if part)
            yield _Annotation(level="error", title=title, message=message)


def _of_grade(row: ResultRow, grade: GradeRow) -> _Annotation:
    level = "error" if grade["gating"] else "warning"
    title = f"{grade['result']}: {grade['grader']}, {row['conversation_id']}"
    if grade["result"] == "errored":
        error = grade["error"]
        said = f"{error['cause']}: {error['message']}" if error else "no score and no cause"
        undecided = [item.label for item in items(grade) if item.passed is None]
        return _Annotation(level=level, title=title, message="\n".join([said, *undecided]))
    score = f"score {reward(score_of(grade))}, threshold {threshold(grade)}; not met:"
    return _Annotation(
        level=level, title=title, message="\n".join([score, *(item.label for item in failing(grade))])
    )


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
