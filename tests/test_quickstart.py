"""The quick start calls nobody: every question it asks has a recorded answer, and every label a statement."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import adjudge
from adjudge.pipeline.suite.load import load_suite
from adjudge.pipeline.trust.labels import Label, read_labels

CONFIGS = Path(__file__).parent.parent / "configs"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> adjudge.Run:
    """The quick start, run once, with nothing to answer but its recordings."""
    return adjudge.run(CONFIGS / "quickstart.yaml", out=tmp_path_factory.mktemp("out"))


def statements(run: adjudge.Run) -> list[dict[str, Any]]:
    """Every statement row of the run."""
    return [dict(s) for row in run.results() for grade in row["grades"] for s in grade.get("statements", [])]


def test_the_quick_start_makes_no_call_and_meets_its_policy(run: adjudge.Run) -> None:
    summary = run.summary()

    assert summary is not None
    assert (summary["calls"], summary["exit_code"]) == (0, 0)
    assert summary["counts"]["errored"] == summary["counts"]["missing"] == 0


def test_every_verdict_says_that_it_was_recorded_and_from_which_model(run: adjudge.Run) -> None:
    rows = statements(run)

    assert len(rows) == 56
    assert {row["source"] for row in rows} == {"recorded"}
    assert {row["served_model"] for row in rows} == {"qwen2.5-coder-1.5b-instruct"}


def test_the_recording_holds_an_answer_for_every_question_and_no_other(run: adjudge.Run) -> None:
    lines = (CONFIGS / "quickstart" / "verdicts.jsonl").read_text().splitlines()

    assert {json.loads(line)["key"] for line in lines} == {row["verdict_key"] for row in statements(run)}


def test_the_report_shows_how_far_the_judge_agrees_and_which_quotes_stand_nowhere(run: adjudge.Run) -> None:
    from adjudge.pipeline.reports.doubts import doubts
    from adjudge.pipeline.trust.closing import trust_text

    said = trust_text(run, run.plan(), doubts(run.results()))

    assert "56 verdicts were recorded from openai/qwen2.5-coder-1.5b-instruct and are replayed" in said
    assert "agree on 36 of 56 labelled statements (64 %, kappa 0.20)" in said
    assert "5 of 10 quotes were not found in the turn they name" in said


def test_every_statement_has_one_label_and_every_label_a_statement(run: adjudge.Run) -> None:
    labels: list[Label] = list(read_labels(load_suite(CONFIGS / "quickstart.yaml").label_files))
    asked = sorted(
        (row["conversation_id"], grade["grader"], statement["text"])
        for row in run.results()
        for grade in row["grades"]
        for statement in grade.get("statements", [])
    )

    assert sorted((label.conversation_id, label.grader or "", label.statement) for label in labels) == asked
