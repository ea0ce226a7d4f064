"""A run as JUnit XML: well-formed whatever the text, failures and errors apart."""

from __future__ import annotations

import io
import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge.pipeline.checks import check
from adjudge.pipeline.grade import ResultRow
from adjudge.pipeline.grading.checks_grade import checks_grade
from adjudge.pipeline.planning.plan import PlannedGrader
from adjudge.pipeline.reports.junit import write_junit

HERE = Path(__file__).parents[1]


def stored(name: str) -> list[ResultRow]:
    return [json.loads(line) for line in (HERE / "data/reports" / name).read_text().split("\n") if line]


def report(rows: list[ResultRow]) -> ET.Element:
    stream = io.StringIO()
    write_junit(rows, stream)
    return ET.fromstring(stream.getvalue().encode())


def case(root: ET.Element, grader: str, conversation: str) -> ET.Element:
    found = root.find(f"testsuite[@name='{grader}']/testcase[@name='{conversation}']")
    assert found is not None
    return found


@pytest.mark.parametrize("name", ["results.jsonl", "hostile.jsonl"])
def test_a_report_has_the_shape_of_junit_and_counts_that_add_up(name: str) -> None:
    root = report(stored(name))

    assert root.tag == "testsuites"
    assert counts(root) == add_up(list(root.iter("testcase")))
    for suite in root:
        assert suite.tag == "testsuite"
        assert counts(suite) == add_up(list(suite))
        for testcase in suite:
            assert testcase.tag == "testcase"
            assert testcase.get("classname") == suite.get("name")
            assert testcase.get("name")
            assert [child.tag for child in testcase] in ALLOWED


ALLOWED = [
    [],
    ["properties"],
    ["failure"],
    ["properties", "failure"],
    ["error"],
    ["properties", "error"],
    ["skipped"],
]


def counts(element: ET.Element) -> dict[str, int]:
    return {name: int(element.attrib[name]) for name in ("tests", "failures", "errors", "skipped")}


def add_up(cases: list[ET.Element]) -> dict[str, int]:
    children = [child.tag for testcase in cases for child in testcase]
    return {
        "tests": len(cases),
        "failures": children.count("failure"),
        "errors": children.count("error"),
        "skipped": children.count("skipped"),
    }


def test_a_grader_is_a_suite_and_a_conversation_a_case() -> None:
    suites = [(suite.get("name"), len(suite)) for suite in report(stored("results.jsonl"))]

    assert suites == [("expected-behaviors", 6), ("books-balance", 5), ("tone", 1), ("no grader", 1)]


def test_a_grade_that_failed_is_a_failure_that_says_what_was_not_met() -> None:
    testcase = case(report(stored("results.jsonl")), "expected-behaviors", "desk-2")

    assert [child.tag for child in testcase] == ["failure"]
    assert testcase[0].get("message") == "3 of 4 met, score 0.75, threshold 0.75"
    assert testcase[0].text == "✗ The agent never promises a date.\n  No turn shows it."


def test_a_grade_that_errored_is_an_error_and_no_failure() -> None:
    testcase = case(report(stored("results.jsonl")), "books-balance", "desk-3")

    assert [(child.tag, child.get("type")) for child in testcase] == [("error", "verifier_error")]


def test_a_grader_that_made_no_grade_is_an_error() -> None:
    root = report(stored("results.jsonl"))

    assert case(root, "expected-behaviors", "desk-5")[0].get("type") == "conversation_failed"
    assert case(root, "expected-behaviors", "chat-1")[0].get("type") == "missing"


def test_a_conversation_with_no_grader_is_skipped() -> None:
    testcase = case(report(stored("results.jsonl")), "no grader", "chat-2")

    assert [child.tag for child in testcase] == ["skipped"]


def test_a_grade_that_does_not_gate_says_so() -> None:
    testcase = case(report(stored("results.jsonl")), "tone", "chat-1")

    assert [child.attrib for child in testcase.iter("property")] == [{"name": "gating", "value": "false"}]


@settings(deadline=None)
@given(st.text(st.characters()), st.text(st.characters()), st.text(st.characters(), min_size=1))
def test_a_report_is_well_formed_whatever_the_text(label: str, detail: str, name: str) -> None:
    grader = PlannedGrader(name=name, type="checks", version="v", threshold=0.0, gating=True)
    row = stored("results.jsonl")[0]
    row["conversation_id"], row["grades"] = name, [checks_grade(grader, [check(label, False, detail)])]

    root = report([row])

    assert len(list(root.iter("failure"))) == 1
