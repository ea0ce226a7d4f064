"""The panel: more than half of all votes decide, or nobody does."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.judges.failure import Failure
from adjudge.judges.panel import decide
from adjudge.judges.verdict import Attempt, Citation, Decision, Verdict

DECISIONS: st.SearchStrategy[Decision] = st.sampled_from(["met", "not_met", "undetermined"])
DOWN = Failure(cause="unavailable", message="503", retryable=True, attempts=(Attempt(cause="unavailable"),))


def vote(decision: Decision, rationale: str = "") -> Verdict:
    return Verdict(decision=decision, rationale=rationale)


@given(st.lists(DECISIONS, min_size=1, max_size=9))
def test_the_decision_is_the_one_of_more_than_half_of_all_votes(decisions: list[Decision]) -> None:
    outcome = decide([vote(decision) for decision in decisions])

    majority = [name for name, count in Counter(decisions).items() if count > len(decisions) / 2]
    if majority:
        assert isinstance(outcome, Verdict)
        assert [outcome.decision] == majority
    else:
        assert isinstance(outcome, Failure)
        assert outcome.cause == "no_majority"


@given(st.lists(DECISIONS, min_size=1, max_size=9).flatmap(st.permutations))
def test_the_order_of_votes_does_not_decide(decisions: list[Decision]) -> None:
    def name(outcome: Verdict | Failure) -> str:
        return outcome.decision if isinstance(outcome, Verdict) else outcome.cause

    votes = [vote(decision) for decision in decisions]

    assert name(decide(votes)) == name(decide(votes[::-1]))


def test_the_words_are_those_of_the_first_vote_of_the_majority() -> None:
    citation = Citation(turn=1, quote="Hello", verified=True)
    first = Verdict(decision="not_met", rationale="first", citations=(citation,))

    assert decide([vote("met"), first, vote("not_met", "second")]) is first


def test_an_undetermined_majority_is_undetermined() -> None:
    outcome = decide([vote("undetermined"), vote("met"), vote("undetermined")])

    assert isinstance(outcome, Verdict)
    assert outcome.decision == "undetermined"


def test_a_tie_has_no_majority_and_says_how_the_votes_fell() -> None:
    outcome = decide([vote("met"), vote("not_met"), vote("met"), vote("not_met")])

    assert isinstance(outcome, Failure)
    assert outcome.cause == "no_majority"
    assert "4 votes: 2 met, 2 not_met" in outcome.message
    assert not outcome.retryable


def test_a_failed_vote_makes_the_panel_incomplete_even_beside_a_majority() -> None:
    outcome = decide([vote("met"), vote("met"), DOWN])

    assert isinstance(outcome, Failure)
    assert (outcome.cause, outcome.message, outcome.retryable) == ("unavailable", "vote 3 of 3: 503", True)


def test_attempts_of_a_failed_vote_stay_with_the_vote() -> None:
    outcome = decide([DOWN, vote("met")])

    assert isinstance(outcome, Failure)
    assert outcome.attempts == ()


def test_a_panel_without_votes_is_a_programming_error() -> None:
    with pytest.raises(ValueError, match="votes"):
        decide([])
