"""Grades, conversations and rollouts as plain text."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest

from adjudge.pipeline.grade import GradeRow, ResultRow
from adjudge.pipeline.reports.text import (
    conversation_text,
    grade_text,
    reward,
)
from adjudge.pipeline.scoring import score

HERE = Path(__file__).parents[1]


def stored(name: str) -> list[ResultRow]:
    return [json.loads(line) for line in (HERE / "data/reports" / name).read_text().split("\n") if line]


def golden(name: str) -> str:
    return (HERE / "golden/reports" / name).read_text()


def one(conversation: str, grader: str) -> tuple[ResultRow, GradeRow]:
    row = next(row for row in stored("results.jsonl") if row["conversation_id"] == conversation)
    return row, next(grade for grade in row["grades"] if grade["grader"] == grader)


@pytest.mark.parametrize(
    ("conversation", "grader", "expected"),
    [
        ("desk-1", "books-balance", "checks-passed.txt"),
        ("desk-2", "books-balance", "checks-failed.txt"),
        ("desk-3", "books-balance", "checks-errored.txt"),
        ("desk-1", "expected-behaviors", "statements-passed.txt"),
        ("desk-3", "expected-behaviors", "statements-below-threshold.txt"),
        ("desk-4", "expected-behaviors", "statements-errored.txt"),
    ],
)
def test_a_grade_is_shown_as_silo_shows_a_run(conversation: str, grader: str, expected: str) -> None:
    assert grade_text(*one(conversation, grader)) == golden(expected)


def test_a_required_statement_that_is_not_met_is_the_failure_even_at_the_threshold() -> None:
    text = grade_text(*one("desk-2", "expected-behaviors"))

    assert "  Reward        0.75\n" in text
    assert text.endswith("\n  Failed\n  ✗ The agent never promises a date.\n")


def test_an_optional_check_that_fails_is_not_listed_beside_a_required_one() -> None:
    assert "One call a lookup" not in grade_text(*one("desk-2", "books-balance"))


def test_an_errored_grade_shows_no_number() -> None:
    text = grade_text(*one("desk-4", "expected-behaviors"))

    assert "  Result        ERROR\n  Reward        -\n" in text
    assert "  Checks        - / 4\n" in text


def test_a_conversation_without_test_and_title_is_named_by_its_id_alone() -> None:
    assert grade_text(*one("chat-1", "tone")).startswith("  Task          chat-1\n")


@pytest.mark.parametrize(
    ("conversation", "expected"),
    [("desk-4", "conversation-error.txt"), ("desk-5", "conversation-failed.txt"), ("chat-1", "running.txt")],
)
def test_a_conversation_is_shown_with_every_selected_grader(conversation: str, expected: str) -> None:
    row = next(row for row in stored("results.jsonl") if row["conversation_id"] == conversation)

    assert conversation_text(row) == golden(expected)


def test_half_is_rounded_up() -> None:
    assert reward(score(1, 8)) == "0.13"


def test_no_text_of_a_conversation_reaches_the_terminal_as_a_command() -> None:
    rows = stored("hostile.jsonl")
    text = "".join(map(conversation_text, rows))

    assert not [c for c in text if c != "\n" and unicodedata.category(c) in {"Cc", "Cf", "Zl", "Zp", "Cs"}]
    assert r"\x1b[2J=1+1\u202eevil" in text
