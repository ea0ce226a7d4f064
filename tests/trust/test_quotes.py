"""Quotes beside their turns, and where verdicts came from."""

from __future__ import annotations

from typing import Any, cast

from adjudge.pipeline.grade import ResultRow
from adjudge.pipeline.reports.doubts import doubts
from adjudge.pipeline.trust.closing import doubts_text, quotes_text, sources, substitutions
from adjudge.pipeline.trust.quotes import quotes


def rows(*statements: dict[str, Any]) -> list[ResultRow]:
    plain: dict[str, Any] = {"id": "s1", "citations": [], "source": "live", "served_model": None}
    grade = {"grader": "g", "statements": [plain | statement for statement in statements]}
    return [cast("ResultRow", {"conversation_id": "c1", "grades": [grade]})]


def test_quotes_that_were_not_found_are_counted_beside_all() -> None:
    citations = [
        {"turn": 1, "quote": "there", "verified": True},
        {"turn": 2, "quote": "not \x1b there", "verified": False},
    ]

    found = quotes(rows({"citations": citations}, {}))

    assert (found.cited, found.missing) == (2, [("c1", "g s1", 2, "not \x1b there")])
    assert quotes_text(found).startswith("  1 of 2 quotes were not found in the turn they name\n")
    assert "\x1b" not in quotes_text(found)


def test_sources_say_where_verdicts_came_from() -> None:
    assert sources(rows({}, {"source": "cache"}, {"source": None})) == {"live": 1, "cache": 1}


def test_votes_that_differ_and_windows_are_counted() -> None:
    def vote(decision: str | None, **more: Any) -> dict[str, Any]:
        return {"decision": decision} | more

    found = doubts(
        rows(
            {"votes": [vote("met"), vote("not_met")]},
            {"votes": [vote("met"), vote(None)]},
            {"votes": [vote("met", windows=[{}]), vote("met")]},
            {"windows": [{}]},
            {},
        )
    )

    assert (found.statements, found.split, found.windowed) == (5, 1, 2)
    assert "1 of 5 statements have votes that differ" in doubts_text(found)


def test_another_model_than_was_asked_is_named_and_counted() -> None:
    found = doubts(
        rows(
            {"model": "openai/gpt-5", "served_model": "gpt-5-2025-08-07"},
            {"model": "openai/gpt-5", "served_model": "gpt-5-mini-2025-08-07"},
            {"model": "openai/gpt-5", "served_model": "gpt-5-mini-2025-08-07"},
        )
    )

    assert substitutions(found) == [
        "2 statements were decided by gpt-5-mini-2025-08-07 in place of openai/gpt-5"
    ]


def test_nothing_to_doubt_is_nothing_to_say() -> None:
    assert doubts_text(doubts(rows({}))) == ""
