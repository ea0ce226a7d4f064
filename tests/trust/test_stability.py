"""Which statements could turn a grade, and what counts as a flip."""

from __future__ import annotations

from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from adjudge.pipeline.grade import GradeRow
from adjudge.pipeline.scoring import exact, result, score
from adjudge.pipeline.trust.matching import Answer
from adjudge.pipeline.trust.stability import Case, could_turn, stability

Row = tuple[str, bool]

rows = st.lists(
    st.tuples(st.sampled_from(["met", "not_met", "undetermined"]), st.booleans()), min_size=1, max_size=8
)
thresholds = st.sampled_from([0.0, 0.1, 0.5, 0.67, 0.75, 1.0])


def grade(statements: list[Row], threshold: float) -> GradeRow:
    met = sum(decision == "met" for decision, _ in statements)
    required_met = all(decision == "met" for decision, required in statements if required)
    return cast(
        "GradeRow",
        {
            "result": result(score(met, len(statements)), exact(threshold), required_met),
            "met": met,
            "total": len(statements),
            "threshold": threshold,
            "statements": [{"decision": decision, "required": required} for decision, required in statements],
        },
    )


def case(*votes: tuple[str, str | None], conversation: str = "c1") -> Case:
    return Case(
        conversation_id=conversation,
        grader="g",
        place=0,
        statement="A.",
        graded=True,
        could_turn=True,
        counted=None,
        votes=[
            Answer(
                judge=judge,
                decision=cast("Any", word) if word in ("met", "not_met") else None,
                cause=None if word in ("met", "not_met") else word or "timeout",
            )
            for judge, word in votes
        ],
    )


@given(rows, thresholds)
def test_a_statement_could_turn_a_grade_if_deciding_it_otherwise_makes_another_result(
    statements: list[Row], threshold: float
) -> None:
    decided = grade(statements, threshold)

    turning = set(could_turn(decided))

    for place, (decision, required) in enumerate(statements):
        other = "not_met" if decision == "met" else "met"
        turned = grade([*statements[:place], (other, required), *statements[place + 1 :]], threshold)
        assert (place in turning) == (turned["result"] != decided["result"])


def test_nothing_could_turn_an_errored_grade() -> None:
    errored = grade([("met", True), ("undetermined", True)], 1.0)
    errored["met"] = None
    errored["result"] = "errored"

    assert list(could_turn(errored)) == []


def test_an_undetermined_answer_is_a_flip_and_an_error_is_no_answer() -> None:
    found = case(("j", "met"), ("j", "undetermined"), ("j", None), ("j", "met"))

    assert (found.flips, found.repeats, found.errors) == (1, 2, {"timeout": 1})


def test_where_the_first_answer_errored_the_first_decided_one_takes_its_place() -> None:
    found = case(("j", None), ("j", "not_met"), ("j", "not_met"))

    assert (found.flips, found.repeats) == (0, 1)


def test_judges_are_not_held_to_what_another_says() -> None:
    assert case(("one", "met"), ("two", "not_met"), ("two", "not_met")).flips == 0


@given(st.lists(st.lists(st.sampled_from(["met", "not_met", "undetermined", None]), max_size=5), max_size=8))
def test_no_repeat_is_lost(votes: list[list[str | None]]) -> None:
    every = [
        case(*(("j", word) for word in some), conversation=f"c{n}") for n, some in enumerate(votes) if some
    ]

    found = stability(every)

    rate = found.whole.rate(0.95)
    assert found.statements == len(every)
    assert rate.n == sum(max(0, sum(word is not None for word in some) - 1) for some in votes)
    assert found.whole.flips == sum(one.flips for one in every) <= rate.n
    assert [one for one in every if one.flips] == found.flipped
