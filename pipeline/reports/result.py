"""`result.json`: one grader on one conversation, byte for byte the same for the same grade."""

from __future__ import annotations

import json
import re
from typing import Any

from adjudge.pipeline.aggregate import Item, items, score_of
from adjudge.pipeline.grade import GradeRow, ResultRow
from adjudge.pipeline.scoring import half_up

_SURROGATE = re.compile("[\ud800-\udfff]")


def result_json(row: ResultRow, grade: GradeRow) -> str:
    """The text of `result.json` (spec section 8): keys in a fixed order, no times, no ids, a final newline.

    `reward` is the score rounded half up to two decimals (S11). For a `statements` grade the checks are its
    statements. Of an errored grade (S5) `passed` and `reward` are null and `error` is `cause: message`; its
    counts are of the verdicts that did arrive, and the `passed` of a statement that was not decided is null.
    For other grades `error` is the conversation's own, or null.
    """
    text = json.dumps(_result(row, grade), ensure_ascii=False, indent=2) + "\n"
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _result(row: ResultRow, grade: GradeRow) -> dict[str, Any]:
    checks = items(grade)
    required = [item for item in checks if item.required]
    error = grade["error"]
    return {
        "passed": None if grade["result"] == "errored" else grade["result"] == "passed",
        "reward": _reward(grade),
        "requiredPassed": _count(required, True),
        "requiredTotal": len(required),
        "failedRequired": [item.label for item in required if item.passed is False],
        "checksPassed": _count(checks, True),
        "checksFailed": _count(checks, False),
        "toolCalls": row["tool_calls"],
        "toolErrors": row["tool_errors"],
        "terminationReason": row["termination_reason"],
        "agentOutput": row["agent_output"],
        "error": row["error"] if error is None else f"{error['cause']}: {error['message']}",
        "checks": [
            {"label": item.label, "passed": item.passed, "detail": item.detail, "required": item.required}
            for item in checks
        ],
    }


def _reward(grade: GradeRow) -> int | float | None:
    """A whole number is written without a point, as JavaScript does: the same bytes whichever wrote them."""
    value = score_of(grade)
    if value is None:
        return None
    rounded = half_up(value)
    return int(rounded) if rounded == int(rounded) else float(rounded)


def _count(checks: list[Item], passed: bool) -> int:
    return sum(item.passed is passed for item in checks)
