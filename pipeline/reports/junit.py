"""A run as JUnit XML: a test suite per grader, a test case per conversation, failures and errors apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TextIO
from xml.sax.saxutils import escape, quoteattr

from adjudge.pipeline.aggregate import Item, failing, items, missing_graders, score_of
from adjudge.pipeline.display import block, visible
from adjudge.pipeline.grade import GradeRow, ResultRow, SummaryRow
from adjudge.pipeline.reports.text import not_graded, reward, threshold

NO_GRADER = "no grader"
"""The suite of conversations with no grader selected."""

POLICY = "policy"
"""The suite that says what the policy made of the run, and its case; a grader may have that name, too."""

_CAUSE = re.compile(r"([a-z]+(?:_[a-z]+)+): ")


def write_junit(summary: SummaryRow, rows: Iterable[ResultRow], stream: TextIO, *, begun: str = "") -> None:
    """Write a run to `stream` as JUnit XML, in UTF-8 terms, of the elements that every reader takes.

    | grade | test case |
    |---|---|
    | passed | no child |
    | failed | `<failure>`: the score, and what was not met |
    | errored | `<error>` whose type is the cause (S5): never a failure, never a pass |
    | missing: not begun, canceled, or of a conversation without a trace | `<error>` |
    | no grader selected for the conversation | `<skipped>`, in a suite of its own |

    The suite of a grader that does not gate has a property `gating` of `false`. A suite `policy` has the
    policy's outcome and reasons as properties, and a case with an `<error>` where they speak of more than
    grades: an unreadable record, incomplete evidence, an unreliable judge; or where no other case says why
    the exit code is not 0. Characters that XML can't hold are written as visible escapes. There is no `time`:
    how long a grade took is not kept. Keeps the text of the report in memory, since counts come first.

    Args:
        summary: the run's `summary.json`.
        rows: the rows of `results.jsonl`.
        stream: where to write.
        begun: when the run began, in ISO 8601; empty if that is not known.
    """
    suites = _suites(rows)
    policy = POLICY if POLICY not in suites else f"{POLICY} of the run"
    said = [*suites.items(), (policy, _policy_suite(policy, summary, suites.values()))]
    total = sum((suite.counts for _, suite in said), Counter[str]())
    stream.write('<?xml version="1.0" encoding="UTF-8"?>\n')
    stream.write(f"<testsuites name={_attribute(summary['suite'])}{_counts(total)}>\n")
    for name, suite in said:
        timestamp = f" timestamp={_attribute(begun)}" if begun else ""
        skipped = f' skipped="{suite.counts["skipped"]}"'
        stream.write(f"<testsuite name={_attribute(name)}{_counts(suite.counts)}{skipped}{timestamp}>\n")
        stream.writelines(suite.lines())
        stream.write("</testsuite>\n")
    stream.write("</testsuites>\n")


def _suites(rows: Iterable[ResultRow]) -> dict[str, _Suite]:
    suites: dict[str, _Suite] = {}
    for row in rows:
        for grade in row["grades"]:
            suite = suites.setdefault(grade["grader"], _Suite())
            suite.gating = grade["gating"]
            suite.add(grade["grader"], row["conversation_id"], *_grade_child(grade))
        for name in missing_graders(row):
            suites.setdefault(name, _Suite()).add(name, row["conversation_id"], *_missing_child(row))
        if not row["grades"] and not missing_graders(row):
            child = '<skipped message="no grader is selected for it"/>'
            suites.setdefault(NO_GRADER, _Suite()).add(NO_GRADER, row["conversation_id"], "skipped", child)
    return suites


@dataclass(slots=True, kw_only=True)
class _Suite:
    gating: bool = True
    properties: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    counts: Counter[str] = field(default_factory=Counter[str])
    cases: list[str] = field(default_factory=list[str])

    def add(self, classname: str, name: str, kind: str, child: str) -> None:
        self.counts["tests"] += 1
        self.counts[kind] += 1
        names = f"classname={_attribute(classname)} name={_attribute(name)}"
        case = f"<testcase {names}>\n{child}\n</testcase>\n" if child else f"<testcase {names}/>\n"
        self.cases.append(case)

    def lines(self) -> Iterator[str]:
        properties = self.properties if self.gating else [("gating", "false"), *self.properties]
        if properties:
            yield "<properties>\n"
            for name, value in properties:
                yield f"<property name={_attribute(name)} value={_attribute(value)}/>\n"
            yield "</properties>\n"
        yield from self.cases


def _policy_suite(name: str, summary: SummaryRow, others: Iterable[_Suite]) -> _Suite:
    policy, counts = summary["policy"], summary["counts"]
    suite = _Suite(
        properties=[
            ("policy", policy["name"]),
            ("result", policy["result"]),
            ("exit_code", str(summary["exit_code"])),
            *(("reason", reason) for reason in policy["reasons"]),
        ]
    )
    causes = [found[1] for reason in policy["reasons"] if (found := _CAUSE.match(reason))]
    causes += ["unreadable"] if counts["unreadable"] else []
    causes += ["evidence_incomplete"] if counts["evidence_incomplete"] else []
    red = any(other.gating and other.counts["failures"] + other.counts["errors"] for other in others)
    if causes or (summary["exit_code"] and not red):
        message = f"{policy['name']}: {policy['result'].replace('_', ' ')}, exit code {summary['exit_code']}"
        child = _element("error", [*causes, policy["result"]][0], message, "\n".join(policy["reasons"]))
        suite.add(name, POLICY, "errors", child)
    return suite


def _grade_child(grade: GradeRow) -> tuple[str, str]:
    """Which count a grade belongs to, and what stands in its test case."""
    if grade["result"] == "passed":
        return "passed", ""
    if grade["result"] == "errored":
        error = grade["error"]
        cause, message = (
            (error["cause"], error["message"]) if error else ("internal", "no score and no cause")
        )
        undecided = [item for item in items(grade) if item.passed is None]
        return "errors", _element("error", cause, f"{cause}: {message}", _listed(undecided))
    checks = items(grade)
    met = sum(item.passed is True for item in checks)
    message = f"{met} of {len(checks)} met, score {reward(score_of(grade))}, threshold {threshold(grade)}"
    return "failures", _element("failure", "failed", message, _listed(failing(grade)))


def _missing_child(row: ResultRow) -> tuple[str, str]:
    kind = "missing" if row["status"] == "completed" else f"conversation_{row['status']}"
    message = ": ".join(part for part in (not_graded(row), row["error"]) if part)
    return "errors", _element("error", kind, message, "")


def _listed(listed: list[Item]) -> str:
    return "\n".join(f"✗ {item.label}" + (f"\n  {item.detail}" if item.detail else "") for item in listed)


def _element(tag: str, kind: str, message: str, body: str) -> str:
    attributes = f"type={_attribute(kind)} message={_attribute(message)}"
    return f"<{tag} {attributes}>{escape(block(body))}</{tag}>"


def _attribute(text: str) -> str:
    return quoteattr(visible(text))


def _counts(counts: Counter[str]) -> str:
    return "".join(f' {name}="{counts[name]}"' for name in ("tests", "failures", "errors"))
