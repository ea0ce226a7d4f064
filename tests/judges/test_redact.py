"""Secrets are found however they are written, and nothing else is."""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.judges.redact import MARK, Redactor, url_secrets

SECRET = "pl4nted/s3cret+Value=="


@given(st.text(max_size=20), st.text(max_size=20))
def test_a_known_secret_is_taken_out_of_any_text(before: str, after: str) -> None:
    assert SECRET not in Redactor([SECRET])(before + SECRET + after)


@given(st.binary(max_size=9), st.binary(max_size=9), st.sampled_from([b64encode, urlsafe_b64encode]))
def test_a_secret_within_a_base64_text_is_taken_out(
    before: bytes, after: bytes, encode: Callable[[bytes], bytes]
) -> None:
    whole = encode(before + SECRET.encode() + after)

    assert MARK in Redactor([SECRET])(f"Basic {whole.decode()}")


def test_a_url_encoded_secret_is_taken_out() -> None:
    assert Redactor([SECRET])(f"?key={quote(SECRET, safe='')}&") == f"?key={MARK}&"


@pytest.mark.parametrize("gap", ["\n", "\r\n", "\\n", "\n    "])
def test_a_secret_split_by_a_line_break_is_taken_out(gap: str) -> None:
    assert Redactor([SECRET])(f"key: {SECRET[:7]}{gap}{SECRET[7:]}.") == f"key: {MARK}."


@pytest.mark.parametrize(
    "shaped",
    [
        "sk-proj-abcdefghijklmnop1234",
        "sk-ant-api03-abcdefghijkl_mnop",
        "sk-abcd************wxyz",
        "AIzaSyA1234567890abcdefghijklmnopqrstu",
        "gsk_abcdefghijklmnopqrst",
        "AKIAABCDEFGHIJKLMNOP",
        "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.abcdef",
    ],
)
def test_what_has_the_shape_of_a_key_is_taken_out(shaped: str) -> None:
    assert Redactor([])(f"Incorrect key provided: {shaped}.") == f"Incorrect key provided: {MARK}."


def test_what_has_the_shape_of_a_key_stays_where_only_known_secrets_go() -> None:
    assert Redactor(["another-secret"]).known("sk-abcdefghijklmnopqrst") == "sk-abcdefghijklmnopqrst"


def test_a_bearer_token_is_taken_out_and_the_word_stays() -> None:
    assert Redactor([])("sent Bearer abcdef123456789") == f"sent Bearer {MARK}"


def test_ordinary_words_stay() -> None:
    text = "The task-oriented agent asked about the refund; risk-free, desk-based, ok."

    assert Redactor(["", "ok", "the"])(text) == text


def test_the_password_and_the_query_of_an_address_are_secrets() -> None:
    assert url_secrets("https://me:hunter22@host/v1?key=abc&x=") == ["hunter22", "abc"]
