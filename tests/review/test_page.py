"""The review page in a browser: read, filter, search and walk through a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Page, Request, expect

if TYPE_CHECKING:
    from tests.review.conftest import NewPage, Served


def listed(page: Page) -> list[str]:
    return page.locator("#list .name").all_text_contents()


def open_conversation(page: Page, name: str) -> None:
    page.locator("#list .row", has_text=name).first.click()
    expect(page.locator("main h2")).to_have_text(name)


@pytest.fixture
def page(new_page: NewPage, read_only: Served) -> Page:
    return new_page(read_only.address)


@pytest.mark.parametrize(
    ("word", "count", "names"),
    [
        ("errored", "2 / 6", ["errored-1", "hostile-1"]),
        ("failed", "2 / 6", ["failed-1", "hostile-1"]),
        ("passed", "2 / 6", ["passed-1", "split-1"]),
        ("missing", "1 / 6", ["no-trace-1"]),
        ("unverified", "1 / 6", ["split-1"]),
        ("disagreement", "1 / 6", ["split-1"]),
        ("unlabelled", "5 / 6", ["passed-1", "failed-1", "errored-1", "split-1", "hostile-1"]),
    ],
)
def test_a_filter_lists_its_conversations_and_says_how_many_of_how_many(
    page: Page, word: str, count: str, names: list[str]
) -> None:
    page.locator(f"[data-filter={word}]").click()

    expect(page.locator("#found")).to_have_text(f"{len(names)} of 6 conversations")
    assert listed(page) == names
    assert page.locator(f"[data-filter={word}] .count").inner_text().strip() == count


def test_a_filter_pressed_again_lets_everything_through(page: Page) -> None:
    page.locator("[data-filter=errored]").click()
    page.locator("[data-filter=errored]").click()

    expect(page.locator("#found")).to_have_text("6 of 6 conversations")


def test_results_are_those_of_the_grader_that_is_chosen(page: Page) -> None:
    page.locator("#grader").select_option("books")
    page.locator("[data-filter=passed]").click()

    assert listed(page) == ["passed-1", "errored-1", "split-1"]


def test_a_judge_that_is_chosen_lists_what_it_judged(page: Page) -> None:
    page.locator("#judge").select_option("two")

    assert listed(page) == ["split-1"]
    assert page.locator("[data-filter=passed] .count").inner_text().strip() == "1 / 1"


def test_search_finds_what_was_said_in_a_conversation(page: Page) -> None:
    page.locator("#words").fill("ZEBRA")

    expect(page.locator("#found")).to_have_text("1 of 6 conversations")
    assert listed(page) == ["errored-1"]


def test_search_finds_what_the_judge_said(page: Page) -> None:
    page.locator("#words").fill("it went wrong")

    expect(page.locator("#found")).to_have_text("1 of 6 conversations")


def test_search_does_not_find_names_of_fields(page: Page) -> None:
    page.locator("#words").fill("tool_call_id")

    expect(page.locator("#found")).to_have_text("0 of 6 conversations")


def test_an_error_is_a_word_with_its_cause_and_never_a_number(page: Page) -> None:
    open_conversation(page, "errored-1")

    behaves = page.locator("[aria-label='Grader behaves']")
    expect(behaves.locator("h3 .badge")).to_have_text("errored")
    expect(behaves.locator(".failure").first).to_contain_text("unavailable it went wrong")
    expect(behaves.locator("> .score")).to_have_text(
        "No score, 2 statements, threshold 1.0.".replace("1.0", "1")
    )
    errored = page.evaluate("getComputedStyle(document.querySelector('.badge.errored')).color")
    failed = page.evaluate("getComputedStyle(document.querySelector('.badge.failed')).color")
    assert errored != failed


def test_a_grade_shows_what_was_met_of_how_many_and_the_threshold(page: Page) -> None:
    open_conversation(page, "failed-1")

    expect(page.locator("[aria-label='Grader behaves'] > .score")).to_have_text(
        "1 / 2 met, score 0.50, threshold 1."
    )
    expect(page.locator("[aria-label='Grader books'] .checks li").first).to_contain_text(
        "refunds once2 refunds"
    )


def test_turns_have_the_numbers_the_judge_saw(page: Page) -> None:
    open_conversation(page, "passed-1")

    numbers = page.locator(".turn > header .number").all_text_contents()
    assert numbers == ["1", "2", "3", "4", "5", "6", "7", "8"]
    expect(page.locator("[data-turn='2'] time")).to_have_text("2026-11-30T10:00:00Z")


def test_a_result_is_folded_away_beside_its_call(page: Page) -> None:
    open_conversation(page, "passed-1")
    call = page.locator("[data-turn='5'] details.call").first

    expect(call.locator("[data-turn='6']")).to_be_hidden()
    call.locator("summary").click()
    expect(call.locator("[data-turn='6']")).to_contain_text('{"price": 40, "item": "kettle"}')


@pytest.mark.parametrize(
    ("place", "turn", "marked"),
    [
        (0, 3, "What is your “order number”, please?"),
        (1, 6, '{"price": 40, "item": "kettle"}'),
        (2, 8, "is on its way.\nIs there"),
    ],
    ids=["other quotation marks", "in a folded result", "over a line end"],
)
def test_a_citation_jumps_to_its_turn_and_marks_the_quoted_words(
    page: Page, place: int, turn: int, marked: str
) -> None:
    open_conversation(page, "passed-1")
    page.locator(".cite").nth(place).click()

    assert page.locator("mark.quote").all_text_contents() == [marked]
    expect(page.locator("mark.quote")).to_be_in_viewport()
    expect(page.locator(f".turn.cited[data-turn='{turn}']")).to_be_focused()


def test_an_image_that_the_judge_was_shown_is_shown(new_page: NewPage, pictured: Served) -> None:
    page = new_page(pictured.address)

    expect(page.locator("[data-turn='1'] img")).to_be_visible()
    assert page.evaluate("document.querySelector('.part img').naturalWidth") == 1


def test_what_the_judge_was_not_shown_is_said(new_page: NewPage, pictured: Served) -> None:
    page = new_page(pictured.address)
    page.locator(".left-out summary").click()

    expect(page.locator(".left-out li")).to_contain_text("hidden reasoning (turn 2; 9 characters)")
    expect(page.locator(".transcript")).not_to_contain_text("secretive")


def test_an_unverified_citation_says_so_and_still_leads_to_its_turn(page: Page) -> None:
    open_conversation(page, "split-1")
    expect(page.locator(".cite").first).to_contain_text("not found there")
    page.locator(".cite").first.click()

    expect(page.locator(".turn.cited")).to_have_attribute("data-turn", "3")
    assert page.locator("mark.quote").count() == 0


def test_votes_and_windows_are_shown(page: Page) -> None:
    open_conversation(page, "split-1")
    page.locator(".votes summary").first.click()
    page.locator(".windows summary").first.click()

    expect(page.locator(".votes > summary")).to_have_text("3 votes: 2 met, 1 not met")
    expect(page.locator(".votes .vote").nth(1)).to_contain_text("not met two, sample 1 · openai/two")
    expect(page.locator(".windows .vote")).to_contain_text("met window 1, turns 1 to 5")


def test_where_a_verdict_comes_from_is_shown(page: Page) -> None:
    open_conversation(page, "passed-1")

    expect(page.locator(".provenance").first).to_have_text(
        "live · main · openai/any · served by any-2026 · 1 attempt · 900 + 40 tokens · $0.0012"
    )


def test_a_conversation_without_a_trace_says_why_it_is_not_graded(page: Page) -> None:
    open_conversation(page, "no-trace-1")

    expect(page.locator(".verdicts")).to_contain_text("the conversation failed and has no completed trace")
    expect(page.locator("#conversation > .about")).to_contain_text("ended with: the agent crashed")


def test_a_run_can_be_walked_through_with_the_keyboard_alone(page: Page) -> None:
    keyboard = page.keyboard
    keyboard.press("/")
    keyboard.type("kettle")
    expect(page.locator("#found")).to_have_text("5 of 6 conversations")
    keyboard.press("Escape")
    keyboard.press("l")
    expect(page.locator("#list")).to_be_focused()
    keyboard.press("Home")
    keyboard.press("ArrowDown")
    expect(page.locator("main h2")).to_have_text("failed-1")
    keyboard.press("k")
    expect(page.locator("main h2")).to_have_text("passed-1")
    keyboard.press("n")
    expect(page.locator("[data-statement=s1]")).to_be_focused()
    keyboard.press("n")
    expect(page.locator("[data-statement=s2]")).to_be_focused()
    keyboard.press("c")
    expect(page.locator("[data-turn='6']")).to_be_focused()
    keyboard.press("c")
    expect(page.locator("[data-turn='8']")).to_be_focused()
    keyboard.press("b")
    expect(page.locator(".cite").nth(2)).to_be_focused()
    keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    keyboard.press("Escape")
    expect(page.locator("#help")).to_be_hidden()


def test_what_has_the_focus_can_be_seen(page: Page) -> None:
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "skip"
    page.keyboard.press("Enter")

    assert page.evaluate("document.activeElement.id") == "conversation"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_keys_of_one_letter_can_be_turned_off(page: Page) -> None:
    page.keyboard.press("?")
    page.locator("#help input").uncheck()
    page.locator("#help button").click()
    page.locator("#list").focus()
    page.keyboard.press("j")

    expect(page.locator("main h2")).to_have_text("passed-1")


def test_a_reload_comes_back_to_the_same_conversation(page: Page) -> None:
    open_conversation(page, "split-1")
    page.reload()

    expect(page.locator("main h2")).to_have_text("split-1")


def test_a_hostile_run_runs_nothing_and_asks_nobody(new_page: NewPage, read_only: Served) -> None:
    page = new_page(read_only.address)
    asked: list[Request] = []
    page.on("request", lambda request: asked.append(request))  # noqa: PLW0108 - it marks its handlers
    page.reload()
    open_conversation(page, "hostile-1")
    for cite in page.locator(".cite").all():
        cite.click()
    page.locator("details.call summary").click()
    page.locator(".more").click()

    assert page.evaluate("window.ran") is None
    assert page.locator("#conversation :is(script, img, a, iframe)").count() == 0
    assert {request.url[: len(read_only.address)] for request in asked} == {read_only.address}
    text = page.locator("body").inner_text()
    assert "\\u202egnp.exe zero\\u200bwidth \\x1b[31mred\\x1b[0m {{7*7}}" in text
    assert not set(text) & {"\u202e", "\u200b", "\x1b"}
    assert "the needle at the end" in text


@pytest.mark.parametrize("name", ["passed-1", "hostile-1", "split-1"])
def test_nothing_is_wider_than_a_phone(new_page: NewPage, read_only: Served, name: str) -> None:
    page = new_page(read_only.address, width=360, height=740)
    wide = "Math.max(...[...document.querySelectorAll('html, main, .transcript, .verdicts')]"
    wide += ".map((each) => each.scrollWidth - each.clientWidth))"
    assert page.evaluate(wide) == 0
    open_conversation(page, name)
    for pane in ("verdicts", "transcript"):
        page.locator(f"[data-shows={pane}]").click()
        expect(page.locator(f".{pane}")).to_be_visible()
        assert page.evaluate(wide) == 0
    page.locator(".to-list").click()

    expect(page.locator("#list")).to_be_visible()


def test_a_citation_on_a_phone_turns_to_the_transcript_and_b_turns_back(
    new_page: NewPage, read_only: Served
) -> None:
    page = new_page(read_only.address, width=360, height=740)
    open_conversation(page, "passed-1")
    page.locator(".cite").first.click()
    expect(page.locator("mark.quote")).to_be_in_viewport()
    page.keyboard.press("b")

    expect(page.locator(".cite").first).to_be_focused()


CONTRAST = """(words) => [...document.querySelectorAll(words)].map((element) => {
  const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
  const ground = (each) => numbers(getComputedStyle(each).backgroundColor);
  const linear = (v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  let backed = element;
  while (ground(backed)[3] === 0) backed = backed.parentElement;
  const pair = [light(numbers(getComputedStyle(element).color)), light(ground(backed))];
  return (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
})"""
WORDS = ".badge, .tag, .number, p, li, summary, button, small, time, .about, q + span"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_words_stand_out_from_their_ground(new_page: NewPage, read_only: Served, dark: bool) -> None:
    page = new_page(read_only.address, dark=dark)
    ratios: list[float] = []
    for name in ("errored-1", "split-1", "no-trace-1"):
        open_conversation(page, name)
        ratios += page.evaluate(CONTRAST, WORDS)

    assert min(ratios) >= 4.5


def test_dark_is_dark(new_page: NewPage, read_only: Served) -> None:
    grounds = [
        new_page(read_only.address, dark=dark).evaluate("getComputedStyle(document.body).backgroundColor")
        for dark in (False, True)
    ]

    assert grounds == ["rgb(255, 255, 255)", "rgb(22, 24, 28)"]


def test_of_ten_thousand_conversations_few_rows_are_in_the_page(
    new_page: NewPage, many_served: Served
) -> None:
    page = new_page(many_served.address)
    expect(page.locator("#found")).to_have_text("10,000 of 10,000 conversations")
    assert 5 < page.locator("#list .row").count() < 40

    page.locator("#list").focus()
    page.keyboard.press("End")
    expect(page.locator("main h2")).to_have_text("c09999")
    last = page.locator("#list .row[aria-selected=true]")
    expect(last).to_be_in_viewport()
    expect(last).to_have_attribute("aria-posinset", "10000")
    assert page.locator("#list .row").count() < 40


def test_one_of_ten_thousand_conversations_is_found(new_page: NewPage, many_served: Served) -> None:
    page = new_page(many_served.address)
    page.locator("#words").fill("number c04711")
    expect(page.locator("#found")).to_have_text("1 of 10,000 conversations")
    page.locator("#list .row").click()

    expect(page.locator(".turn .words")).to_have_text("This is number c04711.")


def test_ten_thousand_conversations_scroll_to_the_end(new_page: NewPage, many_served: Served) -> None:
    page = new_page(many_served.address)
    page.evaluate("document.querySelector('#list').scrollTop = 1e9")

    expect(page.locator("#list .row", has_text="c09999")).to_be_in_viewport()
    assert page.locator("#list .row").count() < 40
