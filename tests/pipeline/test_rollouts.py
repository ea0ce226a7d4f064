"""The rollouts of tests: which conversations are repeats of each other, and what they come to (S10)."""

from __future__ import annotations

import json
import unicodedata
from decimal import Decimal, getcontext
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.pipeline.grade import ResultRow
from adjudge.pipeline.reports.rollouts import (
    chance_interval,
    rollouts_json,
    rollouts_report,
    rollouts_text,
)
from adjudge.pipeline.rollouts import RolloutGroup, rollouts_of
from adjudge.pipeline.scoring import half_up_root, score

HERE = Path(__file__).parents[1]


def stored(name: str) -> list[ResultRow]:
    return [json.loads(line) for line in (HERE / "data/reports" / name).read_text().split("\n") if line]


def golden(name: str) -> str:
    return (HERE / "golden/reports" / name).read_text()


def row(test: str | None, met: int | None = 1, *, rollout: int | None = None) -> ResultRow:
    """A conversation with one grade of 2 statements of which `met` are; errored where that is None."""
    grade = {
        "grader": "g",
        "result": "errored" if met is None else "passed" if met == 2 else "failed",
        "met": met,
        "total": 2,
    }
    made = {"conversation_id": "c", "test": test, "title": None, "rollout": rollout, "grades": [grade]}
    return cast("ResultRow", made)


def group(passed: int, failed: int, errored: int = 0) -> RolloutGroup:
    scores = [Fraction(1)] * passed + [Fraction(0)] * failed
    n = passed + failed + errored
    return RolloutGroup(task="t", title=None, grader="g", n=n, passed=passed, scores=scores)


def counted(rows: list[ResultRow], sources: list[str]) -> list[tuple[str, str, int]]:
    return [(each.task, each.file, each.n) for each in rollouts_of(rows, sources).groups]


def test_groups_are_told_apart_by_test_and_grader() -> None:
    found = rollouts_of(stored("results.jsonl"))

    assert [(each.task, each.grader, each.n, each.passed, each.errored) for each in found.groups] == [
        ("refund-over-limit", "expected-behaviors", 5, 1, 2),
        ("refund-over-limit", "books-balance", 5, 2, 2),
    ]


def test_a_conversation_without_a_test_is_no_rollout_and_is_counted() -> None:
    found = rollouts_of([row("t"), row(None), row(None)])

    assert ([each.n for each in found.groups], found.without_test) == ([1], 2)
    assert "2 conversations name no test" in rollouts_report(found)
    assert "names a test" in rollouts_report(rollouts_of([row(None)]))


def test_equal_names_in_different_files_are_different_tests() -> None:
    rows = [row("1", rollout=0), row("1", rollout=1), row("1", rollout=0), row("1", rollout=1)]

    assert counted(rows, ["air", "air", "shop", "shop"]) == [("1", "air", 2), ("1", "shop", 2)]
    assert counted([row("1"), row("1")], ["air", "shop"]) == [("1", "air", 1), ("1", "shop", 1)]
    assert "  File          air\n" in rollouts_report(rollouts_of(rows, ["air", "air", "shop", "shop"]))


def test_rollouts_of_one_test_may_lie_in_several_files_if_they_are_numbered() -> None:
    rows = [row("1", rollout=0), row("2", rollout=0), row("1", rollout=1), row("2", rollout=1)]

    assert counted(rows, ["first", "first", "second", "second"]) == [("1", "", 2), ("2", "", 2)]


def test_rollouts_of_one_file_are_of_one_test_whatever_their_numbers() -> None:
    assert counted([row("1", rollout=0), row("1", rollout=0), row("1")], ["f", "f", "f"]) == [("1", "", 3)]


def test_a_test_is_flaky_where_some_rollouts_passed_and_some_failed_and_an_error_is_neither() -> None:
    standings = [each.standing for each in (group(1, 1), group(1, 0, 1), group(0, 2), group(2, 0))]

    assert standings == ["flaky", "not all judged", "never passed", "always passed"]


def test_the_table_shows_flaky_tests_first() -> None:
    rows = [row("sure", 2), row("lost", 0), row("broken", None), row("flaky", 2), row("flaky", 1)]
    table = rollouts_report(rollouts_of(rows)).split("  Test ")[1]

    places = [table.index(f"\n  {name} ") for name in ("flaky", "broken", "lost", "sure")]
    assert places == sorted(places)
    assert "  1 of 4 flaky" in table


@given(st.integers(0, 5), st.integers(0, 5), st.integers(0, 5), st.data())
def test_chances_are_those_of_k_rollouts_drawn_from_the_n(
    passed: int, failed: int, errored: int, data: st.DataObject
) -> None:
    n = passed + failed + errored
    if n == 0:
        return
    k = data.draw(st.integers(1, n))
    subject = group(passed, failed, errored)

    for place, extra in ((0, 0), (1, errored)):
        drawn = list(combinations([True] * (passed + extra) + [False] * (n - passed - extra), k))
        assert subject.pass_at(k)[place] == Fraction(sum(map(any, drawn)), len(drawn))
        assert subject.pass_hat(k)[place] == Fraction(sum(map(all, drawn)), len(drawn))


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), st.data())
def test_chances_lie_within_their_interval_which_widens_with_errors(
    passed: int, failed: int, errored: int, data: st.DataObject
) -> None:
    if passed + failed == 0:
        return
    subject, complete = group(passed, failed, errored), group(passed, failed + errored)
    k = data.draw(st.integers(1, subject.n))

    for every in (True, False):
        low, high = chance_interval(subject, k, 0.95, every=every)
        assert 0 <= low <= high <= 1
        assert low == chance_interval(complete, k, 0.95, every=every)[0]
        assert high >= chance_interval(complete, k, 0.95, every=every)[1]
    low, high = chance_interval(subject, 1, 0.95, every=True)
    assert low <= subject.pass_hat(1)[0] <= subject.pass_hat(1)[1] <= high


def test_the_interval_of_a_chance_is_that_of_the_rate_taken_to_the_power() -> None:
    """Of 3 passed in 5, Clopper and Pearson give 0.1466 to 0.9473."""
    low, high = chance_interval(group(3, 2), 2, 0.95, every=True)
    assert (round(low, 4), round(high, 4)) == (round(0.14663**2, 4), round(0.94726**2, 4))
    low, high = chance_interval(group(3, 2), 2, 0.95, every=False)
    assert (round(low, 3), round(high, 3)) == (round(1 - 0.85337**2, 3), round(1 - 0.05274**2, 3))


@given(st.fractions(0, 10, max_denominator=400))
def test_a_root_is_rounded_half_up_without_an_error_before(root: Fraction) -> None:
    getcontext().prec = 50
    above = Fraction(half_up_root(root * root))

    assert above - Fraction(1, 200) <= root < above + Fraction(1, 200)
    assert half_up_root(Fraction(2), 6) == Decimal("1.414214")


def test_the_deviation_of_scores_is_the_textbook_one() -> None:
    """2, 4, 4, 4, 5, 5, 7, 9 lie around 5 with squares that sum to 32; of a seventh the root is 2.14."""
    scores = [Fraction(value, 10) for value in (2, 4, 4, 4, 5, 5, 7, 9)]
    subject = RolloutGroup(task="t", title=None, grader="g", n=8, scores=scores)

    assert subject.variance == Fraction(32, 700)
    assert "  Spread        0.20 to 0.90, standard deviation 0.21\n" in rollouts_text(subject)


def test_rollouts_as_json_say_what_is_counted_and_what_is_not_known() -> None:
    rows = [row("t", 2), row("t", 1), row("t", None), row(None)]
    found: dict[str, Any] = rollouts_json("r", rollouts_of(rows), 0.9)
    (only,) = found["rollouts"]

    assert (found["conversations_without_test"], found["confidence"]) == (1, 0.9)
    assert (only["rollouts"], only["passed"], only["failed"], only["errored"]) == (3, 1, 1, 1)
    assert (only["mean"], only["lowest"], only["highest"]) == (0.75, 0.5, pytest.approx(2.5 / 3))
    assert only["pass_hat"][0] | {"interval": None} == {
        "k": 1,
        "lowest": pytest.approx(1 / 3),
        "highest": pytest.approx(2 / 3),
        "interval": None,
    }


def test_rollouts_are_a_mean_of_exact_scores_rounded_once() -> None:
    scores = [score(5, 5), score(5, 5), score(5, 5), score(1, 2), score(1, 5)]
    subject = RolloutGroup(task="refund", title="Refund", grader="books", n=5, passed=3, scores=scores)

    assert rollouts_text(subject) == golden("rollouts.txt")


def test_thirds_are_not_rounded_before_they_are_averaged() -> None:
    subject = RolloutGroup(
        task="t", title=None, grader="g", n=3, scores=[score(1, 8), score(1, 8), score(1, 3)]
    )

    assert "  Mean reward   0.19\n" in rollouts_text(subject)  # of 0.13, 0.13, 0.33 it would be 0.20


def test_rollouts_without_a_score_are_counted_and_leave_a_span() -> None:
    assert rollouts_report(rollouts_of(stored("results.jsonl"))) == golden("rollouts-of-a-run.txt")


def test_rollouts_of_which_none_was_scored_have_no_mean_best_or_worst() -> None:
    text = rollouts_text(group(0, 0, 2))

    assert "  Mean reward   -\n  Best          -\n  Worst         -\n  Errored       2\n" in text
    assert "  Passed        0 / 2\n" in text


def test_a_group_of_rollouts_in_which_all_were_scored_has_no_errored_line() -> None:
    assert "Errored" not in rollouts_text(group(1, 0))


def test_no_text_of_a_test_reaches_the_terminal_as_a_command() -> None:
    text = rollouts_report(rollouts_of(stored("hostile.jsonl"), ["\x1b[2J\u202e"]))

    assert not [c for c in text if c != "\n" and unicodedata.category(c) in {"Cc", "Cf", "Zl", "Zp", "Cs"}]
    assert r"etc/x\x1b" in text
