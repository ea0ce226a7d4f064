"""Why a response is no reply: decided by status, headers and body (C2, C3)."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.judges.calling.classify import (
    LONGEST_WAIT,
    reading_failure,
    refuses_format,
    response_failure,
    retry_after,
    transport_failure,
)
from adjudge.judges.calling.reading import Reading
from adjudge.judges.calling.transport import (
    CutShortError,
    EncodedError,
    OversizedError,
    Response,
    TransportError,
    UnreachableError,
)
from adjudge.judges.failure import Failure
from adjudge.judges.verdict import Usage

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC).timestamp()


def told(status: int, body: Any = b"", **headers: str) -> Failure:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    failure = response_failure(Response(status=status, headers=named, body=data), now=NOW)
    assert failure is not None
    return failure


def error(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


@pytest.mark.parametrize(
    ("status", "cause", "retryable", "fatal"),
    [
        (301, "bad_request", False, True),
        (307, "bad_request", False, True),
        (400, "bad_request", False, False),
        (401, "auth", False, True),
        (402, "quota", False, True),
        (403, "auth", False, True),
        (404, "not_found", False, True),
        (408, "timeout", True, False),
        (409, "unavailable", True, False),
        (413, "input_too_long", False, False),
        (418, "bad_request", False, False),
        (422, "bad_request", False, False),
        (424, "bad_request", False, False),
        (425, "unavailable", True, False),
        (429, "rate_limited", True, False),
        (500, "unavailable", True, False),
        (502, "unavailable", True, False),
        (503, "unavailable", True, False),
        (504, "unavailable", True, False),
        (520, "unavailable", True, False),
        (529, "unavailable", True, False),
    ],
)
def test_a_status_names_its_cause(status: int, cause: str, retryable: bool, fatal: bool) -> None:
    failure = told(status)

    assert (failure.cause, failure.retryable, failure.fatal) == (cause, retryable, fatal)
    assert f"HTTP {status}" in failure.message


@pytest.mark.parametrize(
    ("status", "body", "cause"),
    [
        (429, error("You exceeded your current quota", code="insufficient_quota"), "quota"),
        (
            429,
            {"type": "error", "error": {"type": "rate_limit_error", "message": "insufficient_quota"}},
            "quota",
        ),
        (429, error("Your credit balance is too low"), "quota"),
        (
            400,
            error("Your credit balance is too low to access the API", type="invalid_request_error"),
            "quota",
        ),
        (429, error("Rate limit reached: too many tokens per minute"), "rate_limited"),
        (400, error("API key not valid. Please pass a valid API key.", status="INVALID_ARGUMENT"), "auth"),
        (400, error("bad", details=[{"reason": "API_KEY_INVALID"}]), "auth"),
        (400, error("Incorrect API key provided: xa***"), "auth"),
        (400, error("This model's maximum context length is 8192 tokens"), "input_too_long"),
        (400, error("x", code="context_length_exceeded"), "input_too_long"),
        (400, error("prompt is too long: 210000 tokens > 200000 maximum"), "input_too_long"),
        (
            400,
            error("The input token count (9) exceeds the maximum number of tokens allowed"),
            "input_too_long",
        ),
        (400, error("the request exceeds the available context size"), "input_too_long"),
        (400, error("x", code="content_filter"), "content_filter"),
        (400, error("The response was filtered due to Azure's content management policy"), "content_filter"),
        (403, error("Your chosen model requires moderation and your input was flagged"), "content_filter"),
        (401, {"detail": "Unauthorized"}, "auth"),
        (404, {"error": "model 'x' not found, try pulling it first"}, "not_found"),
        (422, {"detail": [{"loc": ["body"], "msg": "field required"}]}, "bad_request"),
    ],
)
def test_the_words_of_an_error_tell_causes_apart(status: int, body: Any, cause: str) -> None:
    assert told(status, body).cause == cause


def test_a_quota_that_comes_back_soon_is_a_rate_limit() -> None:
    body = {
        "error": {
            "code": 429,
            "message": "You exceeded your current quota, please check your plan and billing details.",
            "status": "RESOURCE_EXHAUSTED",
            "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7s"}],
        }
    }

    failure = told(429, body)

    assert (failure.cause, failure.fatal, failure.retry_after) == ("rate_limited", False, 7.0)


@pytest.mark.parametrize(
    ("body", "cause", "fatal"),
    [
        (error("rate limit exceeded", code=429), "rate_limited", False),
        (error("no", code="401"), "auth", True),
        (error("overloaded", type="overloaded_error"), "unavailable", False),
        ({"error": {"type": "authentication_error", "message": "bad key"}}, "auth", True),
        ({"error": "something broke"}, "unavailable", False),
        (error("ran", code=502, metadata={"raw": "maximum context length"}), "unavailable", False),
    ],
)
def test_an_error_within_a_200_counts_by_the_code_it_carries(body: Any, cause: str, fatal: bool) -> None:
    failure = told(200, body)

    assert (failure.cause, failure.fatal) == (cause, fatal)


@pytest.mark.parametrize("body", [b"{}", b'{"error": null}', b"", b"<html>", b'[{"error": 1}]', b'"error"'])
def test_a_200_without_an_error_object_is_no_error_yet(body: bytes) -> None:
    assert response_failure(Response(status=200, headers={}, body=body), now=NOW) is None


def test_a_redirect_names_where_it_points_but_not_the_whole_address() -> None:
    failure = told(307, location="https://elsewhere.example/v1?key=abc")

    assert "'elsewhere.example'" in failure.message
    assert "abc" not in failure.message


def test_a_provider_that_says_not_to_retry_is_not_asked_again() -> None:
    failure = told(500, x_should_retry="false", retry_after="3")

    assert (failure.cause, failure.retryable, failure.retry_after) == ("unavailable", False, None)


def test_the_message_quotes_the_provider_in_one_bounded_line() -> None:
    message = told(500, error("line one\nline two " + "x" * 1000)).message

    assert message.startswith("HTTP 500: line one line two")
    assert len(message) < 350
    assert "\n" not in message


def test_an_html_page_is_called_one() -> None:
    assert told(502, b"<html><body>Bad gateway</body></html>").message == "HTTP 502: an HTML page"


@pytest.mark.parametrize(
    "body", [b"\xff\xfe\x00", b"[", b"[]", b"null", b"[1]", b'{"error": [1]}', b"[" * 99_999]
)
def test_no_body_of_an_error_breaks_its_reading(body: bytes) -> None:
    assert told(500, body).cause == "unavailable"


@given(st.binary(max_size=60), st.integers(100, 999))
def test_any_response_is_told_apart(body: bytes, status: int) -> None:
    failure = response_failure(Response(status=status, headers={}, body=body), now=NOW)

    assert failure is None or failure.message
    assert failure is not None or 200 <= status < 300


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 0.5 "}, 0.5),
        ({"retry-after": "7\x1f"}, 7.0),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after": "1e12"}, LONGEST_WAIT),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "1e999"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
        ({"retry-after": format_datetime(datetime(2026, 11, 30, 12, 0, 30, tzinfo=UTC), usegmt=True)}, 30.0),
        ({"retry-after": format_datetime(datetime(2026, 11, 30, 11, tzinfo=UTC), usegmt=True)}, 0.0),
        ({"retry-after": "Wed, 99 Nov 2026 12:00:00 GMT"}, None),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "x", "retry-after": "9"}, 9.0),
    ],
)
def test_retry_after_is_read_in_every_form_that_occurs(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after(headers, NOW) == seconds


@given(st.text(max_size=30))
def test_no_retry_after_leads_to_a_wait_out_of_bounds(value: str) -> None:
    seconds = retry_after({"retry-after": value, "retry-after-ms": value}, NOW)

    assert seconds is None or 0 <= seconds <= LONGEST_WAIT


@pytest.mark.parametrize(
    ("raised", "cause"),
    [
        (UnreachableError("x"), "unavailable"),
        (CutShortError("x"), "unavailable"),
        (OversizedError("x"), "malformed_output"),
        (EncodedError("x"), "malformed_output"),
    ],
)
def test_a_connection_that_fails_is_worth_another_attempt(raised: TransportError, cause: str) -> None:
    failure = transport_failure(raised)

    assert (failure.cause, failure.retryable) == (cause, True)


@pytest.mark.parametrize(
    ("status", "body", "refuses"),
    [
        (400, error("Invalid parameter: 'response_format' of type 'json_schema' is not supported"), True),
        (500, error("Input should be 'text' or 'json_object'"), True),
        (422, {"detail": [{"loc": ["body", "response_format"], "msg": "extra"}]}, True),
        (200, error("structured outputs are not supported", code=400), True),
        (400, error("temperature is too high"), False),
        (500, error("out of memory"), False),
        (401, error("json_schema"), False),
        (503, error("json_schema"), False),
        (400, error("maximum context length, response_format"), False),
    ],
)
def test_a_form_is_refused_only_where_the_error_names_it(status: int, body: Any, refuses: bool) -> None:
    response = Response(status=status, headers={}, body=json.dumps(body).encode())

    assert refuses_format(response) is refuses


def reading(**more: Any) -> Reading:
    told: dict[str, Any] = {"text": "{}", "finish": "stop", "end": "normal", "usage": Usage(), "model": None}
    return Reading(**{**told, **more})


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        (reading(refusal="I can't."), "refusal"),
        (reading(end="refusal", finish="refusal"), "refusal"),
        (reading(refusal="I can't.", end="length"), "refusal"),
        (reading(end="length", finish="length"), "truncated"),
        (reading(end="content_filter", finish="content_filter", text=None), "content_filter"),
        (reading(end="unknown", finish="weird"), "malformed_output"),
        (reading(end="unknown", finish=None), "malformed_output"),
        (reading(text=None), "malformed_output"),
        (reading(text=" \n"), "malformed_output"),
    ],
)
def test_the_first_thing_wrong_with_a_reply_is_its_cause(said: Reading, cause: str) -> None:
    failure = reading_failure(said)

    assert failure is not None
    assert failure.cause == cause


def test_a_reply_that_ended_normally_with_words_goes_on_to_be_parsed() -> None:
    assert reading_failure(reading()) is None


def test_a_truncated_reply_names_the_output_limit() -> None:
    failure = reading_failure(reading(end="length", finish="length"), 64)

    assert failure is not None
    assert "max_tokens of 64" in failure.message
