"""Statements that are hard to decide: what is found, what is left alone, where it is said to stand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.pipeline.lint.rules import RULES, findings_of
from adjudge.pipeline.lint.suite import lint_suite
from adjudge.pipeline.lint.wording import is_english
from adjudge.pipeline.reports.lint import lint_json, lint_line, lint_report
from adjudge.pipeline.suite.load import load_suite


def rules(text: str) -> list[str]:
    return [finding.rule for finding in findings_of(text)]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("The agent greets the user and asks for the order number.", "compound"),
        ("The agent cancels one order; the other one is left as it was.", "compound"),
        ("The agent is polite. It gives the price.", "compound"),
        ("If the order is late, the agent apologizes but offers no refund.", "compound"),
        ("The agent does not fail to ask for the order number.", "double-negative"),
        ("The agent never cancels an order without a confirmation.", "double-negative"),
        ("The agent answers in an appropriate manner.", "vague"),
        ("The agent stays professional.", "vague"),
        ("The agent tries to find the order.", "unfalsifiable"),
        ("The agent answers as soon as possible.", "unfalsifiable"),
        ("The agent should cancel the order.", "norm"),
        ("Agent needs to confirm the address.", "norm"),
        ("The agent understands the request.", "hidden-state"),
        ("The agent obviously ignores the request.", "leading"),
        ("This statement is met.", "leading"),
        ("Check that the agent cancels the order.", "instruction"),
        ("Does the agent cancel the order?", "question"),
        ("The agent names {product}.", "placeholder"),
        ("The agent names the TODO.", "placeholder"),
        ("The order is marked as refunded in the database.", "elsewhere"),
        ("The agent says " + "very " * 40 + "much.", "long"),
    ],
)
def test_a_statement_that_is_hard_to_decide_is_spoken_of(text: str, rule: str) -> None:
    assert rule in rules(text)
    assert RULES[rule].instead


@pytest.mark.parametrize(
    "text",
    [
        "The agent confirms the order number before it discusses the refund.",
        "The agent does not offer a refund.",
        "The agent books a flight from Rome to Milan for Ana and Bo.",
        "The agent says that the order is late and will arrive on Monday.",
        "The agent tells the user whether the bag is free or costs extra.",
        'The agent says "please try to call again, and have a good day".',
        "The user asks for research and development figures.",
        "The agent wishes the user a good evening.",
        "The agent says that the refund is not in the database.",
    ],
)
def test_a_plain_statement_is_left_alone(text: str) -> None:
    assert rules(text) == []


def test_other_languages_are_looked_at_for_what_holds_in_all_of_them() -> None:
    assert rules("El agente debe cancelar la reserva y no ofrece un reembolso.") == []
    assert rules("¿El agente cancela la reserva?") == ["question"]


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("Agent cancels reservation FDZ0T5", True),
        ("Agent identifies reservation id as WUNA5K.", True),
        ("Der Agent storniert die Buchung für den Kunden.", False),
        ("De agent annuleert de reservering.", False),
        ("L'agent annule la réservation.", False),
        ("El agente cancela la reserva.", False),
    ],
)
def test_a_short_english_statement_of_names_is_known_from_other_languages(text: str, english: bool) -> None:
    assert is_english(text) is english


@given(st.text(max_size=200))
def test_any_text_can_be_looked_at(text: str) -> None:
    for finding in findings_of(text):
        assert finding.rule in RULES


def written(path: Path, grader: dict[str, Any], conversation: dict[str, Any] | None = None) -> Path:
    row: dict[str, Any] = {"id": "c1", "messages": [{"role": "user", "content": "Hello."}]}
    row |= conversation or {}
    (path / "conversations.jsonl").write_text(json.dumps(row) + "\n")
    suite = {
        "conversations": ["conversations.jsonl"],
        "judges": {"main": {"model": "openai/any"}},
        "graders": [{"name": "g", "type": "statements", "judge": "main"} | grader],
        "tests": {"t": {"statements": {"g": ["Check that the agent pays."]}}},
    }
    (path / "suite.yaml").write_text(json.dumps(suite, indent=1))
    return path / "suite.yaml"


def test_each_statement_is_named_by_where_it_stands(tmp_path: Path) -> None:
    brought = {"statements": {"g": ["The agent stays professional."]}}
    suite = written(tmp_path, {"statements": ["The agent greets.", "The agent should pay."]}, brought)

    seen = lint_suite(load_suite(suite))

    assert seen.statements == 4
    lines = suite.read_text().splitlines()
    places = [one.place for one in seen.found]
    assert places[-1] == "conversation 'c1'"
    for place, word in zip(places, ("should pay", "Check that"), strict=False):
        file, _, line = place.rpartition(":")
        assert file == str(suite)
        assert word in lines[int(line) - 1]


def test_twins_are_found_where_they_are_asked_together(tmp_path: Path) -> None:
    brought = {"statements": {"g": ["the agent greets a user"]}}
    suite = written(tmp_path, {"statements": ["The agent greets the user."]}, brought)

    (_, twin) = lint_suite(load_suite(suite)).found

    assert [(one.rule, one.matched) for one in twin.findings] == [("duplicate", "The agent greets the user.")]


def test_an_absence_that_any_window_may_decide_is_found(tmp_path: Path) -> None:
    statements = [
        {"text": "The agent never offers a refund.", "over_windows": "any"},
        {"text": "The agent never shouts.", "over_windows": "all"},
    ]
    suite = written(tmp_path, {"statements": statements, "overflow": "windows"})

    found = [one for one in lint_suite(load_suite(suite)).found if "never" in one.text]

    assert [(one.text, one.findings[0].rule) for one in found] == [
        ("The agent never offers a refund.", "absence-in-windows")
    ]


def test_records_that_cant_be_read_are_counted(tmp_path: Path) -> None:
    suite = written(tmp_path, {"statements": ["The agent greets."]})
    with (tmp_path / "conversations.jsonl").open("a") as file:
        file.write("{\n")

    seen = lint_suite(load_suite(suite))

    assert seen.unreadable == 1
    assert "1 records could not be read" in lint_report(seen)


def test_hostile_statements_are_shown_and_not_obeyed(tmp_path: Path) -> None:
    suite = written(tmp_path, {"statements": ["The agent should \x1b[31m pay.", "The agent greets \u202e."]})

    seen = lint_suite(load_suite(suite))

    assert "\x1b" not in lint_report(seen)
    assert lint_line(seen).startswith("2 statements may be hard to decide")
    assert lint_json("s", seen)["findings"][0]["rule"] == "norm"
