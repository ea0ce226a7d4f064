"""Dry runs: what would be asked, without asking (and without a server: these judges have none)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from adjudge.judges.failure import UsageError
from adjudge.pipeline.grading.bench import Lookup
from adjudge.pipeline.planning.overrides import Overrides
from adjudge.pipeline.preview.estimate import estimate, estimate_text

if TYPE_CHECKING:
    from tests.pipeline.conftest import NewSuite

PRICED = {"model": "openai/any", "price": {"input": 2.0, "output": 8.0}}


@pytest.fixture
def lookup(tmp_path: Path) -> Lookup:
    return Lookup(cache=tmp_path / "home" / "cache")


def test_every_statement_of_every_conversation_is_a_question(new_suite: NewSuite, lookup: Lookup) -> None:
    found = estimate(new_suite(conversations=["c1", "c2"]), Overrides(), lookup)

    assert (found["conversations"], found["grades"], found["questions"], found["calls"]) == (2, 2, 4, 4)
    assert not lookup.cache.exists()


@pytest.mark.parametrize(
    ("grader", "calls"),
    [
        ({"calls": "per_grader"}, 1),
        ({"samples": 3}, 6),
        ({"judge": None, "jury": ["main", "other"]}, 4),
    ],
)
def test_samples_juries_and_call_modes_are_counted(
    new_suite: NewSuite, lookup: Lookup, grader: dict[str, Any], calls: int
) -> None:
    suite = new_suite(grader, judges={"main": PRICED, "other": PRICED | {"model": "openai/other"}})

    assert estimate(suite, Overrides(), lookup)["calls"] == calls


def test_what_is_not_graded_is_not_asked_about(new_suite: NewSuite, lookup: Lookup) -> None:
    rows: list[Any] = [
        {"id": "c1", "messages": [], "status": "failed"},
        {"id": "c2", "messages": [], "graders": []},
        {"id": "c2", "messages": []},
        "c3",
    ]

    found = estimate(new_suite(conversations=rows), Overrides(), lookup)

    assert (found["conversations"], found["unreadable"], found["calls"]) == (3, 1, 2)
    assert "1 records can't be read" in estimate_text(found)


def test_a_price_makes_a_cost_and_no_price_makes_none(new_suite: NewSuite, lookup: Lookup) -> None:
    priced = estimate(new_suite(judges={"main": PRICED}), Overrides(), lookup)
    unpriced = estimate(new_suite(), Overrides(), lookup)

    tokens = 2 * priced["input_tokens"] + 8 * priced["output_tokens"]
    assert priced["cost_usd"] == pytest.approx(tokens / 1e6)
    assert (unpriced["cost_usd"], unpriced["unpriced_judges"]) == (None, ["main"])
    assert "cost unknown: no price is known for main" in estimate_text(unpriced)


def test_a_listed_model_has_a_price_without_being_loaded(new_suite: NewSuite, lookup: Lookup) -> None:
    suite = new_suite(judges={"main": {"model": "openai/gpt-4.1-mini"}})

    assert estimate(suite, Overrides(), lookup)["cost_usd"]


def test_a_limit_and_chosen_graders_bound_it(new_suite: NewSuite, lookup: Lookup) -> None:
    suite = new_suite({}, {"name": "second", "statements": ["C.", "D."]}, conversations=["c1", "c2", "c3"])

    assert estimate(suite, Overrides(limit=2), lookup)["calls"] == 8
    assert estimate(suite, Overrides(graders=("second",)), lookup)["calls"] == 6
    with pytest.raises(UsageError, match="'third'"):
        estimate(suite, Overrides(graders=("third",)), lookup)


def test_equal_questions_are_asked_once(new_suite: NewSuite, lookup: Lookup) -> None:
    suite = new_suite({"statements": ["A."]}, {"name": "second", "statements": ["A.", "B."]})

    found = estimate(suite, Overrides(), lookup)

    assert (found["questions"], found["repeated"], found["calls"]) == (2, 1, 2)
    assert "1 more are the same questions again\n" in estimate_text(found)


def test_records_that_can_not_be_read_are_named(new_suite: NewSuite, lookup: Lookup) -> None:
    found = estimate(new_suite(conversations=["c1", {"messages": []}]), Overrides(), lookup)

    (named,) = found["unreadable_records"]
    assert "conversations.jsonl:2: " in named
    assert f"  {named}\n" in estimate_text(found)


@pytest.mark.parametrize(
    ("judge", "words"),
    [
        ({"model": "openai/gpt-4.1-mini"}, "OPENAI_API_KEY is not set"),
        ({"model": "nobody-knows-it"}, "no provider that litellm knows"),
    ],
)
def test_a_judge_that_can_not_be_asked_is_said(
    new_suite: NewSuite, lookup: Lookup, judge: dict[str, Any], words: str
) -> None:
    found = estimate(new_suite(judges={"main": judge}), Overrides(), lookup)

    assert words in found["cannot_be_asked"]["main"]
    assert "a run would be refused: main: judge 'main'" in estimate_text(found)


def test_a_judge_that_can_be_asked_is_no_hindrance(new_suite: NewSuite, lookup: Lookup) -> None:
    assert estimate(new_suite(), Overrides(), lookup)["cannot_be_asked"] == {}


def test_a_cap_on_cost_that_can_not_be_kept_is_said(new_suite: NewSuite, lookup: Lookup) -> None:
    found = estimate(new_suite(), Overrides(max_cost_usd=1.0), lookup)

    assert found["cannot_be_asked"]["main"].startswith("no price is known, so the cap on cost")


def test_what_asks_nobody_costs_nothing(new_suite: NewSuite, lookup: Lookup) -> None:
    found = estimate(
        new_suite(conversations=[{"id": "c", "messages": [], "graders": []}]), Overrides(), lookup
    )

    assert estimate_text(found).endswith("nothing to pay\n")
