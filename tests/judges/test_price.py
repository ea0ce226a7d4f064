"""Prices: cached input as such, unknown as unknown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.judges.calling.price import Price, mapped_price
from adjudge.judges.verdict import Usage


def test_cached_input_is_priced_as_such() -> None:
    price = Price(input=2.0, output=8.0, cached_input=0.5)
    usage = Usage(input_tokens=1_000_000, output_tokens=500_000, cached_input_tokens=400_000)

    assert price.cost(usage) == pytest.approx(0.6 * 2 + 0.4 * 0.5 + 0.5 * 8)


def test_cached_input_without_a_price_of_its_own_costs_what_input_costs() -> None:
    usage = Usage(input_tokens=1_000_000, output_tokens=0, cached_input_tokens=400_000)

    assert Price(input=2.0, output=8.0).cost(usage) == pytest.approx(2.0)


def test_input_that_the_provider_keeps_is_priced_as_such() -> None:
    price = Price(input=2.0, output=8.0, cached_input=0.2, stored_input=2.5)
    usage = Usage(input_tokens=1_000_000, output_tokens=0, cached_input_tokens=100_000)

    assert price.cost(usage, stored=400_000) == pytest.approx(0.5 * 2 + 0.1 * 0.2 + 0.4 * 2.5)
    assert price.cost(usage) == pytest.approx(0.9 * 2 + 0.1 * 0.2)


@pytest.mark.parametrize("usage", [Usage(), Usage(input_tokens=5), Usage(output_tokens=5)])
def test_a_cost_of_unknown_tokens_is_unknown(usage: Usage) -> None:
    assert Price(input=1.0, output=1.0).cost(usage) is None


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 2 * 10**6))
def test_a_cost_is_never_negative(read: int, written: int, cached: int) -> None:
    usage = Usage(input_tokens=read, output_tokens=written, cached_input_tokens=cached)

    cost = Price(input=1.0, output=3.0, cached_input=0.1).cost(usage)

    assert cost is not None
    assert cost >= 0


def test_a_row_of_the_price_map_is_per_token_and_a_price_per_million() -> None:
    row = {
        "input_cost_per_token": 2.5e-07,
        "output_cost_per_token": 2e-06,
        "cache_read_input_token_cost": 2.5e-08,
        "cache_creation_input_token_cost": 3e-07,
    }

    assert mapped_price(row) == Price(input=0.25, output=2.0, cached_input=0.025, stored_input=0.3)


@pytest.mark.parametrize("row", [None, {}, {"input_cost_per_token": 1e-06}])
def test_a_row_without_prices_is_an_unknown_price(row: dict[str, float] | None) -> None:
    assert mapped_price(row) is None


def test_a_call_beyond_the_first_price_tier_has_an_unknown_cost() -> None:
    row = {
        "input_cost_per_token": 1e-06,
        "output_cost_per_token": 1e-06,
        "input_cost_per_token_above_200k_tokens": 2e-06,
    }
    price = mapped_price(row)

    assert price is not None
    assert price.cost(Usage(input_tokens=200_000, output_tokens=1)) is not None
    assert price.cost(Usage(input_tokens=200_001, output_tokens=1)) is None
