"""Two runs compared: every pair counted once, the same from either side, no winner by chance or gaps."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.pipeline.trust.compare import Table, Trend, trend
from adjudge.pipeline.trust.pairing import Asked, Graded, Pair, Side, couples, pairs

Decided = tuple[str, bool | None, bool | None]

words = st.sampled_from([True, False, None])
decisions = st.lists(st.tuples(st.sampled_from("abcdefghij"), words, words), max_size=60)


def table(rows: Sequence[Decided]) -> Table:
    made = Table()
    for conversation, a, b in rows:
        made.add(
            Pair(
                conversation=conversation,
                cluster=conversation,
                grader="g",
                label="A.",
                a=Side(a),
                b=Side(b),
            )
        )
    return made


def conversation(id_: str, *, test: str | None = None, rollout: int | None = None, **met: bool) -> Graded:
    sides: dict[Asked, Side] = {("g", None): Side(True)}
    sides |= {("g", label): Side(value) for label, value in met.items()}
    return Graded(id=id_, test=test, rollout=rollout, shown="e", sides=sides)


@given(decisions)
def test_every_pair_is_in_exactly_one_count(rows: list[Decided]) -> None:
    found = table(rows)

    assert found.decided + found.missing == len(rows)
    assert found.lost == sum(a is True and b is False for _, a, b in rows)
    assert found.gained == sum(a is False and b is True for _, a, b in rows)
    assert found.lacking(0) == sum(a is None for _, a, _ in rows)
    assert found.met(1) == (sum(b is True for *_, b in rows), sum(b is not None for *_, b in rows))


@given(decisions)
def test_a_comparison_the_other_way_round_says_the_reverse(rows: list[Decided]) -> None:
    there, back = table(rows), table([(name, b, a) for name, a, b in rows])
    turned: dict[Trend, Trend] = {"regression": "improvement", "improvement": "regression"}

    assert (there.lost, there.gained) == (back.gained, back.lost)
    assert back.trends(0.9) == {turned.get(one, one) for one in there.trends(0.9)}
    assert back.difference == (None if there.difference is None else -there.difference)


@given(decisions, st.data())
def test_what_was_not_decided_can_turn_nothing_that_was_said_to_be_sure(
    rows: list[Decided], data: st.DataObject
) -> None:
    answers = table(rows).trends(0.9)
    both = st.booleans()
    filled = [
        (name, data.draw(both) if a is None else a, data.draw(both) if b is None else b)
        for name, a, b in rows
    ]

    if len(answers) == 1 and rows:
        found = table(filled).seen(0.9)
        assert found in {*answers, "no difference"} if answers == {"no difference"} else found in answers


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(3, 3)), max_size=40))
def test_a_trend_is_one_of_three_and_of_the_sign_of_the_difference(nets: list[tuple[int, int]]) -> None:
    found, total = trend(nets, 0.95), sum(net for net, _ in nets)

    assert found in get_args(Trend)
    assert found != "regression" or total < 0
    assert found != "improvement" or total > 0


def test_many_statements_of_few_conversations_make_no_regression() -> None:
    lost = table([(name, True, False) for name in "abcde" for _ in range(20)])

    assert lost.seen(0.95) == "no difference"
    assert table([(name, True, False) for name in "abcdef"]).seen(0.95) == "regression"


def test_the_difference_is_exact() -> None:
    found = table([("a", True, False), ("b", True, True), ("c", False, False), ("d", None, True)])

    assert found.difference == Fraction(-1, 3)


def test_what_one_run_was_not_asked_is_a_pair_without_a_decision_there() -> None:
    (couple,) = couples([conversation("c1", A=True)], [conversation("c1", B=False)], "conversation")

    found = {pair.label: (pair.a.met, pair.b.met, pair.b.why) for pair in pairs(couple)}

    assert found == {
        None: (True, True, ""),
        "A": (True, None, "the grader was not asked this"),
        "B": (None, False, ""),
    }


def test_rollouts_pair_in_the_order_of_their_numbers_or_else_as_they_come() -> None:
    numbered = [conversation("x", test="t", rollout=1), conversation("y", test="t", rollout=0)]
    unnumbered = [conversation("p", test="t"), conversation("q", test="t"), conversation("r")]

    found = couples(numbered, unnumbered, "test")

    assert [(name, a and a.id, b and b.id) for name, _, a, b in found] == [
        ("t #1", "y", "p"),
        ("t #2", "x", "q"),
        ("r", None, "r"),
    ]


@pytest.mark.parametrize("confidence", [0.9, 0.99])
def test_fewer_conversations_are_enough_where_less_confidence_is_asked_for(confidence: float) -> None:
    seven = table([(name, True, False) for name in "abcdefg"])

    assert seven.seen(confidence) == ("regression" if confidence == 0.9 else "no difference")
