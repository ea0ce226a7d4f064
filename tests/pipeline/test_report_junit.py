"""A run as JUnit XML: valid whatever the text, failures and errors apart, never green by omission."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import xmlschema
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge.pipeline.checks import check
from adjudge.pipeline.grade import ResultRow, SummaryRow
from adjudge.pipeline.grading.checks_grade import checks_grade
from adjudge.pipeline.planning.plan import PlannedGrader
from adjudge.pipeline.reports.junit import write_junit

HERE = Path(__file__).parents[1]
SCHEMA = xmlschema.XMLSchema(HERE / "data/junit/junit.xsd")
BEGUN = "2026-11-30T19:05:01+00:00"


def stored(name: str) -> list[ResultRow]:
    return [json.loads(line) for line in (HERE / "data/reports" / name).read_text().split("\n") if line]


def summary(
    exit_code: int = 1, reasons: tuple[str, ...] = ("3 of 11 gating grades failed",), **counts: int
) -> SummaryRow:
    """The stored summary, with nothing unreadable or incomplete unless told otherwise."""
    row: Any = json.loads((HERE / "data/reports/summary.json").read_text())
    row["counts"] |= {"unreadable": 0, "evidence_incomplete": 0} | counts
    row["exit_code"] = exit_code
    result = {0: "met", 1: "not_met"}.get(exit_code, "undecided")
    row["policy"] = {"name": "all_passed", "result": result, "reasons": list(reasons)}
    return row


def report(rows: list[ResultRow], of: SummaryRow | None = None) -> ET.Element:
    stream = io.StringIO()
    write_junit(of or summary(), rows, stream, begun=BEGUN)
    content = stream.getvalue().encode()
    SCHEMA.validate(io.BytesIO(content))  # pyright: ignore[reportUnknownMemberType]
    return ET.fromstring(content)


def case(root: ET.Element, grader: str, conversation: str) -> ET.Element:
    found = root.find(f"testsuite[@name='{grader}']/testcase[@name='{conversation}']")
    assert found is not None
    return found


def outcome(testcase: ET.Element) -> tuple[str, str | None]:
    (child,) = testcase
    return child.tag, child.get("type")


@pytest.mark.parametrize("name", ["results.jsonl", "hostile.jsonl"])
def test_a_report_is_valid_and_its_counts_add_up(name: str) -> None:
    root = report(stored(name))

    assert counts(root) == add_up(list(root.iter("testcase")))
    for suite in root:
        cases = suite.findall("testcase")
        assert counts(suite) == add_up(cases)
        assert suite.get("skipped") == str(len(suite.findall("testcase/skipped")))
        assert {testcase.get("classname") for testcase in cases} <= {suite.get("name")}


def counts(element: ET.Element) -> dict[str, int]:
    return {name: int(element.attrib[name]) for name in ("tests", "failures", "errors")}


def add_up(cases: list[ET.Element]) -> dict[str, int]:
    children = [child.tag for testcase in cases for child in testcase]
    return {
        "tests": len(cases),
        "failures": children.count("failure"),
        "errors": children.count("error"),
    }


def test_a_grader_is_a_suite_and_a_conversation_a_case() -> None:
    suites = [
        (suite.get("name"), len(suite.findall("testcase"))) for suite in report(stored("results.jsonl"))
    ]

    assert suites == [
        ("expected-behaviors", 6), ("books-balance", 5), ("tone", 1), ("no grader", 1), ("policy", 0),
    ]  # fmt: skip


def test_a_suite_says_when_the_run_began_and_claims_no_duration() -> None:
    root = report(stored("results.jsonl"))

    assert {suite.get("timestamp") for suite in root} == {BEGUN}
    assert [element for element in root.iter() if "time" in element.attrib] == []


def test_a_grade_that_failed_is_a_failure_that_says_what_was_not_met() -> None:
    testcase = case(report(stored("results.jsonl")), "expected-behaviors", "desk-2")

    assert outcome(testcase) == ("failure", "failed")
    assert testcase[0].get("message") == "3 of 4 met, score 0.75, threshold 0.75"
    assert testcase[0].text == "✗ The agent never promises a date.\n  No turn shows it."


def test_a_grade_that_errored_is_an_error_and_no_failure() -> None:
    testcase = case(report(stored("results.jsonl")), "books-balance", "desk-3")

    assert outcome(testcase) == ("error", "verifier_error")


def test_a_grader_that_made_no_grade_is_an_error_in_words() -> None:
    root = report(stored("results.jsonl"))
    ended, waiting = (
        case(root, "expected-behaviors", "desk-5"),
        case(root, "expected-behaviors", "chat-1"),
    )

    assert outcome(ended) == ("error", "conversation_failed")
    assert (ended[0].get("message") or "").startswith("not graded: the conversation failed")
    assert outcome(waiting) == ("error", "missing")
    assert "adjudge resume" in (waiting[0].get("message") or "")


def test_a_conversation_with_no_grader_is_skipped_in_words() -> None:
    testcase = case(report(stored("results.jsonl")), "no grader", "chat-2")

    assert [(child.tag, child.attrib) for child in testcase] == [
        ("skipped", {"message": "no grader is selected for it"})
    ]


def test_a_grader_that_does_not_gate_says_so() -> None:
    root = report(stored("results.jsonl"))

    found = {suite.get("name"): suite.find("properties/property[@name='gating']") for suite in root}
    assert [name for name, gating in found.items() if gating is not None] == ["tone"]


def test_the_policy_gives_its_reasons() -> None:
    root = report(stored("results.jsonl"))

    said = [
        (row.get("name"), row.get("value")) for row in root.iterfind("testsuite[@name='policy']//property")
    ]
    assert said == [
        ("policy", "all_passed"),
        ("result", "not_met"),
        ("exit_code", "1"),
        ("reason", "3 of 11 gating grades failed"),
    ]


@pytest.mark.parametrize(
    ("of", "cause"),
    [
        (
            summary(3, ("judge_unreliable: judge 'main' says met of 'X', which is not_met",)),
            "judge_unreliable",
        ),
        (summary(3, ("judge_not_admitted: 12 of 20 labels agree",)), "judge_not_admitted"),
        (summary(3, ("1 record could not be read",), unreadable=1), "unreadable"),
        (summary(1, ("1 record could not be read",), unreadable=1), "unreadable"),
        (summary(3, ("the evidence is flagged",), evidence_incomplete=1), "evidence_incomplete"),
        (summary(3, ("no gating grade was planned",)), "undecided"),
        (summary(130, ("interrupted",)), "undecided"),
    ],
    ids=lambda value: value if isinstance(value, str) else str(value["exit_code"]),
)
def test_a_run_whose_grades_all_passed_is_not_green_if_the_policy_is_not_met(
    of: SummaryRow, cause: str
) -> None:
    passed = [row for row in stored("results.jsonl") if row["conversation_id"] == "desk-1"]

    testcase = case(report(passed, of), "policy", "policy")

    assert outcome(testcase) == ("error", cause)
    assert testcase[0].text == "\n".join(of["policy"]["reasons"])


def test_a_run_of_nothing_is_not_green() -> None:
    assert outcome(case(report([], summary(5, ("no grade was planned",))), "policy", "policy"))[0] == "error"


def test_the_policy_adds_no_case_where_it_is_met_or_another_case_says_why_not() -> None:
    rows = stored("results.jsonl")
    passed = [row for row in rows if row["conversation_id"] == "desk-1"]

    assert report(passed, summary(0)).find("testsuite[@name='policy']/testcase") is None
    assert report(rows, summary(3)).find("testsuite[@name='policy']/testcase") is None


def test_a_grader_called_policy_is_not_taken_for_the_policy() -> None:
    row = stored("results.jsonl")[0]
    row["grades"][0]["grader"] = "policy"

    root = report([row], summary(3))

    assert len(case(root, "policy", row["conversation_id"])) == 0
    assert outcome(case(root, "policy of the run", "policy"))[0] == "error"


@settings(deadline=None)
@given(st.text(st.characters()), st.text(st.characters()), st.text(st.characters(), min_size=1))
def test_a_report_is_valid_whatever_the_text(label: str, detail: str, name: str) -> None:
    grader = PlannedGrader(name=name, type="checks", version="v", threshold=0.0, gating=True)
    row = stored("results.jsonl")[0]
    row["conversation_id"], row["grades"] = name, [checks_grade(grader, [check(label, False, detail)])]
    of = summary(3, (f"judge_unreliable: {label}",))
    of["suite"] = name

    root = report([row], of)

    assert len(list(root.iter("failure"))) == 1
