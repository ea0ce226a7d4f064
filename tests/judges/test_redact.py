"""Secrets are found however they are written, and nothing else is."""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.judges.redact import MARK, Redactor, masked, secret_places, url_secrets

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
    assert url_secrets("https://me:hunter22@host/v1?key=abc&x=") == ["me", "hunter22", "abc"]


@pytest.mark.parametrize("kept", [12, 15, len(SECRET) - 1])
def test_a_secret_that_was_cut_off_is_taken_out(kept: int) -> None:
    assert Redactor([SECRET])(f"key {SECRET[:kept]}... and more") == f"key {MARK}... and more"


def test_a_word_that_begins_like_a_secret_stays() -> None:
    assert Redactor([SECRET])(SECRET[:11]) == SECRET[:11]


@pytest.mark.parametrize(
    ("secret", "written"),
    [
        ('qu"ote-value', r"qu\"ote-value"),
        ("a/b/c/d/e", r"a\/b\/c\/d\/e"),
        ("sk-abc", r"\u0073k\u002Dabc"),
        ('x"y+z"', r"x\\\"y%2Bz%22"),
    ],
)
def test_a_secret_escaped_as_json_is_taken_out(secret: str, written: str) -> None:
    assert Redactor([secret])(f"<{written}>") == f"<{MARK}>"


def test_a_secret_that_is_no_text_is_looked_for_all_the_same() -> None:
    secret = b"caf\xe9-latin-1".decode(errors="surrogateescape")

    assert Redactor([secret])(f"<{secret}>") == f"<{MARK}>"


@pytest.mark.parametrize(
    ("params", "place"),
    [
        ({"extra_headers": {"Authorization": "Bearer abc"}}, ("extra_headers", "Authorization")),
        ({"extra_headers": {"x-api-key": "abc"}}, ("extra_headers", "x-api-key")),
        ({"extra_body": {"deep": [{"password": 123456}]}}, ("extra_body", "deep", 0, "password")),
        ({"aws_secret_access_key": "abc"}, ("aws_secret_access_key",)),
        ({"metadata": ["sk-proj-abcdefghijklmnop1234"]}, ("metadata", 0)),
    ],
)
def test_what_has_the_name_or_the_shape_of_a_secret_is_found(
    params: dict[str, object], place: tuple[str | int, ...]
) -> None:
    assert list(secret_places({"temperature": 0, **params})) == [place]


def test_ordinary_parameters_hold_no_secret() -> None:
    params = {
        "max_tokens": 9,
        "logit_bias": {"50256": -100},
        "prompt_cache_key": "suite-1",
        "stop": ["\n\n"],
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "extra_headers": {"X-Title": "adjudge", "HTTP-Referer": "https://example.org"},
        "use_key": True,
        "api_key": None,
    }

    assert list(secret_places(params)) == []


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("    api_key: hunter22", "    api_key: ********"),
        ('  {Authorization: "Bearer a, b", X: y}', "  {Authorization: *************, X: y}"),
        ("    api_key_env: hunter22", "    api_key_env: ********"),
        (
            "api_base: 'https://me:hunter22@host/v1?k=hunter22'",
            "api_base: 'https://***********@host/v1?**********'",
        ),
        ("  user: sk-proj-abcdefghijklmnop1234", "  user: " + "*" * 28),
        ("    treshold: 0.75", "    treshold: 0.75"),
    ],
)
def test_a_line_of_a_suite_is_shown_without_its_secrets_and_as_long_as_it_was(line: str, shown: str) -> None:
    assert masked(line) == shown


@pytest.mark.timeout(30)
@pytest.mark.parametrize("hostile", ["\\", "s\\n", "s\n", "sk-proj-abcdefghijk "])
def test_a_hostile_text_takes_no_quadratic_time(hostile: str) -> None:
    redactor = Redactor(["sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"])

    assert len(redactor.known(hostile * (2**20 // len(hostile)))) > 0
