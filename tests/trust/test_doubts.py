"""What verdicts say of themselves: quotes beside their turns, votes, windows, where they came from."""

from __future__ import annotations

from typing import Any, cast

from adjudge.pipeline.grade import ResultRow
from adjudge.pipeline.reports.doubts import doubts
from adjudge.pipeline.trust.closing import doubts_text, substitutions


def rows(*statements: dict[str, Any]) -> list[ResultRow]:
    plain: dict[str, Any] = {"id": "s1", "citations": [], "source": "live", "served_model": None}
    grade = {"grader": "g", "statements": [plain | statement for statement in statements]}
    return [cast("ResultRow", {"conversation_id": "c1", "grades": [grade]})]


def test_quotes_that_were_not_found_are_counted_beside_all() -> None:
    citations = [
        {"turn": 1, "quote": "there", "verified": True},
        {"turn": 2, "quote": "not \x1b there", "verified": False},
    ]

    found = doubts(rows({"citations": citations}, {}))

    (quote,) = found.quotes
    assert (found.cited, found.unverified) == (2, 1)
    assert (quote.conversation_id, quote.place, quote.turn) == ("c1", "g s1", 2)
    assert doubts_text(found).startswith("  1 of 2 quotes were not found in the turn they name\n")
    assert "\x1b" not in doubts_text(found)


def test_of_many_quotes_that_were_not_found_the_first_are_kept() -> None:
    citations = [{"turn": 1, "quote": str(number), "verified": False} for number in range(9)]

    found = doubts(rows({"citations": citations}))

    assert (found.unverified, [one.quote for one in found.quotes]) == (9, list("01234"))
    assert doubts_text(found).endswith("    and 4 more\n")


def test_sources_say_where_verdicts_came_from() -> None:
    assert doubts(rows({}, {"source": "cache"}, {"source": None})).sources == {"live": 1, "cache": 1}


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
