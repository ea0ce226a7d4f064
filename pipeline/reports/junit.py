"""A run as JUnit XML: a test suite per grader, a test case per conversation, failures and errors apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TextIO
from xml.sax.saxutils import escape, quoteattr

from adjudge.pipeline.aggregate import Item, failing, items, missing_graders, score_of
from adjudge.pipeline.display import block, visible
from adjudge.pipeline.grade import GradeRow, ResultRow
from adjudge.pipeline.reports.text import not_graded, reward, threshold

NO_GRADER = "no grader"
"""The suite of conversations with no grader selected."""


def write_junit(rows: Iterable[ResultRow], stream: TextIO, *, name: str = "adjudge") -> None:
    """Write `rows` to `stream` as JUnit XML, in UTF-8 terms.

    | grade | test case |
    |---|---|
    | passed | no child |
    | failed | `<failure>`: the score, and what was not met |
    | errored | `<error>` whose type is the cause (S5): never a failure, never a pass |
    | missing: not begun, canceled, or of a conversation without a trace | `<error>` |
    | no grader selected for the conversation | `<skipped>`, in a suite of its own |

    Grades that don't gate are in it too, with a property `gating` of `false`. Characters that XML can't hold
    are written as visible escapes. Keeps the text of the report in memory, since counts come first.
    """
    suites: dict[str, _Suite] = {}
    for row in rows:
        graded = [(grade["grader"], *_grade_child(grade)) for grade in row["grades"]]
        missing = [(grader, *_missing_child(row)) for grader in missing_graders(row)]
        skipped = [(NO_GRADER, "skipped", '<skipped message="no grader is selected for it"/>')]
        for grader, kind, child in [*graded, *missing] or skipped:
            suites.setdefault(grader, _Suite()).add(kind, _case(grader, row, child))
    total = sum((suite.counts for suite in suites.values()), Counter[str]())
    stream.write('<?xml version="1.0" encoding="UTF-8"?>\n')
    stream.write(f"<testsuites name={_attribute(name)}{_counts(total)}>\n")
    for grader, suite in suites.items():
        stream.write(f"<testsuite name={_attribute(grader)}{_counts(suite.counts)}>\n")
        stream.writelines(suite.cases)
        stream.write("</testsuite>\n")
    stream.write("</testsuites>\n")


@dataclass(slots=True)
class _Suite:
    counts: Counter[str] = field(default_factory=Counter[str])
    cases: list[str] = field(default_factory=list[str])

    def add(self, kind: str, case: str) -> None:
        self.counts["tests"] += 1
        self.counts[kind] += 1
        self.cases.append(case)


def _case(grader: str, row: ResultRow, child: str) -> str:
    names = f"classname={_attribute(grader)} name={_attribute(row['conversation_id'])}"
    return f"<testcase {names}>\n{child}\n</testcase>\n" if child else f"<testcase {names}/>\n"


def _grade_child(grade: GradeRow) -> tuple[str, str]:
    """Which count a grade belongs to, and what stands in its test case."""
    gating = "" if grade["gating"] else '<properties><property name="gating" value="false"/></properties>'
    if grade["result"] == "passed":
        return "passed", gating
    if grade["result"] == "errored":
        error = grade["error"]
        cause, message = (
            (error["cause"], error["message"]) if error else ("internal", "no score and no cause")
        )
        undecided = [item for item in items(grade) if item.passed is None]
        return "errors", gating + _element("error", cause, f"{cause}: {message}", undecided)
    checks = items(grade)
    met = sum(item.passed is True for item in checks)
    message = f"{met} of {len(checks)} met, score {reward(score_of(grade))}, threshold {threshold(grade)}"
    return "failures", gating + _element("failure", "failed", message, failing(grade))


def _missing_child(row: ResultRow) -> tuple[str, str]:
    kind = "missing" if row["status"] == "completed" else f"conversation_{row['status']}"
    message = ": ".join(part for part in (not_graded(row), row["error"]) if part)
    return "errors", _element("error", kind, message, [])


def _element(tag: str, kind: str, message: str, listed: list[Item]) -> str:
    body = "\n".join(f"✗ {item.label}" + (f"\n  {item.detail}" if item.detail else "") for item in listed)
    attributes = f"type={_attribute(kind)} message={_attribute(message)}"
    return f"<{tag} {attributes}>{escape(block(body))}</{tag}>"


def _attribute(text: str) -> str:
    return quoteattr(visible(text))


def _counts(counts: Counter[str]) -> str:
    names = ("tests", "failures", "errors", "skipped")
    return "".join(f' {name}="{counts[name]}"' for name in names)
