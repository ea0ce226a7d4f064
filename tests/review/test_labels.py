"""Labels in the page: made by a person, stored at once, and blind where that is asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Page, expect

if TYPE_CHECKING:
    from tests.review.conftest import NewPage, Pages, Serve, Served

ASKS = "The agent asks for the order number."
PROMISES = "The agent never promises a date."


def stored(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def open_conversation(page: Page, name: str) -> None:
    page.locator("#list .row", has_text=name).first.click()
    expect(page.locator("main h2")).to_have_text(name)


@pytest.mark.parametrize(
    ("conversation", "statement", "key", "label"),
    [
        ("passed-1", 0, "1", "met"),
        ("passed-1", 0, "2", "not_met"),
        ("failed-1", 1, "1", "not_met"),
        ("failed-1", 1, "2", "met"),
        ("passed-1", 0, "3", "undecidable"),
        ("errored-1", 0, "1", "met"),
        ("errored-1", 0, "2", "not_met"),
    ],
    ids=[
        "right of met",
        "wrong of met",
        "right of not met",
        "wrong of not met",
        "undecidable",
        "met of errored",
        "not met of errored",
    ],
)
def test_a_label_says_what_the_person_says(
    labelled: Served, new_page: NewPage, conversation: str, statement: int, key: str, label: str
) -> None:
    page = new_page(labelled.address)
    open_conversation(page, conversation)
    page.locator(".statement").nth(statement).locator("button[data-label]").nth(int(key) - 1).click()
    expect(page.locator("#problem")).to_contain_text("Stored")
    line = stored(labelled.labels)[-1]

    assert line["label"] == label
    assert line["conversation_id"] == conversation
    assert line["statement"] == (ASKS, PROMISES)[statement]
    assert line["reviewer"] == "Ann"
    assert line.get("blind", False) is False
    assert len(line["evidence"]) == 64


def test_keys_label_the_statement_that_has_the_focus_and_the_note_goes_with_it(
    serve: Serve, new_page: NewPage
) -> None:
    with serve() as it:
        page = new_page(it.address)
        open_conversation(page, "passed-1")
        keyboard = page.keyboard
        keyboard.press("n")
        keyboard.press("n")
        keyboard.press("m")
        keyboard.type("it says so, 2 times")
        keyboard.press("Escape")
        keyboard.press("2")
        expect(page.locator("#problem")).to_contain_text("Stored")
        (line,) = stored(it.labels)

        assert (line["statement"], line["label"], line["note"]) == (
            PROMISES,
            "not_met",
            "it says so, 2 times",
        )
        expect(page.locator("[data-statement=s2]")).to_be_focused()
        expect(page.locator("[data-statement=s2] [data-label=not_met]")).to_have_attribute(
            "aria-pressed", "true"
        )


def test_labels_survive_a_reload_and_the_last_word_counts(serve: Serve, new_page: NewPage) -> None:
    with serve() as it:
        page = new_page(it.address)
        open_conversation(page, "passed-1")
        for label in ("met", "not_met"):
            page.locator(f"[data-statement=s1] [data-label={label}]").click()
            pressed = page.locator(f"[data-statement=s1] [data-label={label}][aria-pressed=true]")
            expect(pressed).to_be_visible()
        page.reload()

        expect(page.locator("[data-statement=s1] [data-label=not_met]")).to_have_attribute(
            "aria-pressed", "true"
        )
        expect(page.locator("#list .row").first).to_contain_text("labelled 1 / 2")
        assert [line["label"] for line in stored(it.labels)] == ["met", "not_met"]


def test_a_label_that_differs_from_the_judge_is_low_agreement(serve: Serve, new_page: NewPage) -> None:
    with serve() as it:
        page = new_page(it.address)
        open_conversation(page, "passed-1")
        page.locator("[data-statement=s1] [data-label=not_met]").click()
        expect(page.locator("[data-filter=disagreement] .count")).to_have_text("2 / 6")
        page.reload()

        expect(page.locator("[data-filter=disagreement] .count")).to_have_text("2 / 6")


def test_what_others_said_is_shown(serve: Serve, new_page: NewPage, tmp_path: Path) -> None:
    said = {
        "conversation_id": "passed-1",
        "statement": ASKS,
        "label": "not_met",
        "reviewer": "Bob <b>",
        "note": "no",
    }
    (tmp_path / "labels.jsonl").write_text(json.dumps(said) + "\n")
    with serve() as it:
        page = new_page(it.address)
        open_conversation(page, "passed-1")

        expect(page.locator(".others")).to_have_text("Bob <b>: not met — no")
        expect(page.locator("[data-filter=disagreement] .count")).to_have_text("2 / 6")


def test_blind_review_hides_what_was_judged_until_the_person_has_decided(
    serve: Serve, new_page: NewPage, tmp_path: Path
) -> None:
    said = {"conversation_id": "split-1", "statement": ASKS, "label": "not_met", "reviewer": "Bob"}
    (tmp_path / "labels.jsonl").write_text(json.dumps(said) + "\n")
    with serve("--blind") as it:
        page = new_page(it.address)
        got: list[str] = []
        page.on(
            "response",
            lambda response: got.append(response.text()) if "/static/" not in response.url else None,
        )
        page.reload()
        open_conversation(page, "split-1")
        expect(page.locator(".statement")).to_have_count(2)
        told = "".join(got)
        for word in (
            "Because it says so",
            "words nobody said",
            "thinks so",
            '"passed"',
            "not_met",
            "1.00",
            "Bob",
        ):
            assert word not in told, word
        assert page.locator(".badge").all_text_contents() == ["hidden", "hidden"]

        page.locator("[data-statement=s1] [data-label=met]").click()
        expect(page.locator("[data-statement=s1] .rationale").first).to_have_text("Because it says so.")
        expect(page.locator("[data-statement=s1] .others")).to_have_text("Bob: not met")
        expect(page.locator("[data-statement=s2] .badge")).to_have_text("hidden")
        assert page.locator(".verdicts h3 .badge").count() == 0
        page.locator("[data-statement=s2] [data-label=undecidable]").click()
        expect(page.locator("[aria-label='Grader behaves'] h3 .badge")).to_have_text("passed")
        expect(page.locator("#conversation > .about")).to_contain_text("combined score 1.00")
        page.locator("[data-statement=s1] [data-label=not_met]").click()
        expect(page.locator("[data-statement=s1] [data-label=not_met]")).to_have_attribute(
            "aria-pressed", "true"
        )
        lines = stored(it.labels)[1:]

    assert [(line["label"], line.get("blind", False)) for line in lines] == [
        ("met", True),
        ("undecidable", True),
        ("not_met", False),
    ]


def test_blind_search_does_not_look_at_what_was_judged(serve: Serve, new_page: NewPage) -> None:
    with serve("--blind") as it:
        page = new_page(it.address)
        page.locator("#words").fill("words nobody said")
        expect(page.locator("#found")).to_have_text("0 of 6 conversations")


def test_u_goes_to_the_next_conversation_that_is_not_labelled(serve: Serve, new_page: NewPage) -> None:
    with serve() as it:
        page = new_page(it.address)
        open_conversation(page, "passed-1")
        page.locator("#list").focus()
        page.keyboard.press("u")

        expect(page.locator("main h2")).to_have_text("failed-1")


def test_a_server_that_is_gone_is_said(serve: Serve, pages: Pages) -> None:
    with serve() as it:
        page = pages.open(it.address)
    page.locator("#list .row").nth(1).click()

    expect(page.locator("#problem")).to_contain_text("adjudge does not answer")
