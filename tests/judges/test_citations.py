"""Quotes stand in the turn they cite, or they don't (J6)."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from adjudge.judges.citations import quote_stands, verify
from adjudge.judges.request import Evidence, digest
from adjudge.judges.verdict import Citation, Verdict
from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.evidence import render

AIRLINE = Path(__file__).parent.parent / "data" / "prompt" / "airline.jsonl"


def test_a_quote_of_the_turns_words_stands() -> None:
    assert quote_stands(("I can refund you today.",), "refund you")


def test_a_quote_may_stand_in_any_string_of_the_turn() -> None:
    assert quote_stands(("words", "arguments", "A-1042 is delivered"), "is delivered")


def test_a_quote_that_joins_two_strings_of_a_turn_does_not_stand() -> None:
    assert not quote_stands(("the end", "the start"), "the end the start")


def test_a_turn_without_strings_holds_no_quote() -> None:
    assert not quote_stands((), "anything")


@pytest.mark.parametrize("quote", ["", " ", "\n\t", "\u200b", "\ufeff\u00ad", "…", "...", "... ..."])
def test_an_empty_quote_never_stands(quote: str) -> None:
    assert not quote_stands(("some words, and more", "\u200b \ufeff\u00ad"), quote)


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        pytest.param("I can\n  refund   you", "I can refund you", id="white space"),
        pytest.param("1 000 €", "1 000 €", id="no-break spaces"),
        pytest.param('He said "no", didn\'t he', "He said “no”, didn’t he", id="curled marks"),
        pytest.param("He said “no”", "He said 'no'", id="other marks"),
        pytest.param("wait—there is 5–6", "wait-there is 5-6", id="dashes"),
        pytest.param("wait -- there", "wait — there", id="double dash"),
        pytest.param("Well… maybe", "Well... maybe", id="ellipsis character"),
        pytest.param("cafe\u0301", "café", id="combining accent"),
        pytest.param("ﬁle ２０２４", "file 2024", id="compatibility forms"),
        pytest.param("co\u00adop\u200bera\ufefftion", "cooperation", id="unseen characters"),
        pytest.param("The **total** is 5", "The total is 5", id="bold marks"),
        pytest.param('{"id":"A1","n":[1,2]}', '{"id": "A1", "n": [1, 2]}', id="spaced JSON"),
        pytest.param("สวัสดี ครับ ขอคืนเงิน", "ครับขอคืนเงิน", id="Thai"),
        pytest.param("返金は\n三日かかります", "返金は三日かかります", id="Japanese"),
        pytest.param('{"path":"C:\\\\new"}', "C:\\new", id="escaped path"),
        pytest.param("Ich zahle 5 €", "Ich zahle 5 \\u20ac", id="escaped letter"),
        pytest.param("ok 🙂!", "ok \\ud83d\\ude42!", id="escaped pair"),
    ],
)
def test_a_quote_retyped_stands(text: str, quote: str) -> None:
    assert quote_stands((text,), quote)


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        pytest.param("Order 447 is late", "Order 448 is late", id="number"),
        pytest.param("Order 447 is late", "order 447 is late", id="case"),
        pytest.param("I did cancel it", "I did not cancel it", id="word put in"),
        pytest.param("I did not cancel it", "I did cancel it", id="word left out"),
        pytest.param("the rapist", "therapist", id="space between letters"),
        pytest.param("12 5", "125", id="space between digits"),
        pytest.param("resume", "resumé", id="accent"),
    ],
)
def test_a_quote_that_says_something_else_does_not_stand(text: str, quote: str) -> None:
    assert not quote_stands((text,), quote)


def test_a_quote_with_an_ellipsis_stands_if_its_pieces_stand_in_order() -> None:
    turn = ("We will refund the order within five working days.",)
    assert quote_stands(turn, "We will refund … five working days")
    assert quote_stands(turn, "refund the order [...] working days.")
    assert not quote_stands(turn, "five working days ... We will refund")
    assert not quote_stands(turn, "We will refund ... six working days")


def test_an_ellipsis_does_not_turn_scraps_into_a_quote() -> None:
    assert not quote_stands(("We will refund the order",), "W ... ill ... der")


def test_an_ellipsis_at_an_end_only_leaves_the_rest_of_the_quote() -> None:
    assert quote_stands(("Yes, I can do that",), "...I can do that...")


@pytest.mark.parametrize(
    "hostile",
    [
        pytest.param("\u0301\u0327" * 200_000, id="combining marks"),
        pytest.param("\\" * 1_000_000, id="backslashes"),
        pytest.param(" " * 1_000_000, id="spaces"),
        pytest.param("..." * 300_000, id="dots"),
    ],
)
@pytest.mark.timeout(20)
def test_a_hostile_turn_or_quote_takes_no_quadratic_time(hostile: str) -> None:
    assert not quote_stands((f"a{hostile}b",), "not there")
    assert not quote_stands(("not there",), f"a{hostile}b")


@given(st.text(min_size=1), st.text(), st.text())
def test_a_verbatim_quote_stands_wherever_it_is(quote: str, before: str, after: str) -> None:
    assume(any(char.isalnum() for char in quote))
    assert quote_stands((before + quote + after,), quote)


@given(st.text(), st.integers(1, 3))
def test_any_depth_of_json_escaping_stands(words: str, depth: int) -> None:
    assume(any(char.isalnum() for char in words))
    assume("\\" not in words)
    escaped = words
    for _ in range(depth):
        escaped = json.dumps(escaped)[1:-1]
    assert quote_stands((words,), escaped)
    assert quote_stands((escaped,), words)


@given(st.data())
def test_quotes_of_a_real_conversation_survive_retyping(data: st.DataObject) -> None:
    turns = render(Conversation.model_validate_json(AIRLINE.read_text(encoding="utf-8"))).turns
    words = data.draw(st.sampled_from([text for turn in turns for text in turn[1:] if len(text) > 30]))
    start = data.draw(st.integers(0, len(words) - 20))
    quote = words[start : start + data.draw(st.integers(20, 200))].strip("*")  # nobody halves a bold mark
    mangle = data.draw(st.sampled_from(["  ", "\n", "\u00a0", "\n   "]))
    retyped = unicodedata.normalize("NFD", quote.replace(" ", mangle).replace('"', "”").replace("'", "’"))
    assert quote_stands((words,), retyped)
    assert quote_stands((words,), json.dumps(retyped)[1:-1])


def test_verifying_marks_each_citation_afresh() -> None:
    text = "first\nsecond"
    evidence = Evidence(text=text, digest=digest(text), turns=(("first",), ("second",)))
    cited = [(1, "first", False), (2, "first", True), (3, "first", True), (0, "first", True)]
    citations = tuple(Citation(turn=turn, quote=quote, verified=said) for turn, quote, said in cited)
    verdict = Verdict(decision="met", rationale="so", citations=citations)

    checked = verify(evidence, verdict)

    assert [citation.verified for citation in checked.citations] == [True, False, False, False]
    assert (checked.decision, checked.rationale) == ("met", "so")
