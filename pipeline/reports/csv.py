"""A run as one tidy CSV table: a row per statement or check, with its grade and conversation beside it."""

from __future__ import annotations

import csv
import unicodedata
from collections.abc import Iterable, Iterator
from typing import TextIO

from adjudge.pipeline.aggregate import missing_graders
from adjudge.pipeline.display import visible
from adjudge.pipeline.grade import CheckRow, ErrorRow, GradeRow, ResultRow, StatementRow

Cell = str | int | float | bool | None
Cells = dict[str, Cell]

CONVERSATION = (
    "conversation_id", "test", "rollout", "status", "termination_reason", "grading_state",
    "agent_pov_incomplete", "combined_score", "tool_calls", "tool_errors",
    "conversation_error",
)  # fmt: skip
GRADE = (
    "grader", "grader_version", "type", "gating", "result", "score", "met", "total", "threshold",
    "error_cause", "error_message",
)  # fmt: skip
ITEM = (
    "item_id", "item", "required", "item_result", "counted", "rationale", "citations", "item_error_cause",
    "item_error_message", "judge", "model", "served_model", "source", "attempts", "input_tokens",
    "output_tokens", "cost_usd",
)  # fmt: skip
COLUMNS = (*CONVERSATION, *GRADE, *ITEM)


def write_csv(rows: Iterable[ResultRow], stream: TextIO) -> None:
    """Write `rows` to `stream` (opened with `newline=""`) as RFC 4180: CRLF, quotes where needed. Streams.

    A grade that has no statements or checks, a selected grader without a grade (`result` is `missing`) and a
    conversation with no grader at all have one row each, so that none is lost. What is not known is an empty
    cell, never 0 (S5): an errored grade has no `score` and no `met` but its `error_cause`. `item_result` is
    `met`, `not_met`, `undetermined` or `errored`. Text that a spreadsheet would run as a formula gets an
    apostrophe before it; numbers stay numbers.
    """
    writer = csv.writer(stream)
    writer.writerow(COLUMNS)
    for row in rows:
        conversation = _conversation(row)
        for cells in _grades(row):
            record = {**conversation, **cells}
            writer.writerow([_cell(record.get(column)) for column in COLUMNS])


def neutral(text: str) -> str:
    """`text` with hidden characters visible, and an apostrophe before what a spreadsheet would run (S5).

    That is text whose first sign, after blanks and hidden characters, is `=`, `+`, `-` or `@` in any width,
    and text that begins with a tab or a line end.
    """
    shown = visible(text.replace("\r\n", "\n"), keep="\n\t")
    first = next((sign for sign in text if not sign.isspace() and visible(sign) == sign), "")
    runs = unicodedata.normalize("NFKC", first)[:1] in {"=", "+", "-", "@"}
    return f"'{shown}" if runs or text[:1] in {"\t", "\r", "\n"} else shown


def _conversation(row: ResultRow) -> Cells:
    return {name: row.get(name) for name in CONVERSATION} | {"conversation_error": row["error"]}


def _grades(row: ResultRow) -> Iterator[Cells]:
    missing = missing_graders(row)
    if not row["grades"] and not missing:
        yield {}
    for grade in row["grades"]:
        cells = _grade(grade)
        lines = [*map(_statement, grade.get("statements", [])), *map(_check, grade.get("checks", []))]
        yield from ({**cells, **line} for line in lines or [{}])
    for name in missing:
        yield {"grader": name, "result": "missing"}


def _grade(grade: GradeRow) -> Cells:
    return {
        "grader": grade["grader"],
        "grader_version": grade["grader_version"],
        "type": grade["type"],
        "gating": grade["gating"],
        "result": grade["result"],
        "score": grade["score"],
        "met": grade["met"],
        "total": grade["total"],
        "threshold": grade["threshold"],
        **_error("error", grade["error"]),
    }


def _statement(row: StatementRow) -> Cells:
    return {
        "item_id": row["id"],
        "item": row["text"],
        "required": row["required"],
        "item_result": "errored" if row["error"] else row["decision"],
        "counted": row["counted"],
        "rationale": row["rationale"],
        "citations": "\n".join(
            f"{c['turn']}{'' if c['verified'] else ' (unverified)'}: {c['quote']}" for c in row["citations"]
        )
        or None,
        **_error("item_error", row["error"]),
        "judge": row["judge"],
        "model": row["model"],
        "served_model": row["served_model"],
        "source": row["source"],
        "attempts": row["attempts"],
        "input_tokens": row["usage"]["input_tokens"],
        "output_tokens": row["usage"]["output_tokens"],
        "cost_usd": row["cost_usd"],
    }


def _check(row: CheckRow) -> Cells:
    return {
        "item": row["label"],
        "required": row["required"],
        "item_result": "met" if row["passed"] else "not_met",
        "counted": True,
        "rationale": row["detail"],
    }


def _error(prefix: str, error: ErrorRow | None) -> Cells:
    return {f"{prefix}_cause": error["cause"], f"{prefix}_message": error["message"]} if error else {}


def _cell(value: Cell) -> Cell:
    if isinstance(value, bool):
        return "true" if value else "false"
    return neutral(value) if isinstance(value, str) else value
