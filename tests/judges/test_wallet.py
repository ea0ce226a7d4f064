"""The wallet: caps are hard, and what is unknown is not free."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.judges.governing.wallet import Wallet
from adjudge.judges.verdict import Attempt


def test_a_wallet_without_caps_lets_every_call_be_made() -> None:
    wallet = Wallet()

    assert all(wallet.reserve() is None for _ in range(1000))
    assert wallet.calls == 1000


@given(cap=st.integers(0, 30), earlier=st.integers(0, 40), wanted=st.integers(0, 60))
def test_calls_of_all_legs_together_never_exceed_the_cap(cap: int, earlier: int, wanted: int) -> None:
    wallet = Wallet(cap, calls=earlier)

    granted = sum(wallet.reserve() is None for _ in range(wanted))

    assert granted == min(wanted, max(0, cap - earlier))
    assert wallet.calls == earlier + granted


def test_the_refusal_names_the_cap_and_how_to_raise_it() -> None:
    failure = Wallet(max_calls=0).reserve()

    assert failure is not None
    assert failure.cause == "budget_exhausted"
    assert failure.retryable
    assert "max_calls 0" in failure.message
    assert "--max-calls" in failure.message


def test_a_reserved_call_that_was_not_made_is_given_back() -> None:
    wallet = Wallet(max_calls=1)
    wallet.reserve()

    wallet.settle(())

    assert wallet.calls == 0
    assert wallet.reserve() is None


def test_a_reached_cost_cap_stops_further_calls() -> None:
    wallet = Wallet(max_cost_usd=1.0)
    wallet.reserve()
    wallet.settle([Attempt(cost_usd=0.5)])
    assert wallet.reserve() is None

    wallet.settle([Attempt(cost_usd=0.5)])

    failure = wallet.reserve()
    assert failure is not None
    assert failure.cause == "budget_exhausted"
    assert "max_cost_usd 1 " in failure.message
    assert "--max-cost" in failure.message


def test_an_unknown_cost_is_counted_as_unknown_and_never_as_zero() -> None:
    wallet = Wallet()
    wallet.reserve()

    wallet.settle([Attempt(cause="timeout"), Attempt(cost_usd=0.25)])

    assert (wallet.calls, wallet.cost_usd, wallet.cost_unknown_calls) == (2, 0.25, 1)


def test_a_request_refused_with_an_http_error_is_free() -> None:
    wallet = Wallet(max_cost_usd=1.0)
    wallet.reserve()

    wallet.settle([Attempt(cause="rate_limited", status=429), Attempt(cause="unavailable", status=503)])

    assert wallet.cost_unknown_calls == 0


def test_under_a_cost_cap_an_unknown_cost_weighs_as_much_as_the_dearest_known() -> None:
    wallet = Wallet(max_cost_usd=1.0)
    for attempt in (Attempt(cost_usd=0.4), Attempt(cost_usd=0.1), Attempt(cause="timeout")):
        assert wallet.reserve() is None
        wallet.settle([attempt])
    assert wallet.exhausted() is None

    wallet.reserve()
    wallet.settle([Attempt(cost_usd=0.1)])

    failure = wallet.exhausted()
    assert failure is not None
    assert "calls of unknown cost: 1" in failure.message


def test_a_cost_cap_stops_a_judge_whose_answers_come_without_a_cost() -> None:
    wallet = Wallet(max_cost_usd=100.0)
    wallet.reserve()

    wallet.settle([Attempt(status=200)])

    failure = wallet.exhausted()
    assert failure is not None
    assert failure.cause == "budget_exhausted"


def test_a_free_model_under_a_cost_cap_may_always_be_asked() -> None:
    wallet = Wallet(max_cost_usd=0.01)
    for attempt in (Attempt(cost_usd=0.0), Attempt(), Attempt(cost_usd=0.0)):
        wallet.reserve()
        wallet.settle([attempt])

    assert wallet.exhausted() is None


def test_what_earlier_legs_spent_counts() -> None:
    wallet = Wallet(max_cost_usd=2.0, calls=10, cost_usd=1.6, cost_unknown_calls=2)

    assert wallet.exhausted() is not None
    assert wallet.cost_usd == pytest.approx(1.6)
