"""Grades, conversations and rollouts as plain text."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest

from adjudge.pipeline.aggregate import RolloutGroup, rollout_groups
from adjudge.pipeline.grade import GradeRow, ResultRow
from adjudge.pipeline.reports.text import (
    conversation_text,
    grade_text,
    reward,
    rollouts_report,
    rollouts_text,
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


def test_rollouts_are_a_mean_of_exact_scores_rounded_once() -> None:
    scores = [score(5, 5), score(5, 5), score(5, 5), score(1, 2), score(1, 5)]
    group = RolloutGroup(task="refund", title="Refund", grader="books", n=5, passed=3, scores=scores)

    assert rollouts_text(group) == golden("rollouts.txt")


def test_thirds_are_not_rounded_before_they_are_averaged() -> None:
    group = RolloutGroup(
        task="t", title=None, grader="g", n=3, scores=[score(1, 8), score(1, 8), score(1, 3)]
    )

    assert "  Mean reward   0.19\n" in rollouts_text(group)  # of 0.13, 0.13, 0.33 it would be 0.20


def test_rollouts_without_a_score_are_counted_and_leave_a_span() -> None:
    assert rollouts_report(stored("results.jsonl")) == golden("rollouts-of-a-run.txt")


def test_rollouts_of_which_none_was_scored_have_no_mean_best_or_worst() -> None:
    text = rollouts_text(RolloutGroup(task="t", title=None, grader="g", n=2))

    assert "  Mean reward   -\n  Best          -\n  Worst         -\n  Errored       2\n" in text
    assert "  Passed        0 / 2\n" in text


def test_a_group_of_rollouts_in_which_all_were_scored_has_no_errored_line() -> None:
    text = rollouts_text(RolloutGroup(task="t", title=None, grader="g", n=1, passed=1, scores=[score(1, 1)]))

    assert "Errored" not in text


def test_half_is_rounded_up() -> None:
    assert reward(score(1, 8)) == "0.13"


def test_no_text_of_a_conversation_reaches_the_terminal_as_a_command() -> None:
    rows = stored("hostile.jsonl")
    text = "".join(map(conversation_text, rows)) + rollouts_report(rows)

    assert not [c for c in text if c != "\n" and unicodedata.category(c) in {"Cc", "Cf", "Zl", "Zp", "Cs"}]
    assert r"\x1b[2J=1+1\u202eevil" in text


def test_groups_are_told_apart_by_test_and_grader() -> None:
    groups = rollout_groups(stored("results.jsonl"))

    assert [(group.task, group.grader, group.n, group.passed, group.errored) for group in groups] == [
        ("refund-over-limit", "expected-behaviors", 5, 1, 2),
        ("refund-over-limit", "books-balance", 5, 2, 2),
        ("chat-1", "tone", 1, 1, 0),
        ("chat-1", "expected-behaviors", 1, 0, 1),
    ]
