"""What lint says of a suite's statements, as plain text and as JSON."""

from __future__ import annotations

from collections import Counter
from typing import Any

from adjudge.pipeline.display import visible
from adjudge.pipeline.lint.rules import RULES
from adjudge.pipeline.lint.suite import Lint


def lint_report(seen: Lint) -> str:
    """Each statement with what is to be said of it, then the counts; ends in a newline."""
    lines: list[str] = []
    for linted in seen.found:
        lines.append(f"{visible(linted.place)} {visible(linted.grader)}: {visible(linted.text)}")
        for finding in linted.findings:
            rule = RULES[finding.rule]
            lines.append(f"  {rule.name} ({visible(finding.matched)}): it {rule.reason}")
            lines.append(f"    Better: {rule.instead}")
        lines.append("")
    return "\n".join([*lines, *_counts(seen)]) + "\n"


def lint_line(seen: Lint) -> str:
    """The same in one line, with its end; empty where nothing is to be said."""
    if not seen.found:
        return ""
    return f"{len(seen.found)} statements may be hard to decide; `adjudge lint` says which and why\n"


def lint_json(suite: str, seen: Lint) -> dict[str, Any]:
    """The same for programs."""
    return {
        "suite": suite,
        "statements": seen.statements,
        "not_english": seen.not_english,
        "unreadable": seen.unreadable,
        "findings": [
            {
                "place": linted.place,
                "grader": linted.grader,
                "statement": linted.text,
                "rule": finding.rule,
                "matched": finding.matched,
                "reason": f"The statement {RULES[finding.rule].reason}.",
                "instead": RULES[finding.rule].instead,
            }
            for linted in seen.found
            for finding in linted.findings
        ],
    }


def _counts(seen: Lint) -> list[str]:
    by_rule = Counter(finding.rule for linted in seen.found for finding in linted.findings)
    named = ", ".join(f"{name} {by_rule[name]}" for name in RULES if by_rule[name])
    lines = [
        f"{seen.statements} statements, something to say of {len(seen.found)}"
        + (f": {named}" if named else "")
    ]
    if seen.not_english:
        lines.append(
            f"{seen.not_english} don't look English; of these only questions, gaps and twins are seen"
        )
    if seen.unreadable:
        lines.append(f"{seen.unreadable} records could not be read; what they bring was not looked at")
    return lines
