"""A run as Markdown: text from outside is shown, never read as markup."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from adjudge.pipeline.display import block, visible
from adjudge.pipeline.grade import ResultRow, SummaryRow
from adjudge.pipeline.reports.markdown import code, fenced, write_markdown

HERE = Path(__file__).parents[1]


def stored(name: str) -> list[ResultRow]:
    return [json.loads(line) for line in (HERE / "data/reports" / name).read_text().split("\n") if line]


def summary(name: str) -> SummaryRow:
    return json.loads((HERE / "data/reports" / name).read_text())


def report(rows: str, of: str) -> str:
    stream = io.StringIO()
    write_markdown(summary(of), lambda: stored(rows), stream)
    return stream.getvalue()


def rendered(text: str) -> str:
    """As a reader renders it that lets everything through."""
    return MarkdownIt("commonmark", {"html": True}).enable("table").render(text)


def test_a_run_is_shown_with_its_table_failures_and_errors() -> None:
    expected = (HERE / "golden/reports/run.md").read_text()

    assert report("results.jsonl", "summary.json") == expected


@pytest.mark.parametrize("tag", ["<script", "<img", "<a ", "<b>", "<h1>PASS", "<iframe"])
def test_no_text_of_a_conversation_becomes_markup(tag: str) -> None:
    html = rendered(report("hostile.jsonl", "hostile-summary.json"))

    assert tag not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;![x](http://127.0.0.1:9/x)" in html


def test_no_reason_of_the_policy_becomes_markup() -> None:
    run = summary("summary.json")
    said = "judge '<img src=x>![a](http://127.0.0.1:9/x) @all' says met of '**A**', which is not_met"
    run["policy"]["reasons"].append(f"judge_unreliable: {said}")
    stream = io.StringIO()
    write_markdown(run, list, stream)
    html = rendered(stream.getvalue())

    assert "<li><code>judge_unreliable: judge '&lt;img src=x&gt;![a](http://127.0.0.1:9/x) @all'" in html
    assert "<img" not in html
    assert "<strong>A" not in html


def test_a_table_has_as_many_cells_as_its_head_whatever_the_names() -> None:
    html = rendered(report("hostile.jsonl", "hostile-summary.json"))

    graders = len(summary("hostile-summary.json")["graders"])
    assert html.count("<td") == 8 * (graders + 1)


@settings(deadline=None)
@given(st.text(st.characters()))
def test_any_text_is_one_code_span(text: str) -> None:
    html = rendered(f"# {code(text)}")

    assert html.startswith("<h1><code>") or code(text) == "(blank)"
    assert html.endswith("</code></h1>\n") or code(text) == "(blank)"
    assert html.count("<") == (4 if code(text) != "(blank)" else 2)


@settings(deadline=None)
@given(st.text(st.characters()))
def test_any_text_is_one_fenced_block(text: str) -> None:
    tokens = MarkdownIt("commonmark").parse(fenced(text) + "\nafter\n")

    assert [token.type for token in tokens] == ["fence", "paragraph_open", "inline", "paragraph_close"]
    assert tokens[0].content == block(text) + "\n"


@settings(deadline=None)
@given(st.text(st.characters()))
def test_a_report_holds_nothing_that_hides(text: str) -> None:
    assert visible(code(text)) == code(text)
