"""`result.json`, byte for byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge.pipeline.checks import check, optional
from adjudge.pipeline.grade import GradeRow, ResultRow
from adjudge.pipeline.grading.checks_grade import checks_grade
from adjudge.pipeline.planning.plan import PlannedGrader
from adjudge.pipeline.reports.result import result_json

HERE = Path(__file__).parents[1]


def stored(name: str) -> list[ResultRow]:
    return [json.loads(line) for line in (HERE / "data/reports" / name).read_text().split("\n") if line]


def one(conversation: str, grader: str) -> tuple[ResultRow, GradeRow]:
    row = next(row for row in stored("results.jsonl") if row["conversation_id"] == conversation)
    return row, next(grade for grade in row["grades"] if grade["grader"] == grader)


def checked(passed: int, total: int) -> GradeRow:
    grader = PlannedGrader(name="g", type="checks", version="v", threshold=0.0, gating=True)
    return checks_grade(
        grader, [check("first", passed > 0), *(optional("c", n < passed) for n in range(1, total))]
    )


@pytest.mark.parametrize(
    ("conversation", "grader", "expected"),
    [
        ("desk-1", "books-balance", "checks-passed.json"),
        ("desk-2", "books-balance", "checks-failed.json"),
        ("desk-3", "books-balance", "checks-errored.json"),
        ("desk-4", "expected-behaviors", "statements-errored.json"),
    ],
)
def test_a_grade_has_these_bytes(conversation: str, grader: str, expected: str) -> None:
    assert result_json(*one(conversation, grader)) == (HERE / "golden/reports" / expected).read_text()


def test_the_keys_stand_in_their_order() -> None:
    assert list(json.loads(result_json(*one("desk-1", "books-balance")))) == [
        "passed", "reward", "requiredPassed", "requiredTotal", "failedRequired", "checksPassed",
        "checksFailed", "toolCalls", "toolErrors", "terminationReason", "agentOutput", "error", "checks",
    ]  # fmt: skip


def test_an_errored_grade_is_neither_passed_nor_failed_and_has_no_reward() -> None:
    result = json.loads(result_json(*one("desk-3", "books-balance")))

    assert (result["passed"], result["reward"]) == (None, None)
    assert result["error"] == "verifier_error: KeyError: 'ledger' (refunds.py:12)"


def test_a_statement_that_was_not_decided_is_neither_passed_nor_failed() -> None:
    result = json.loads(result_json(*one("desk-4", "expected-behaviors")))

    assert [item["passed"] for item in result["checks"]] == [True, True, None, None]
    assert (result["checksPassed"], result["checksFailed"], result["failedRequired"]) == (2, 0, [])


@pytest.mark.parametrize(
    ("passed", "total", "written"),
    [
        (4, 4, "1"),
        (0, 3, "0"),
        (1, 2, "0.5"),
        (1, 8, "0.13"),
        (2, 3, "0.67"),
        (1, 1000, "0"),
        (995, 1000, "1"),
    ],
)
def test_a_reward_is_two_decimals_half_up_in_the_shortest_form(passed: int, total: int, written: str) -> None:
    row, _ = one("desk-1", "books-balance")

    assert f'"reward": {written},\n' in result_json(row, checked(passed, total))


@settings(deadline=None)
@given(st.text(st.characters()), st.text(st.characters()))
def test_any_text_comes_back_from_the_file_as_it_was(label: str, detail: str) -> None:
    grader = PlannedGrader(name="g", type="checks", version="v", threshold=0.0, gating=True)
    row, _ = one("desk-1", "books-balance")

    text = result_json(row, checks_grade(grader, [check(label, False, detail)]))

    result: dict[str, Any] = json.loads(text.encode())
    assert result["failedRequired"] == [label]
    assert result["checks"][0]["detail"] == detail
