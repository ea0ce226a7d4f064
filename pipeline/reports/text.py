"""Grades as plain text, in the layout of a Silo run: two blanks, a label column of 14."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from adjudge.pipeline.aggregate import (
    Item,
    failing,
    items,
    missing_graders,
    score_of,
    task,
)
from adjudge.pipeline.display import visible
from adjudge.pipeline.grade import GradeRow, ResultRow
from adjudge.pipeline.scoring import exact, half_up

LABEL_COLUMNS = 14
RESULT_WORDS = {"passed": "PASS", "failed": "FAIL", "errored": "ERROR"}


def grade_text(row: ResultRow, grade: GradeRow) -> str:
    """One grader on one conversation; ends in a newline.

    An errored grade has `-` where a number would be, and says why. `Failed` lists what made the grade fail
    (S3), so it is absent from one that passed. `Threshold` is shown where the score did not reach it.
    """
    return blocks(
        _identity(row, grade),
        _checks(grade),
        _failed(failing(grade)),
    )


def conversation_text(row: ResultRow) -> str:
    """One conversation: the facts, then each grade under its grader's name; ends in a newline."""
    grades = [f"\n  {visible(grade['grader'])}\n\n{grade_text(row, grade)}" for grade in row["grades"]]
    missing = [f"\n  {visible(name)}\n\n{line('Result', not_graded(row))}" for name in missing_graders(row)]
    return blocks(list(_facts(row))) + "".join([*grades, *missing])


def verdicts_text(row: ResultRow) -> str:
    """What every grade of a conversation rests on: decisions with reasons and quotes, checks with details."""
    lines: list[str] = []
    for grade in row["grades"]:
        lines += ["", f"  Verdicts of {visible(grade['grader'])}"]
        for statement in grade.get("statements", []):
            error = statement["error"]
            said = statement["decision"] or "errored"
            lines.append(f"  {statement['id']}  {said}: {visible(statement['text'])}")
            if error is not None:
                lines.append(f"      {error['cause']}: {visible(error['message'])}")
            if statement["rationale"]:
                lines.append(f"      {visible(statement['rationale'])}")
            for citation in statement["citations"]:
                found = "" if citation["verified"] else " (not found there)"
                lines.append(f'      turn {citation["turn"]}{found}: "{visible(citation["quote"])}"')
        for check in grade.get("checks", []):
            mark = ("✓" if check["passed"] else "✗") + ("" if check["required"] else " (optional)")
            detail = f": {visible(check['detail'])}" if check["detail"] else ""
            lines.append(f"  {mark} {visible(check['label'])}{detail}")
    return "\n".join(lines) + "\n" if lines else ""


def reward(value: Fraction | None) -> str:
    """A score as shown: two decimals, half up (S11); `-` where there is none (S5)."""
    return "-" if value is None else str(half_up(value))


def threshold(grade: GradeRow) -> str:
    """A grade's threshold as people write it."""
    return str(grade["threshold"]).removesuffix(".0")


def not_graded(row: ResultRow) -> str:
    """Why a conversation has graders without a grade."""
    if row["status"] == "completed":
        return "not graded yet; `adjudge resume` goes on"
    ended = "failed" if row["status"] == "failed" else "was canceled"
    return f"not graded: the conversation {ended} and has no completed trace"


def _identity(row: ResultRow, grade: GradeRow) -> list[str]:
    lines = [
        line("Task", titled(task(row), row["title"])),
        line("Result", RESULT_WORDS[grade["result"]]),
        line("Reward", reward(score_of(grade))),
    ]
    if grade["error"] is not None:
        lines.append(line("Error", f"{grade['error']['cause']}: {grade['error']['message']}"))
    return lines


def _checks(grade: GradeRow) -> list[str]:
    checks, value = items(grade), score_of(grade)
    required = [item for item in checks if item.required]
    lines = [
        line("Checks", _part(value, checks)),
        line("Required", _part(value, required)),
    ]
    if value is not None and value < exact(grade["threshold"]):
        lines.append(line("Threshold", threshold(grade)))
    return lines


def _part(value: Fraction | None, checks: list[Item]) -> str:
    if value is None:
        return f"- / {len(checks)}" if checks else "-"
    return f"{sum(item.passed is True for item in checks)} / {len(checks)}"


def _failed(failed: list[Item]) -> list[str]:
    return ["  Failed\n", *(f"  ✗ {visible(item.label)}\n" for item in failed)] if failed else []


def _facts(row: ResultRow) -> Iterator[str]:
    yield line("Conversation", row["conversation_id"])
    if row["test"] is not None:
        rollout = "" if row["rollout"] is None else f", rollout {row['rollout']}"
        yield line("Test", titled(row["test"], row["title"]) + rollout)
    reason = row["termination_reason"] or row["status"]
    yield line("Status", row["status"] if reason == row["status"] else f"{row['status']} ({reason})")
    if row["error"]:
        yield line("Ended with", row["error"])
    yield line("Grading", row["grading_state"] or not_graded(row))
    yield line("Combined", _combined(row))
    yield line("Tool calls", str(row["tool_calls"]))
    yield line("Tool errors", str(row["tool_errors"]))
    if row["agent_pov_incomplete"]:
        yield line("Evidence", "flagged incomplete: grades speak of what was seen")


def _combined(row: ResultRow) -> str:
    """The combined score beside how many of the selected graders have one (S8, S13)."""
    scores = [score_of(grade) for grade in row["grades"]]
    known = [value for value in scores if value is not None]
    selected = len(scores) + len(missing_graders(row))
    complete = bool(known) and len(known) == selected and row["combined_score"] is not None
    mean = sum(known, Fraction(0)) / len(known) if complete else None
    return f"{reward(mean)} ({len(known)} of {selected} graders scored)"


def titled(name: str, title: str | None) -> str:
    return f"{name} — {title}" if title else name


def line(label: str, value: str) -> str:
    return f"  {label:<{LABEL_COLUMNS}}{visible(value)}\n"


def blocks(*blocks: list[str]) -> str:
    """Blocks of lines with a blank line between those that have any."""
    return "\n".join("".join(lines) for lines in blocks if lines)
