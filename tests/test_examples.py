"""The examples that ship are runnable, and decide what they say they decide."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import adjudge
from adjudge import Check, Conversation
from adjudge.judges.failure import Failure
from adjudge.pipeline.checks import Verifier, load_verifier, verify
from adjudge.pipeline.conversation import Message
from adjudge.pipeline.readers import read_conversations

AIRLINE = Path(__file__).parent.parent / "configs" / "examples" / "airline"
LABELS = Path(__file__).parent / "data" / "airline_program_labels.json"
BOTH = {"airline-28-trial0", "airline-28-trial1"}
"""Conversations with the sentence `Agent does not cancel any other reservation.`, which has no label."""


@pytest.fixture(scope="module")
def verifier() -> Verifier:
    return load_verifier(AIRLINE / "cancellations.py", "verify")


def conversations() -> dict[str, Conversation]:
    found = read_conversations(AIRLINE / "conversations.jsonl", "native")
    return {one.id: one for one in found if isinstance(one, Conversation)}


def passed(verifier: Verifier, conversation: Conversation) -> dict[str, bool]:
    """What the verifier says of each of the conversation's sentences."""
    return {one.label: one.passed for one in checks(verifier, conversation)}


def checks(verifier: Verifier, conversation: Conversation) -> list[Check]:
    outcome = verify(verifier, conversation)
    assert not isinstance(outcome, Failure), outcome
    return outcome


def expecting(conversation: Conversation, *sentences: str) -> Conversation:
    return conversation.model_copy(update={"metadata": {"expected": list(sentences)}})


def cancelling(*reservations: str, error: str | None = None) -> Conversation:
    """A conversation whose agent cancels these, or tries to."""
    messages: list[Message] = []
    for reservation in reservations:
        call = {"id": reservation, "name": "cancel_reservation", "arguments": {"reservation_id": reservation}}
        messages.append(Message.model_validate({"role": "assistant", "tool_calls": [call]}))
        messages.append(Message(role="tool", tool_call_id=reservation, error=error))
    return Conversation(id="c", messages=messages)


def test_the_airlines_verifier_agrees_with_every_label_of_another_program(verifier: Verifier) -> None:
    labels: dict[str, dict[str, bool]] = json.loads(LABELS.read_text())

    found = {name: passed(verifier, one) for name, one in conversations().items()}
    for name in BOTH:
        del found[name]["Agent does not cancel any other reservation."]

    assert found == labels
    assert sum(map(len, labels.values())) == 30


def test_the_agent_that_cancels_more_than_was_named_is_found_out(verifier: Verifier) -> None:
    sentence = "Agent does not cancel any other reservation."
    told = {name: passed(verifier, one).get(sentence) for name, one in conversations().items()}

    assert {name for name, holds in told.items() if holds is False} == BOTH


@pytest.mark.parametrize(
    ("sentence", "made", "holds"),
    [
        ("Agent cancels reservation AAAAA1.", ["AAAAA1"], True),
        ("Agent cancels reservation AAAAA1.", ["BBBBB2"], False),
        ("Agent should cancel AAAAA1", [], False),
        ("Agent does not cancel AAAAA1.", ["BBBBB2"], True),
        ("Check that Agent should not cancel AAAAA1", ["AAAAA1"], False),
        ("Agent does not cancel flight.", [], True),
        ("Agent does not cancel flight.", ["AAAAA1"], False),
        ("Agent does not cancel  any other reservation.", ["AAAAA1"], False),
    ],
)
def test_a_sentence_about_a_cancellation_is_decided_by_the_calls(
    verifier: Verifier, sentence: str, made: list[str], holds: bool
) -> None:
    assert passed(verifier, expecting(cancelling(*made), sentence)) == {sentence: holds}


def test_a_cancellation_that_failed_is_none(verifier: Verifier) -> None:
    (found,) = checks(
        verifier, expecting(cancelling("AAAAA1", error="no such reservation"), "Agent cancels AAAAA1.")
    )

    assert (found.passed, found.detail) == (False, "cancelled: nothing")


@pytest.mark.parametrize(
    "sentence", ["Agent does not cancel insurance or offer a refund.", "Agent upgrades AAAAA1.", ""]
)
def test_a_sentence_about_something_else_is_an_error_and_no_pass(verifier: Verifier, sentence: str) -> None:
    outcome = verify(verifier, expecting(cancelling("AAAAA1"), sentence))

    assert isinstance(outcome, Failure)
    assert outcome.cause == "verifier_error"
    assert "not a sentence about a cancellation" in outcome.message


def test_the_airlines_checks_run_without_a_model(tmp_path: Path) -> None:
    run = adjudge.run(AIRLINE / "suite.yaml", out=tmp_path, graders=["cancellations"])

    summary = run.summary()
    assert summary is not None
    assert (summary["counts"]["passed"], summary["counts"]["failed"], summary["counts"]["errored"]) == (
        10,
        6,
        0,
    )
    assert (summary["calls"], summary["exit_code"]) == (0, 1)
