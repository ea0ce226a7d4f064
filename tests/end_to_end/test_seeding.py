"""A suite made by `adjudge init --from` loads, can be tried, and is judged by the model alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.end_to_end.conftest import Desk, Done

DATA = Path(__file__).parents[1] / "data"
SOURCES = {
    "tau2 tasks": ("seeding/tau2_airline_tasks.json", 0),
    "tau2 results": ("readers/tau2_bench/ecommerce.json", 2),
    "promptfoo output": ("seeding/refund_desk.output.json", 20),
    "promptfoo configuration": ("seeding/refund_desk.promptfooconfig.yaml", 0),
    "Inspect log": ("readers/inspect_log/log_formats.eval", 1),
    "DeepEval cases": ("seeding/deepeval_turns.json", 4),
    "DeepEval run": ("seeding/deepeval_run.json", 2),
}


def init(desk: Desk, file: str) -> Done:
    return desk.adjudge("init", "new", "--from", str(DATA / file))


def run(desk: Desk, *options: str) -> Done:
    """Run the suite that was made, asking the desk's server."""
    judge = ("--judge", "openai/any", "--api-base", desk.server.url)
    return desk.adjudge("run", "new/suite.yaml", *judge, *options)


@pytest.mark.parametrize(("file", "questions"), SOURCES.values(), ids=SOURCES)
def test_a_suite_of_every_source_loads_and_says_what_it_would_ask(
    desk: Desk, file: str, questions: int
) -> None:
    done = init(desk, file)

    assert (done.code, done.out.splitlines()[0]) == (0, "new/suite.yaml")
    tried = run(desk, "--dry-run")
    assert tried.code == 0
    assert f"{questions} calls would be made" in tried.out


@pytest.mark.parametrize("decision", ["met", "not_met"])
def test_the_judge_decides_whatever_the_file_says_was_decided(desk: Desk, decision: str) -> None:
    init(desk, "seeding/refund_desk.output.json")
    statement = "Promises no date for the refund"
    desk.decide({statement: decision})

    run(desk)

    found = [one for grade in desk.grades("expected-behaviors") for one in grade["statements"]]
    assert [one["decision"] for one in found if one["text"] == statement] == [decision, decision]
    assert len(found) == 20


def test_statements_of_a_configuration_are_asked_of_the_conversations_of_its_output(desk: Desk) -> None:
    init(desk, "seeding/refund_desk.promptfooconfig.yaml")

    done = run(desk, "--conversations", str(DATA / "seeding/refund_desk.output.json"))

    assert done.code == 0
    assert [len(grade["statements"]) for grade in desk.grades("expected-behaviors")] == [4, 4, 4, 4, 1, 1]


def test_what_was_not_taken_over_is_said(desk: Desk) -> None:
    done = init(desk, "seeding/refund_desk.output.json")

    assert (
        'adjudge: warning: not taken over: javascript "output.length < 200": a program decides it; '
        "write a verifier (2 times)\n"
    ) in done.err
    assert "12 statements were taken over\n" in done.err


def test_a_conversation_without_a_statement_is_no_pass(desk: Desk) -> None:
    init(desk, "seeding/deepeval_run.json")

    done = run(desk)

    assert done.code == 3
    assert [grade["error"] and grade["error"]["cause"] for grade in desk.grades("expected-behaviors")] == [
        None,
        "no_statements",
        None,
    ]


def test_a_record_that_can_not_be_read_is_named_and_the_exit_code_says_so(desk: Desk) -> None:
    (desk.path / "cases.jsonl").write_text(
        '{"input": "a", "actual_output": "b", "expected_output": "c"}\n{"in'
    )

    done = desk.adjudge("init", "new", "--from", "cases.jsonl")

    assert done.code == 3
    assert "adjudge: warning: cases.jsonl:2: cut short" in done.err
    assert "new/conversations.jsonl" in desk.files()


def test_a_file_without_statements_is_refused(desk: Desk) -> None:
    done = desk.adjudge("init", "new", "--from", "conversations.jsonl")

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(
        "adjudge: 'conversations.jsonl' is none of what carries statements: tau2-bench"
    )
    assert desk.files() == {"conversations.jsonl"}
