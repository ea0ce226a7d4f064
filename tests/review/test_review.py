"""What the page is told: conversations as the judge saw them, safe to show; labels by what they are about."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.judges.failure import UsageError
from adjudge.pipeline.conclude import result_row
from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.display import visible
from adjudge.pipeline.evidence import EvidenceOptions
from adjudge.pipeline.plain import strings
from adjudge.pipeline.planning.plan import PlannedConversation
from adjudge.pipeline.review.labelling import Labelling
from adjudge.pipeline.review.review import Review
from adjudge.pipeline.review.rows import Rows
from adjudge.pipeline.review.view import conversation_view, without_judgement
from adjudge.pipeline.rundir import Run

ASKS = "The agent asks for the order number."
PASSED, FAILED, ERRORED = 0, 1, 2


def view_of(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The view of a conversation nobody graded."""
    conversation = Conversation.model_validate({"id": "c1", "messages": [*messages], **more})
    row = result_row(PlannedConversation(id=conversation.id, test=conversation.test), [])
    return conversation_view(row, conversation, EvidenceOptions())


@pytest.fixture
def rows(run: Run) -> Generator[Rows]:
    with Rows(run) as rows:
        yield rows


NewReview = Callable[..., Review]


@pytest.fixture
def new_review(run: Run, rows: Rows, tmp_path: Path) -> NewReview:
    """A review of the run by Ann, after these labels."""

    def make(*labels: dict[str, Any], blind: bool = False) -> Review:
        file = tmp_path / "labels.jsonl"
        file.write_text("".join(json.dumps(label) + "\n" for label in labels))
        return Review(run, rows, Labelling(file, "Ann", blind=blind))

    return make


def label(conversation: str, **more: Any) -> dict[str, Any]:
    return {"conversation_id": conversation, "statement": ASKS, "label": "not_met", "reviewer": "Bob"} | more


def said(review: Review, number: int) -> list[str]:
    """Who labelled the first statement of the first grade."""
    return [each["reviewer"] for each in review.conversation(number)["grades"][0]["statements"][0]["labels"]]


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])), st.dictionaries(st.text(), st.text()))
def test_no_text_of_a_conversation_hides_or_acts(text: str, arguments: dict[str, str]) -> None:
    calls = [{"id": "a", "name": text, "arguments": arguments}]
    view = view_of(
        {"role": "user", "content": text, "name": text, "timestamp": text},
        {"role": "assistant", "content": [{"type": "text", "text": text}], "tool_calls": calls},
        {"role": "tool", "content": text, "tool_call_id": "a", "error": text},
        agent_output=text,
        test=text,
    )

    assert [each for each in strings(view) if visible(each, keep="\n\t") != each] == []


@given(st.lists(st.sampled_from(["user", "assistant", "tool"]), max_size=12))
def test_turns_are_numbered_by_their_place(roles: list[str]) -> None:
    view = view_of(*({"role": role, "content": "x"} for role in roles))

    assert [(turn["turn"], turn["role"]) for turn in view["turns"]] == list(enumerate(roles, 1))


@pytest.mark.parametrize(
    ("between", "beside"), [([], True), (["tool"], True), (["user"], False), (["tool", "assistant"], False)]
)
def test_a_result_is_shown_beside_its_call_where_only_results_stand_between(
    between: list[str], beside: bool
) -> None:
    view = view_of(
        {"role": "assistant", "tool_calls": [{"id": "a", "name": "find"}]},
        *({"role": role, "content": "other", "tool_call_id": "z"} for role in between),
        {"role": "tool", "content": "found", "tool_call_id": "a"},
    )
    (call,) = view["turns"][0]["tool_calls"]

    assert (call["result"], call["beside"]) == (len(between) + 2, beside)
    assert view["turns"][-1]["of"] == 1


def test_what_the_agent_put_out_at_last_is_shown_where_it_never_said_it() -> None:
    assert view_of({"role": "assistant", "content": "x"}, agent_output="y")["agent_output"] == "y"
    assert view_of({"role": "assistant", "content": "x"}, agent_output="x")["agent_output"] is None


@pytest.mark.parametrize("number", [PASSED, FAILED, ERRORED])
def test_without_judgement_nothing_is_left_of_what_was_judged(new_review: NewReview, number: int) -> None:
    view = without_judgement(new_review().conversation(number), set())

    for grade in view["grades"]:
        assert set(grade) <= {"grader", "type", "gating", "hidden", "statements"}
        for statement in grade.get("statements", []):
            assert set(statement) == {"id", "text", "required", "hidden"}
    assert (view["combined"], view["scored"], view["grading_state"]) == (None, None, None)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("BLUE KETTLE", [0, 1, 2, 3, 5]),
        ("“ORDER NUMBER”", [0, 1, 2, 3]),
        ('{"price": 40', [0, 2, 3]),
        ("no such order", [0, 2, 3]),
        ("words nobody said", [3]),
        ("2 refunds", [1]),
        ("failed-1", [1]),
        ("tool_calls", []),
        ("assistant", []),
        ("\\", []),
    ],
)
def test_search_looks_at_what_was_said_and_at_nothing_else(
    new_review: NewReview, words: str, found: list[int]
) -> None:
    assert new_review().search(words) == found


def test_a_label_without_evidence_speaks_of_its_conversation(new_review: NewReview) -> None:
    review = new_review(label("passed-1"))

    assert said(review, PASSED) == ["Bob"]
    assert said(review, FAILED) == []


def test_a_label_with_evidence_speaks_of_it_alone_whatever_the_conversation_is_called(
    new_review: NewReview,
) -> None:
    evidence = new_review().conversation(PASSED)["evidence"]
    review = new_review(label("renamed", evidence=evidence), label("failed-1", evidence="0" * 64))

    assert said(review, PASSED) == ["Bob"]
    assert said(review, FAILED) == []
    assert json.loads(review.run())["marks"]["0"] == {"labelled": 0, "disagrees": ["behaves"]}


def test_a_label_of_another_grader_is_not_shown(new_review: NewReview) -> None:
    assert said(new_review(label("passed-1", grader="other")), PASSED) == []
    assert said(new_review(label("passed-1", grader="behaves")), PASSED) == ["Bob"]


@pytest.mark.parametrize(("word", "disagrees"), [("met", []), ("not_met", ["behaves"]), ("undecidable", [])])
def test_only_the_opposite_of_a_decision_disagrees(
    new_review: NewReview, word: str, disagrees: list[str]
) -> None:
    marks = json.loads(new_review(label("passed-1", label=word)).run())["marks"]

    assert marks["0"]["disagrees"] == disagrees


def test_nobody_disagrees_with_an_error(new_review: NewReview) -> None:
    assert json.loads(new_review(label("errored-1")).run())["marks"]["2"]["disagrees"] == []


def test_labels_that_others_add_meanwhile_are_seen(new_review: NewReview, tmp_path: Path) -> None:
    review = new_review()
    assert said(review, PASSED) == []
    with (tmp_path / "labels.jsonl").open("a") as file:
        file.write(json.dumps(label("passed-1")) + "\n")

    assert said(review, PASSED) == ["Bob"]


def test_a_label_names_no_grader_where_the_statement_stands_once(
    new_review: NewReview, tmp_path: Path
) -> None:
    new_review().label(PASSED, 0, "s1", "met", "")

    assert "grader" not in json.loads((tmp_path / "labels.jsonl").read_text())


def test_a_statement_that_is_not_there_is_refused(new_review: NewReview) -> None:
    with pytest.raises(UsageError, match="has no statement 's9' of grade 0"):
        new_review().label(PASSED, 0, "s9", "met", "")
