"""How much evidence a judge has room for (J7)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.judges.prompt import load_prompt
from adjudge.judges.request import Model, Prompt
from adjudge.judges.room import known_windows, room, tokens

BARE = Prompt(name="p", system="", user="", digest="p")


def left(window: int, *statements: str, prompt: Prompt = BARE, params: dict[str, int] | None = None) -> int:
    return room(window, Model(name="openai/any", params=params or {}), prompt, statements or ("A.",))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("a", 1),
        ("four", 1),
        ("four five", 3),
        ("12345678", 5),
        ('{"a":1}', 4),
        ("日本", 3),
        ("\ud800", 2),
    ],
)
def test_tokens_are_estimated_by_kind_of_character(text: str, count: int) -> None:
    assert tokens(text) == count


@given(st.text(), st.text())
def test_a_text_has_at_least_the_tokens_of_a_part_and_at_most_those_of_its_parts(a: str, b: str) -> None:
    assert max(tokens(a), tokens(b)) <= tokens(a + b) <= tokens(a) + tokens(b)


@given(st.text())
def test_no_byte_is_more_than_a_token_and_no_token_more_than_four_bytes(text: str) -> None:
    size = len(text.encode("utf-8", "surrogatepass"))
    assert size <= 4 * tokens(text)
    assert tokens(text) <= size


def test_the_window_listed_for_a_model_is_what_it_takes_in() -> None:
    models = {"mini": Model(name="openai/gpt-5-mini"), "sonnet": Model(name="anthropic/claude-sonnet-4-5")}

    assert known_windows(models) == {"mini": 272_000, "sonnet": 200_000}


def test_the_window_of_a_model_that_is_not_listed_is_unknown() -> None:
    assert known_windows({"main": Model(name="openai/any")}) == {}


def test_a_server_of_ollama_reads_what_it_was_told_and_not_what_is_listed() -> None:
    models = {
        "told": Model(name="ollama_chat/llama3", params={"num_ctx": 8192}),
        "not told": Model(name="ollama/llama3"),
    }

    assert known_windows(models) == {"told": 8192}


@pytest.mark.parametrize("told", [True, 0, -1, "8192", None])
def test_a_window_that_is_no_count_is_unknown(told: object) -> None:
    assert known_windows({"main": Model(name="ollama/x", params={"num_ctx": told})}) == {}


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens", "max_output_tokens", "num_predict"])
def test_room_for_all_the_reply_that_the_parameters_allow_is_kept(name: str) -> None:
    assert left(100_000, params={name: 20_480}) - left(100_000, params={name: 40_960}) == 20_480


def test_room_for_a_reply_without_a_limit_grows_with_the_statements() -> None:
    assert left(100_000, "A.") - left(100_000, *["A."] * 101) > 100 * 256


def test_the_prompt_takes_room() -> None:
    prompt = load_prompt("judge")
    taken = left(100_000) - left(100_000, prompt=prompt)

    assert abs(taken - tokens(prompt.system) - tokens(prompt.user)) <= 256


def test_another_word_in_a_statement_moves_no_window() -> None:
    assert left(100_000, "The agent is kind.") == left(100_000, "The agent is very kind.")


def test_a_reply_as_long_as_the_window_leaves_no_room() -> None:
    assert left(8192, params={"max_tokens": 8192}) < 0
