"""What calls cost: tokens and dollars, with what is unknown counted apart and never as 0."""

from __future__ import annotations

from collections.abc import Iterable

from adjudge.judges.verdict import Attempt
from adjudge.pipeline.grade import SpentRow, UsageRow


def spent_nothing(cached: int = 0) -> SpentRow:
    """No call at all."""
    return {
        "calls": 0,
        "cached": cached,
        "usage": {"input_tokens": None, "output_tokens": None, "cached_input_tokens": None},
        "usage_unknown_calls": 0,
        "cost_usd": 0.0,
        "cost_unknown_calls": 0,
    }


def spent_on(attempts: Iterable[Attempt], cached: int = 0) -> SpentRow:
    """What `attempts` cost. A request refused with an HTTP error is free; without an answer it is unknown."""
    row = spent_nothing(cached)
    tokens = row["usage"]
    for attempt in attempts:
        row["calls"] += 1
        if attempt.status is not None and attempt.status >= 300:
            continue
        usage = attempt.usage
        if usage.input_tokens is None and usage.output_tokens is None:
            row["usage_unknown_calls"] += 1
        if attempt.cost_usd is None:
            row["cost_unknown_calls"] += 1
        else:
            row["cost_usd"] += attempt.cost_usd
        tokens["input_tokens"] = _add(tokens["input_tokens"], usage.input_tokens)
        tokens["output_tokens"] = _add(tokens["output_tokens"], usage.output_tokens)
        tokens["cached_input_tokens"] = _add(tokens["cached_input_tokens"], usage.cached_input_tokens)
    return row


def spent_in_all(rows: Iterable[SpentRow]) -> SpentRow:
    """The sum of `rows`."""
    total = spent_nothing()
    for row in rows:
        add_spent(total, row)
    return total


def add_spent(total: SpentRow, row: SpentRow) -> None:
    """Add `row` to `total` in place."""
    total["calls"] += row["calls"]
    total["cached"] += row["cached"]
    total["usage"] = _together(total["usage"], row["usage"])
    total["usage_unknown_calls"] += row["usage_unknown_calls"]
    total["cost_usd"] += row["cost_usd"]
    total["cost_unknown_calls"] += row["cost_unknown_calls"]


def _together(one: UsageRow, other: UsageRow) -> UsageRow:
    return {
        "input_tokens": _add(one["input_tokens"], other["input_tokens"]),
        "output_tokens": _add(one["output_tokens"], other["output_tokens"]),
        "cached_input_tokens": _add(one["cached_input_tokens"], other["cached_input_tokens"]),
    }


def _add(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return one if other is None else other
    return one + other
