"""What a call cost: prices per million tokens, and the cost of a usage (C10)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adjudge.judges.calling.model_map import listed
from adjudge.judges.verdict import Usage

_TIER = re.compile(r"^(?:input|output)_cost_per_token_above_(\d+)k_tokens$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars per million tokens, each 0 or more.

    Attributes:
        cached_input: of input served from the provider's prefix cache; None charges it as input.
        stored_input: of input that the provider keeps in its prefix cache; None charges it as input.
        up_to: input tokens of a call up to which the prices hold; None is any number. A price map's higher
            tiers are not charged: such a call's cost is unknown.
    """

    input: float
    output: float
    cached_input: float | None = None
    stored_input: float | None = None
    up_to: int | None = None

    def cost(self, usage: Usage, stored: int = 0) -> float | None:
        """Dollars of one call, or None where its tokens, or the price for so many, are unknown.

        `stored`: how many of its input tokens the provider put into its prefix cache.
        """
        read, written = usage.input_tokens, usage.output_tokens
        if read is None or written is None or (self.up_to is not None and read > self.up_to):
            return None
        cached = min(usage.cached_input_tokens or 0, read)
        stored = min(stored, read - cached)
        rate = self.input if self.cached_input is None else self.cached_input
        keeping = self.input if self.stored_input is None else self.stored_input
        fresh = read - cached - stored
        return (fresh * self.input + cached * rate + stored * keeping + written * self.output) / 1e6


def listed_price(model: str) -> Price | None:
    """The price of `provider/model` in the map that litellm ships, read without importing litellm."""
    return mapped_price(listed([model]).get(model))


def mapped_price(row: Mapping[str, Any] | None) -> Price | None:
    """The price in a row of litellm's price map (dollars per token), or None where it names none."""
    if row is None:
        return None
    read, written = row.get("input_cost_per_token"), row.get("output_cost_per_token")
    if read is None or written is None:
        return None
    cached, stored = row.get("cache_read_input_token_cost"), row.get("cache_creation_input_token_cost")
    tiers = [int(found[1]) * 1000 for key in row if (found := _TIER.match(key))]
    return Price(
        input=_per_million(read),
        output=_per_million(written),
        cached_input=None if cached is None else _per_million(cached),
        stored_input=None if stored is None else _per_million(stored),
        up_to=min(tiers, default=None),
    )


def _per_million(dollars: float) -> float:
    return round(dollars * 1e6, 9)
