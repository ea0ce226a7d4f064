"""Rates, kappa and alpha beside published examples, other libraries, and the truth they are to cover."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from importlib import import_module
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.pipeline.trust.corrected import corrected
from adjudge.pipeline.trust.figures import Clustered, Figure, Pair, alpha, effective_size, proportion, rates
from adjudge.pipeline.trust.proportions import wilson

close: Any = partial(pytest.approx, abs=1e-9)
WORDS = ("met", "not_met")
EVERY: list[Pair] = [("met", "met"), ("met", "not_met"), ("not_met", "met"), ("not_met", "not_met")]
tables = st.lists(st.integers(0, 40), min_size=4, max_size=4)


def apart(table: Sequence[int]) -> Clustered:
    """Pairs as often as `table` says, each of a conversation of its own."""
    pairs = [pair for pair, count in zip(EVERY, table, strict=True) for _ in range(count)]
    return Clustered.of(enumerate(pairs))


def test_kappa_of_20_5_10_and_15_is_two_fifths() -> None:
    """The grant example that textbooks use for Cohen's kappa: 20, 5, 10 and 15 of 50."""
    assert apart([20, 5, 10, 15]).kappa(0.95).value == Fraction(2, 5)


@given(tables)
def test_figures_are_those_of_scikit_learn(table: list[int]) -> None:
    metrics: Any = import_module("sklearn.metrics")
    pairs = apart(table)
    people = [pair[0] for cluster in pairs.clusters.values() for pair in cluster]
    judge = [pair[1] for cluster in pairs.clusters.values() for pair in cluster]

    found = rates(pairs, 0.95)

    both = {word: word in people or word in judge for word in WORDS}
    if all(both.values()) and (len(set(people)) > 1 or len(set(judge)) > 1):
        assert float(found["kappa"].value or 0) == close(metrics.cohen_kappa_score(people, judge))
    if table[0] + table[1]:
        assert float(found["tpr"].value or 0) == close(metrics.recall_score(people, judge, pos_label="met"))
    if table[0] + table[2]:
        theirs = metrics.precision_score(people, judge, pos_label="met")
        assert float(found["precision"].value or 0) == close(theirs)
    if sum(table):
        assert float(found["accuracy"].value or 0) == close(metrics.accuracy_score(people, judge))


@given(tables)
def test_an_interval_holds_its_figure(table: list[int]) -> None:
    for name, figure in rates(apart(table), 0.95).items():
        if figure.value is not None and figure.interval is not None:
            low, high = figure.interval
            assert -1 <= low <= float(figure.value) + 1e-12, name
            assert float(figure.value) - 1e-12 <= high <= 1, name


def test_statements_apart_have_wilsons_interval() -> None:
    assert proportion([(1, 1)] * 8 + [(0, 1)] * 2, 0.95).interval == close(wilson(8, 10))


def test_ten_statements_that_stand_or_fall_together_are_worth_one() -> None:
    together = proportion([(10, 10)] * 8 + [(0, 10)] * 2, 0.95)

    assert together.value == Fraction(4, 5)
    assert together.effective == pytest.approx(10, rel=0.2)
    assert together.interval is not None
    assert together.interval[1] - together.interval[0] > 0.35


def test_statements_are_never_worth_more_than_they_are() -> None:
    assert effective_size(20, 0.5, [0.0] * 10) == 20


@given(st.lists(st.lists(st.sampled_from(["met", "not_met", "undecidable", ""]), min_size=3, max_size=3),
                min_size=2, max_size=25))  # fmt: skip
def test_alpha_is_that_of_the_krippendorff_library(units: list[list[str]]) -> None:
    library: Any = import_module("krippendorff")
    codes = {"met": 0.0, "not_met": 1.0, "undecidable": 2.0, "": float("nan")}
    table = [[codes[unit[rater]] for unit in units] for rater in range(3)]
    said = [[word for word in unit if word] for unit in units]

    found = alpha(enumerate(said), 0.95)

    paired = [words for words in said if len(words) > 1]
    assert found.n == len(paired)
    if len({word for words in paired for word in words}) > 1:
        theirs = library.alpha(table, level_of_measurement="nominal", value_domain=[0.0, 1.0, 2.0])
        assert float(found.value or 0) == close(theirs)
    else:
        assert found.value is None


def test_alpha_of_krippendorffs_own_example() -> None:
    """Computing Krippendorff's Alpha-Reliability (2011), section C: four observers, nominal, 0.743."""
    observers = [
        "1 2 3 3 2 1 4 1 2 . . .",
        "1 2 3 3 2 2 4 1 2 5 . 3",
        ". 3 3 3 2 3 4 2 2 5 1 .",
        "1 2 3 3 2 4 4 1 2 5 1 .",
    ]
    units = zip(*(line.split() for line in observers), strict=True)

    found = alpha(enumerate([word for word in unit if word != "."] for unit in units), 0.95)

    assert found.value is not None
    assert round(float(found.value), 3) == 0.743


def test_the_corrected_share_is_that_of_rogan_and_gladen() -> None:
    """(rate + tnr - 1) / (tpr + tnr - 1), with 0.9, 0.8 and a rate of 0.5: 3/7."""
    found = corrected(0.5, 2000, figure(Fraction(9, 10), 500), figure(Fraction(4, 5), 500))

    assert found.value == close(3 / 7)
    assert found.interval is not None
    assert found.interval[0] < 3 / 7 < found.interval[1]


def test_a_judge_that_guesses_cant_be_corrected() -> None:
    found = corrected(0.5, 1000, figure(Fraction(11, 20), 40), figure(Fraction(1, 2), 40))

    assert found.value is None
    assert found.unusable is not None
    assert "guesses" in found.unusable


def test_without_labels_of_one_kind_nothing_can_be_corrected() -> None:
    found = corrected(0.5, 1000, figure(None, 0), figure(Fraction(1, 2), 40))

    assert found.unusable == "people call no labelled statement met, so that error rate is unknown"


@pytest.mark.parametrize(("tpr", "tnr", "share"), [(0.9, 0.8, 0.5), (0.95, 0.7, 0.2), (0.75, 0.75, 0.8)])
def test_intervals_cover_the_truth_about_as_often_as_they_say(tpr: float, tnr: float, share: float) -> None:
    """Of 200 seeded draws of 120 labelled and 600 judged statements, three to a conversation."""
    random = Random(f"{tpr} {tnr} {share}")
    covered = {"tpr": 0, "tnr": 0, "corrected": 0}
    for _ in range(200):
        pairs: list[tuple[int, Pair]] = []
        met: list[tuple[int, int]] = []
        for conversation in range(200):
            drawn = [_draw(random, tpr, tnr, share) for _ in range(3)]
            met.append((sum(judge == "met" for _, judge in drawn), 3))
            if conversation < 40:
                pairs += ((conversation, pair) for pair in drawn)
        found = rates(Clustered.of(pairs), 0.95)
        judged = proportion(met, 0.95)
        right = corrected(float(judged.value or 0), judged.effective, found["tpr"], found["tnr"])
        for name, interval, truth in (
            ("tpr", found["tpr"].interval, tpr),
            ("tnr", found["tnr"].interval, tnr),
            ("corrected", right.interval or (0, 1), share),
        ):
            low, high = interval or (0, 1)
            covered[name] += low <= truth <= high
    assert min(covered.values()) >= 180, covered  # 190 expected; below 180 by chance once in 1,000


def _draw(random: Random, tpr: float, tnr: float, share: float) -> Pair:
    if random.random() < share:
        return ("met", "met" if random.random() < tpr else "not_met")
    return ("not_met", "not_met" if random.random() < tnr else "met")


def figure(value: Fraction | None, n: int) -> Figure:
    return Figure(value=value, n=n, interval=None, effective=float(n))
