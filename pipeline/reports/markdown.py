"""A run as Markdown: a summary table, then every failure, error and conversation that was not graded."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TextIO

from adjudge.pipeline.aggregate import Item, failing, items, missing_graders, results_by_grader, score_of
from adjudge.pipeline.display import block, visible
from adjudge.pipeline.grade import AggregateRow, GradeRow, ResultRow, SummaryRow
from adjudge.pipeline.reports.doubts import doubts
from adjudge.pipeline.reports.run import EXIT_CODES, NEXT_STEPS, rounded
from adjudge.pipeline.reports.text import RESULT_WORDS, not_graded, reward, threshold

_BACKTICKS = re.compile("`+")


def write_markdown(summary: SummaryRow, rows: Callable[[], Iterable[ResultRow]], stream: TextIO) -> None:
    """Write a run to `stream` as Markdown.

    All text from outside stands in code spans and fenced blocks longer than any fence in it, so that it is
    shown and never read as markup, link or image.

    Args:
        summary: the run's `summary.json`.
        rows: gives the rows of `results.jsonl`, anew at each call: they are streamed three times.
        stream: where to write.
    """
    stream.write(f"# Run {code(summary['run_id'])} of {code(summary['suite'])}\n\n")
    stream.writelines(_decision(summary))
    stream.writelines(_table(summary, results_by_grader(rows())))
    stream.writelines(_errors(summary))
    stream.writelines(_trust(rows()))
    for row in rows():
        stream.writelines(_conversation(row))


def code(text: str) -> str:
    """`text` as a code span: on one line, its delimiter longer than any run of backticks in it."""
    shown = visible(text)
    if not shown.strip():
        return "(blank)"
    mark = "`" * (_longest(shown) + 1)
    edge = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{mark}{edge}{shown}{edge}{mark}"


def fenced(text: str) -> str:
    """`text` as a fenced block, its fence longer than any run of backticks in it; ends in a newline."""
    shown = block(text)
    fence = "`" * max(3, _longest(shown) + 1)
    return f"{fence}text\n{shown}\n{fence}\n"


def _longest(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)


def _cell(text: str) -> str:
    """A code span for a table. Renderers differ on how a pipe is escaped there, so it is spelt out."""
    return code(visible(text).replace("|", r"\x7c"))


def _decision(summary: SummaryRow) -> Iterator[str]:
    policy, exit_code = summary["policy"], summary["exit_code"]
    yield f"**Policy {code(policy['name'])}: {policy['result'].replace('_', ' ')}.** "
    yield f"Exit code {exit_code}: {EXIT_CODES.get(exit_code, 'unknown')}.\n\n"
    yield from (f"- {code(reason)}\n" for reason in policy["reasons"])
    yield "\n"


def _table(summary: SummaryRow, results: dict[str, Counter[str]]) -> Iterator[str]:
    yield "| Grader | Passed | Failed | Errored | Missing | Mean score | Scored | Possible |\n"
    yield "|---|--:|--:|--:|--:|--:|--:|---|\n"
    for name, aggregate in summary["graders"].items():
        counts = [results.get(name, Counter[str]())[word] for word in ("passed", "failed", "errored")]
        counts.append(aggregate["selected"] - sum(counts))
        numbers = "".join(f"| {count} / {aggregate['selected']} " for count in counts)
        yield f"| {_cell(name)} {numbers}{_mean(aggregate)}"
    yield f"| combined score | | | | {_mean(summary['combined_score'])}\n"


def _mean(aggregate: AggregateRow) -> str:
    complete = aggregate["scored"] == aggregate["selected"]
    span = "" if complete else f"{rounded(aggregate['lowest'])} to {rounded(aggregate['highest'])}"
    return f"| {rounded(aggregate['mean'])} | {aggregate['scored']} / {aggregate['selected']} | {span} |\n"


def _errors(summary: SummaryRow) -> Iterator[str]:
    if not summary["errors_by_cause"]:
        return
    yield "## Errors by cause\n\n"
    for cause, count in summary["errors_by_cause"].items():
        yield f"- {code(cause)}, {count}: {NEXT_STEPS.get(cause, 'no advice')}\n"
    yield "\n"


def _trust(rows: Iterable[ResultRow]) -> Iterator[str]:
    """What the verdicts themselves say of how far they can be trusted; nothing where that is nothing."""
    found = doubts(rows)
    if not any((found.unverified, found.split, found.windowed, found.substituted)):
        return
    yield "## Trust\n\n"
    if found.unverified:
        yield f"- {found.unverified} of {found.cited} quotes were not found in the turn they name\n"
    if found.split:
        yield f"- {found.split} of {found.statements} statements have votes that differ\n"
    if found.windowed:
        yield f"- {found.windowed} of {found.statements} statements were judged window by window\n"
    for (asked, served), count in found.substituted.items():
        yield f"- {count} statements were decided by {code(served)} in place of {code(asked)}\n"
    yield "\n"


def _conversation(row: ResultRow) -> Iterator[str]:
    """The grades of a conversation that did not pass, and those it misses; nothing where all passed."""
    notable = [grade for grade in row["grades"] if grade["result"] != "passed"]
    missing = missing_graders(row)
    if not notable and not missing:
        return
    yield f"## {code(row['conversation_id'])}\n\n"
    if row["title"]:
        yield f"{code(row['title'])}\n\n"
    for grade in notable:
        yield from _grade(grade)
    if missing:
        yield f"{', '.join(code(name) for name in missing)}: {not_graded(row)}.\n\n"
    if row["error"]:
        yield fenced(row["error"]) + "\n"


def _grade(grade: GradeRow) -> Iterator[str]:
    word, gating = RESULT_WORDS[grade["result"]], "" if grade["gating"] else " (does not gate)"
    yield f"### {word}: {code(grade['grader'])}{gating}\n\n"
    if grade["error"]:
        yield fenced(f"{grade['error']['cause']}: {grade['error']['message']}") + "\n"
        yield from _items([item for item in items(grade) if item.passed is None], "not decided")
        return
    yield f"Score {reward(score_of(grade))}, threshold {threshold(grade)}.\n\n"
    yield from _items(failing(grade), "not met")


def _items(listed: list[Item], word: str) -> Iterator[str]:
    for item in listed:
        required = ", required" if item.required else ""
        yield f"{code(item.label)} ({word}{required})\n\n"
        if item.detail:
            yield fenced(item.detail) + "\n"
