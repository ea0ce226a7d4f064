"""Exports of hostile runs, read back by what reads them: spreadsheets, browsers, CI servers (S2, S3, S5)."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from collections.abc import Generator
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
import xmlschema
from markdown_it import MarkdownIt

from adjudge.testing import FaultServer, Reply, Request

if TYPE_CHECKING:
    from tests.end_to_end.conftest import Desk, NewDesk

JUNIT = Path(__file__).parents[1] / "data/junit/junit.xsd"
FORMULAS = [
    '=HYPERLINK("http://127.0.0.1:9/"&A1)',
    "+1+1",
    "-1+1|cmd",
    "@SUM(1)",
    "\t=1+1",
    "\r=1+1",
    "\n=1+1",
    "＝1+1",
    "  =1+1",
    "\u200b=1+1",
    "\ufeff\u00a0@SUM(1)",
    '"=1+1',
    "-Infinity",
]
MARKUP = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</textarea></title></td></code></pre>",
    "[click](javascript:alert(1))",
    "![x]({origin}/image)",
    "<{origin}/autolink>",
    "{origin}/bare",
    "[a]: {origin}/reference",
    "<svg/onload=alert(1)>",
    "{{7*7}} ${7*7} {x} %s",
    "`````",
    "``` ` ````\n```\n# PASS\n~~~",
    "| a | b |\n|---|---|\n| PASS | PASS |",
    "# Heading\n\n---\n\n> quote\n\n    code\n\n- [x] PASS",
    "]]>&amp;&#x3c;!--",
    "|pipe\\|pipe",
]


@pytest.fixture(scope="module")
def beacon() -> Generator[FaultServer]:
    """A server that nothing may ever call."""
    with FaultServer() as server:
        yield server
        assert server.count == 0


@pytest.fixture(scope="module")
def hostile(
    tmp_path_factory: pytest.TempPathFactory, new_desk: NewDesk, beacon: FaultServer
) -> Generator[Desk]:
    """A desk with a run whose every text is a formula or markup, of statements, checks and errors."""
    texts = [*FORMULAS, *(text.replace("{origin}", beacon.origin) for text in MARKUP)]

    def reply(request: Request) -> Reply:
        ((id_, statement),) = request.statements.items()
        cited = [{"turn": 1, "quote": statement}]
        verdict = {"id": id_, "rationale": statement, "citations": cited, "decision": "not_met"}
        return Reply(text=json.dumps({"verdicts": [verdict]}), model=statement)

    def conversation(place: int, text: str) -> dict[str, Any]:
        row: dict[str, Any] = {"id": text, "test": text, "rollout": place, "termination_reason": text}
        row |= {"messages": [{"role": "user", "content": text}], "agent_output": text, "error": text}
        row |= {"statements": {"behaves": [text]}}
        return row | ({"status": "failed"} if place % 5 == 4 else {})

    with new_desk(tmp_path_factory.mktemp("exports") / "desk") as desk:
        desk.answer = reply
        desk.conversations(*(conversation(place, text) for place, text in enumerate(texts)))
        breaking = desk.verifier("raise ValueError(conversation.id)", name="-breaks|`<b>")
        checking = desk.verifier(
            "return [check(conversation.id, False, conversation.id)]", name="=checks|`<b>", gating=False
        )
        desk.suite(desk.grader(name="behaves") | {"statements": None}, breaking, checking, name="<b>|`=suite")
        assert desk.run().code == 1
        yield desk


def exported(desk: Desk, form: str) -> str:
    done = desk.adjudge("export", "--format", form, "--to", f"exported.{form}")
    assert done.code == 0, done
    return (desk.path / f"exported.{form}").read_bytes().decode()


def test_no_cell_of_a_spreadsheet_is_a_formula_and_numbers_are_numbers(hostile: Desk) -> None:
    text = exported(hostile, "csv")
    head, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)

    assert len(rows) == 29 * 3
    assert {len(row) for row in rows} == {len(head)}
    for name, cell in ((name, cell) for row in rows for name, cell in zip(head, row, strict=True)):
        if name in {"score", "combined_score", "threshold", "met", "total", "rollout", "tool_calls"}:
            assert cell == "" or float(cell) >= 0
            continue
        first = next((sign for sign in cell if sign.isprintable() and not sign.isspace()), "")
        assert unicodedata.normalize("NFKC", first) not in {*"=+-@"}
        assert cell[:1] not in {"\t", "\r", "\n"}
        if cell.startswith("'"):
            assert any(sign in unicodedata.normalize("NFKC", cell[1:]) for sign in "=+-@")


def test_a_spreadsheet_shows_every_text(hostile: Desk) -> None:
    rows = list(csv.DictReader(io.StringIO(exported(hostile, "csv"), newline="")))

    ids = list(dict.fromkeys(row["conversation_id"] for row in rows))
    assert ids[:4] == [f"'{text}" for text in FORMULAS[:4]]
    assert "'=checks|`<b>" in {row["grader"] for row in rows}
    assert "'=1+1'" not in ids


class Tags(HTMLParser):
    """Collects what a browser would make of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, list[str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, [name for name, _ in attrs]))


@pytest.mark.parametrize("flavour", ["commonmark", "gfm-like", "js-default"])
def test_markdown_of_a_hostile_run_has_no_link_no_image_and_no_markup_of_its_own(
    hostile: Desk, flavour: str
) -> None:
    text = exported(hostile, "markdown")
    reader = MarkdownIt(flavour, {"html": True, "linkify": False}).enable("table")

    tags = Tags()
    tags.feed(reader.render(text))

    written = {"h1", "h2", "h3", "p", "code", "pre", "table", "thead", "tbody", "tr", "th", "td", "strong"}
    assert {tag for tag, _ in tags.found} <= written | {"ul", "li"}
    assert {name for _, names in tags.found for name in names} <= {"class", "style"}
    kinds = [token.type for token in reader.parse(text)]
    assert kinds.count("table_open") == 1
    assert kinds.count("td_open") == 8 * 4
    assert "html_block" not in kinds


def test_junit_of_a_hostile_run_is_valid_and_counts_every_case(hostile: Desk) -> None:
    report = exported(hostile, "junit")
    xmlschema.XMLSchema(JUNIT).validate(io.StringIO(report))  # pyright: ignore[reportUnknownMemberType]

    *suites, policy = ET.fromstring(report)

    assert [suite.get("name") for suite in suites] == ["behaves", "-breaks|`<b>", "=checks|`<b>"]
    assert policy.get("tests") == "0"
    for suite in suites:
        cases = suite.findall("testcase")
        assert int(suite.get("tests", "")) == len(cases) == 29
        for tag, count in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            assert int(suite.get(count, "")) == len(suite.findall(f"testcase/{tag}"))
    assert MARKUP[0] in {case.get("name") for case in suites[0]}


def test_results_of_a_hostile_run_come_back_as_they_were(hostile: Desk) -> None:
    done = hostile.adjudge("export", "--format", "result-json", "--to", "results")
    index = json.loads((hostile.path / "results" / "index.json").read_text())

    assert done.code == 0
    for row in index:
        result = json.loads((hostile.path / "results" / row["file"]).read_bytes())
        assert result["agentOutput"] == row["conversation_id"]
        assert [check["label"] for check in result["checks"]] in ([row["conversation_id"]], [])


def test_no_statement_is_filled_in_as_a_template(hostile: Desk) -> None:
    asked = {statement for request in hostile.server.requests for statement in request.statements.values()}

    assert "{{7*7}} ${7*7} {x} %s" in asked
    assert asked == {row["conversation_id"] for row in hostile.results() if row["status"] == "completed"}
