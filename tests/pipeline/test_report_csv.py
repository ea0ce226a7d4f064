"""A run as CSV: one tidy table that no spreadsheet runs."""

from __future__ import annotations

import csv
import io
import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge.pipeline.grade import ResultRow
from adjudge.pipeline.reports.csv import COLUMNS, neutral, write_csv

HERE = Path(__file__).parents[1]


def stored(name: str) -> list[ResultRow]:
    return [json.loads(line) for line in (HERE / "data/reports" / name).read_text().split("\n") if line]


def text_of(rows: list[ResultRow]) -> str:
    stream = io.StringIO(newline="")
    write_csv(rows, stream)
    return stream.getvalue()


def table(rows: list[ResultRow]) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text_of(rows), newline="")))


def test_there_is_a_line_for_each_statement_check_missing_grade_and_ungraded_conversation() -> None:
    lines = [
        (line["conversation_id"], line["grader"], line["result"]) for line in table(stored("results.jsonl"))
    ]

    assert lines == [
        *[("desk-1", "expected-behaviors", "passed")] * 4,
        *[("desk-1", "books-balance", "passed")] * 3,
        *[("desk-2", "expected-behaviors", "failed")] * 4,
        *[("desk-2", "books-balance", "failed")] * 3,
        *[("desk-3", "expected-behaviors", "failed")] * 4,
        ("desk-3", "books-balance", "errored"),
        *[("desk-4", "expected-behaviors", "errored")] * 4,
        *[("desk-4", "books-balance", "passed")] * 3,
        ("desk-5", "expected-behaviors", "missing"),
        ("desk-5", "books-balance", "missing"),
        *[("chat-1", "tone", "passed")] * 3,
        ("chat-1", "expected-behaviors", "missing"),
        ("chat-2", "", ""),
    ]


def test_an_errored_grade_has_empty_cells_and_its_cause() -> None:
    line = next(line for line in table(stored("results.jsonl")) if line["error_cause"] == "verifier_error")

    assert (line["score"], line["met"], line["total"]) == ("", "", "")
    assert line["error_message"] == "KeyError: 'ledger' (refunds.py:12)"


def test_a_verdict_of_an_errored_grade_is_there_and_not_counted() -> None:
    lines = [line for line in table(stored("results.jsonl")) if line["conversation_id"] == "desk-4"][:4]

    assert [(line["item_result"], line["counted"]) for line in lines] == [
        ("met", "false"), ("met", "false"), ("errored", "false"), ("errored", "false"),
    ]  # fmt: skip


def test_every_line_ends_as_rfc_4180_says_and_has_every_column() -> None:
    text = text_of(stored("hostile.jsonl"))

    assert text.split("\r\n", 1)[0] == ",".join(COLUMNS)
    assert text.endswith("\r\n")
    assert {len(line) for line in csv.reader(io.StringIO(text, newline=""))} == {len(COLUMNS)}


@pytest.mark.parametrize(
    "text",
    [
        '=HYPERLINK("http://127.0.0.1:9/"&A1)', "\u200b=1+1", "-Infinity", "@SUM(1)", "+1", "\t=1", "\r=1",
        "\n1", " =1", "\u00a0=1", "＝1", "＋1", "﹣1", "＠x", "\x00=1", "\ufeff=1",
        "\u202e=1", "  \u200b\u2060-1",
    ],
)  # fmt: skip
def test_what_a_spreadsheet_would_run_begins_with_an_apostrophe(text: str) -> None:
    assert neutral(text).startswith("'")


@pytest.mark.parametrize("text", ["", "plain", "a=b", "1-2", "\\d+", "'=already", "é", "漢字 =1"])
def test_what_no_spreadsheet_would_run_is_left_alone(text: str) -> None:
    assert neutral(text) == text


def test_no_cell_of_hostile_text_begins_a_formula() -> None:
    for line in table(stored("hostile.jsonl")):
        assert not [cell for cell in line.values() if cell.lstrip()[:1] in {"=", "+", "-", "@", "＝"}]


def test_numbers_stay_numbers() -> None:
    row = stored("results.jsonl")[0]
    row["tool_calls"] = -3

    line = table([row])[0]

    assert (line["tool_calls"], line["score"], line["cost_usd"]) == ("-3", "0.75", "0.0004")


@settings(deadline=None)
@given(st.text(st.characters()))
def test_any_text_becomes_a_cell_that_can_be_written_and_read(text: str) -> None:
    stream = io.StringIO(newline="")
    csv.writer(stream).writerow([neutral(text), "end"])

    [[cell, end]] = csv.reader(io.StringIO(stream.getvalue().encode().decode(), newline=""))

    assert (cell, end) == (neutral(text), "end")


@pytest.mark.parametrize("name", ["results.jsonl", "hostile.jsonl"])
def test_pandas_reads_numbers_as_numbers_and_what_is_not_known_as_missing(name: str) -> None:
    pandas: Any = import_module("pandas")
    rows = stored(name)

    frame = pandas.read_csv(io.StringIO(text_of(rows), newline=""))

    assert tuple(frame.columns) == COLUMNS
    assert len(frame) == len(table(rows))
    for column in ("score", "met", "total", "threshold", "combined_score", "cost_usd"):
        assert frame[column].dtype.kind in "if", column
    errored = frame[frame["result"] == "errored"]
    assert errored["score"].isna().all()
    scored = {grade["score"] for row in rows for grade in row["grades"] if grade["score"] is not None}
    assert set(frame["score"].dropna()) == scored
