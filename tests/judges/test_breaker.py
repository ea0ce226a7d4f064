"""The breaker's life: closed, open, half open, closed again or given up."""

from __future__ import annotations

from math import inf

import pytest

from adjudge.judges.governing.breaker import CONSECUTIVE, WINDOW, Breaker


def opened(patience: float = 300.0) -> Breaker:
    """A breaker that opened at time 0."""
    breaker = Breaker(patience)
    for _ in range(CONSECUTIVE):
        breaker.failed(probe=False, now=0.0)
    return breaker


def test_ten_transport_failures_in_a_row_open_it() -> None:
    breaker = Breaker(300.0)

    openings = [breaker.failed(probe=False, now=0.0) for _ in range(CONSECUTIVE)]

    assert openings == [False] * 9 + [True]
    assert breaker.state(0.0) == "open"
    assert not breaker.passes(0.0)


def test_an_answer_starts_the_count_again() -> None:
    breaker = Breaker(300.0)
    for _ in range(CONSECUTIVE - 1):
        breaker.failed(probe=False, now=0.0)

    breaker.answered(probe=False)
    breaker.failed(probe=False, now=0.0)

    assert breaker.state(0.0) == "closed"


def test_half_of_the_last_forty_failing_opens_it() -> None:
    breaker = Breaker(300.0)

    for _ in range(WINDOW // 2 - 1):
        breaker.answered(probe=False)
        breaker.failed(probe=False, now=0.0)
    assert breaker.state(0.0) == "closed"
    breaker.answered(probe=False)

    assert breaker.failed(probe=False, now=0.0)


def test_less_than_half_of_the_last_forty_failing_keeps_it_closed() -> None:
    breaker = Breaker(300.0)

    for _ in range(WINDOW):
        breaker.answered(probe=False)
        breaker.answered(probe=False)
        breaker.failed(probe=False, now=0.0)

    assert breaker.state(0.0) == "closed"


def test_after_the_pause_one_probe_passes_and_no_more() -> None:
    breaker = opened()

    assert not breaker.passes(14.9)
    assert breaker.passes(15.0)
    assert breaker.begin()

    assert breaker.state(15.0) == "half_open"
    assert not breaker.passes(15.0)


def test_an_answered_probe_closes_it() -> None:
    breaker = opened()
    breaker.begin()

    assert breaker.answered(probe=True)

    assert breaker.state(16.0) == "closed"
    assert not breaker.begin()


def test_failing_probes_double_the_pause_up_to_five_minutes() -> None:
    breaker, now = opened(patience=10_000.0), 0.0
    pauses: list[float] = []

    for _ in range(7):
        pauses.append(breaker.wait(now))
        now += breaker.wait(now)
        breaker.begin()
        breaker.failed(probe=True, now=now)

    assert pauses == [15, 30, 60, 120, 240, 300, 300]


def test_an_abandoned_probe_leaves_its_place_to_the_next() -> None:
    breaker = opened()
    breaker.begin()

    breaker.abandon(probe=True)

    assert breaker.passes(15.0)


def test_calls_that_began_before_the_outage_do_not_change_it() -> None:
    breaker = opened()

    assert not breaker.failed(probe=False, now=3.0)
    assert not breaker.answered(probe=False)

    assert breaker.wait(3.0) == 12.0


def test_an_outage_that_outlasts_patience_is_given_up_on() -> None:
    breaker, now = opened(patience=300.0), 0.0
    for _ in range(4):
        now += breaker.wait(now)
        breaker.begin()
        breaker.failed(probe=True, now=now)

    assert now == 225.0
    assert breaker.wait(now) == inf
    assert breaker.passes(now + 240.0)


@pytest.mark.parametrize("patience", [1.0, 20.0, 60.0, 300.0])
def test_four_probes_are_made_before_it_is_given_up_on(patience: float) -> None:
    breaker, now, probes = opened(patience), 0.0, 0

    while breaker.wait(now) < inf:
        now += breaker.wait(now)
        breaker.begin()
        breaker.failed(probe=True, now=now)
        probes += 1

    assert probes == 4
    assert now <= patience
