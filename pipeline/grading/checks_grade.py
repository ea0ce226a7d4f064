"""The grade that a verifier's checks make (S1, S3, S4)."""

from __future__ import annotations

from adjudge.judges.failure import Failure
from adjudge.pipeline.checks import Check
from adjudge.pipeline.grade import GradeRow
from adjudge.pipeline.planning.plan import PlannedGrader
from adjudge.pipeline.scoring import exact, result, score
from adjudge.pipeline.spent import spent_nothing


def checks_grade(grader: PlannedGrader, outcome: list[Check] | Failure) -> GradeRow:
    """The grade of one conversation: checks passed over all checks, or why there is no score."""
    failed = isinstance(outcome, Failure)
    checks = [] if failed else outcome
    passed = sum(check.passed for check in checks)
    value = None if failed else score(passed, len(checks))
    required_met = all(check.passed for check in checks if check.required)
    return {
        "grader": grader.name,
        "grader_version": grader.version,
        "type": "checks",
        "gating": grader.gating,
        "result": result(value, exact(grader.threshold), required_met),
        "score": None if value is None else float(value),
        "met": None if failed else passed,
        "total": None if failed else len(checks),
        "threshold": float(grader.threshold),
        "error": (
            {"cause": outcome.cause, "message": outcome.message, "retryable": False} if failed else None
        ),
        "spent": spent_nothing(),
        "checks": [
            {"label": check.label, "passed": check.passed, "detail": check.detail, "required": check.required}
            for check in checks
        ],
    }
