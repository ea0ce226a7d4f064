"""Why a response is no reply: status, headers, body or transport error in, `Failure` out. Pure (C2, C3).

Decided by the response itself, never by an exception's class. Messages may quote the provider and are not yet
redacted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Any, cast
from urllib.parse import urlsplit

from adjudge.judges.calling.reading import End, Reading
from adjudge.judges.calling.transport import EncodedError, OversizedError, Response, TransportError
from adjudge.judges.failure import FATAL, TRANSIENT, Cause, Failure

LONGEST_WAIT = 120.0
"""Seconds a provider's Retry-After counts at most (C3)."""

_QUOTED = 300
_SEARCHED = 4000


def _any(*words: str) -> re.Pattern[str]:
    return re.compile("|".join(words), re.IGNORECASE)


_TOO_LONG = _any(
    r"context[_ ](?:length|window|size)",
    r"maximum (?:context|prompt length)",
    r"(?:prompt|input) is too long",
    r"input token count",
    r"exceeds? the maximum number of tokens",
    r"too many (?:input )?tokens",
    r"reduce the length of the messages",
    r"request_too_large|too large for model",
)
_FILTERED = _any(
    r"content[_ ](?:filter|policy|management)",
    r"responsibleai|safety system|usage polic",
    r"requires moderation|flagged|output blocked by",
)
_NO_CREDIT_CODE = _any("insufficient_quota|billing_hard_limit|billing_not_active")
_NO_CREDIT = _any(
    _NO_CREDIT_CODE.pattern,
    r"credit balance|out of credits|insufficient (?:credit|balance|funds)",
    r"exceeded your current quota|spend(?:ing)? (?:limit|cap)|payment required",
)
_BAD_KEY = _any(
    r"api_key_invalid|invalid_api_key",
    r"(?:invalid|incorrect) api key|api key (?:is )?(?:not valid|invalid|expired)",
)
_FORMAT = _any(
    r"(?:response|output)_?format|output_?config|json_?schema|json_?object|json mode",
    r"response_?schema|response_?mime|structured[_ ]outputs?",
    r"guided[_ ](?:json|decoding)|grammar|invalid schema",
)
_RULES: tuple[tuple[Cause, Container[int], re.Pattern[str]], ...] = (
    ("input_too_long", range(400, 500), _TOO_LONG),
    ("content_filter", {400, 403, 422}, _FILTERED),
    ("quota", {400, 403}, _NO_CREDIT),
    ("auth", {400}, _BAD_KEY),
)
"""Causes that only the words of an error tell apart, with the statuses they are looked for under."""

_BY_STATUS: dict[int, Cause] = {
    401: "auth",
    402: "quota",
    403: "auth",
    404: "not_found",
    408: "timeout",
    409: "unavailable",
    413: "input_too_long",
    425: "unavailable",
}
_RETRY_DELAY = re.compile(r'"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"')
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?", re.ASCII)
_ERROR_TYPES = {
    "authentication_error": 401,
    "billing_error": 402,
    "invalid_request_error": 400,
    "not_found_error": 404,
    "overloaded_error": 529,
    "permission_error": 403,
    "rate_limit_error": 429,
    "request_too_large": 413,
    "timeout_error": 408,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """What an error body tells: its message, its codes and types, and the status it carries."""

    message: str
    codes: str = ""
    status: int | None = None

    @property
    def words(self) -> str:
        return f"{self.codes} {self.message}"[:_SEARCHED]


def response_failure(response: Response, *, now: float) -> Failure | None:
    """Why `response` carries no reply, or None where it may: a 2xx without an error object.

    Args:
        now: seconds since the epoch, for a Retry-After that is a date.
    """
    within = 200 <= response.status < 300
    if within and not _holds_error(response.body):
        return None
    told = _told(response.body)
    if within:
        return _failure(told.status or 502, told, response, now, f"error within HTTP {response.status}")
    return _failure(response.status, told, response, now, f"HTTP {response.status}")


def transport_failure(error: TransportError) -> Failure:
    """The failure of a request that brought no whole response."""
    garbage = isinstance(error, OversizedError | EncodedError)
    return Failure(cause="malformed_output" if garbage else "unavailable", message=str(error), retryable=True)


def reading_failure(reading: Reading, max_tokens: object = None) -> Failure | None:
    """Why a reply that could be read holds no text to parse, or None (J3).

    Args:
        max_tokens: the output limit that was asked for, to be named where it cut the reply short.
    """
    if reading.refusal is not None or reading.end == "refusal":
        words = f": {reading.refusal[:_QUOTED]}" if reading.refusal else ""
        return Failure(cause="refusal", message=f"the model refused{words}")
    if reading.end != "normal":
        return _ending(reading.end, reading.finish, max_tokens)
    if reading.text is None or not reading.text.strip():
        return Failure(cause="malformed_output", message="the reply is empty", retryable=True)
    return None


def refuses_format(response: Response) -> bool:
    """Whether an error response names the form that the reply was asked for in as what is wrong."""
    told = _told(response.body)
    if not _FORMAT.search(told.words):
        return False
    status = told.status or 502 if 200 <= response.status < 300 else response.status
    return status in {400, 415, 422, 500, 501, 502} and not _TOO_LONG.search(told.words)


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds the provider asks to wait, in [0, `LONGEST_WAIT`]; None where it names none that makes sense.

    Read are `retry-after-ms` and `retry-after` as seconds or as an HTTP date, compared with `now`. Negative
    is 0; NaN, infinite and unreadable values count as absent.
    """
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return _clamped(milliseconds / 1000)
    value = headers.get("retry-after", "").strip()
    seconds = _number(value)
    if seconds is None:
        date = _epoch(value)
        seconds = None if date is None else date - now
    return None if seconds is None else _clamped(seconds)


def _failure(status: int, told: _Told, response: Response, now: float, place: str) -> Failure:
    wait = retry_after(response.headers, now)
    if wait is None and (delay := _RETRY_DELAY.search(response.body.decode("utf-8", "replace"))):
        wait = _clamped(float(delay[1]))
    cause = _cause(status, told, waits=wait is not None)
    redirect = 300 <= status < 400
    message = f"{place}: {_quoted(told.message)}" if told.message else place
    if redirect:
        host = urlsplit(response.headers.get("location", "")).hostname
        message = (
            f"{place}: a redirect to {host or 'another address'!r}, which is not followed; correct api_base"
        )
    retryable = cause in TRANSIENT and response.headers.get("x-should-retry", "").lower() != "false"
    return Failure(
        cause=cause,
        message=message,
        retryable=retryable,
        fatal=cause in FATAL or redirect,
        retry_after=wait if retryable else None,
    )


def _cause(status: int, told: _Told, *, waits: bool) -> Cause:
    """The cause of an error status; `waits` where the provider says when to come back: no dead end."""
    words = told.words
    if status == 429:
        out = _NO_CREDIT_CODE.search(words) or (not waits and _NO_CREDIT.search(words))
        return "quota" if out else "rate_limited"
    for cause, statuses, pattern in _RULES:
        if status in statuses and pattern.search(words):
            return cause
    return _BY_STATUS.get(status) or ("unavailable" if status >= 500 else "bad_request")


def _ending(end: End, finish: str | None, max_tokens: object) -> Failure:
    if end == "length":
        limit = "" if max_tokens is None else f" of {max_tokens}"
        message = f"the reply was cut off at the output limit: raise max_tokens{limit}"
        return Failure(cause="truncated", message=message)
    if end == "content_filter":
        return Failure(cause="content_filter", message=f"the provider's filter ended the reply ({finish!r})")
    message = "the reply did not end normally" + (f" (finish reason {finish[:60]!r})" if finish else "")
    return Failure(cause="malformed_output", message=message, retryable=True)


def _holds_error(body: bytes) -> bool:
    value = _decoded(body) if b'"error"' in body else None
    return isinstance(value, dict) and bool(cast("dict[str, Any]", value).get("error"))


def _told(body: bytes) -> _Told:
    """What a body says about an error, in the layouts of providers, FastAPI servers and gateways."""
    value = _decoded(body)
    if isinstance(value, list) and value:
        value = cast("list[Any]", value)[0]
    if not isinstance(value, dict):
        text = body[:_SEARCHED].decode("utf-8", "replace").strip()
        return _Told(message="an HTML page" if text.startswith("<") else text)
    whole = cast("dict[str, Any]", value)
    error: Any = whole.get("error") or whole
    if not isinstance(error, dict):
        return _Told(message=str(error))
    fields = cast("dict[str, Any]", error)
    message = fields.get("message") or fields.get("detail") or fields.get("msg") or whole.get("message") or ""
    codes = [str(fields[name]) for name in ("code", "type", "status", "reason") if fields.get(name)]
    codes += [_reasons(fields.get("details"))]
    upstream = _upstream(fields.get("metadata"))
    return _Told(
        message=(message if isinstance(message, str) else json.dumps(message)) + upstream,
        codes=" ".join(codes),
        status=_status(fields),
    )


def _decoded(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _reasons(details: Any) -> str:
    """The reasons within Google's error details."""
    rows = cast("list[Any]", details) if isinstance(details, list) else []
    named = [cast("dict[str, Any]", row) for row in rows if isinstance(row, dict)]
    return " ".join(str(row["reason"]) for row in named if "reason" in row)


def _upstream(metadata: Any) -> str:
    """What the provider behind a gateway said."""
    raw = cast("dict[str, Any]", metadata).get("raw") if isinstance(metadata, dict) else None
    return f" {raw}" if isinstance(raw, str) else ""


def _status(fields: dict[str, Any]) -> int | None:
    for name in ("code", "status", "status_code"):
        number = _number(str(fields.get(name, "")))
        if number is not None and 300 <= number < 600:
            return int(number)
    return _ERROR_TYPES.get(str(fields.get("type")))


def _quoted(text: str) -> str:
    return " ".join(text.split())[:_QUOTED]


def _number(text: str) -> float | None:
    text = text.strip()  # of more than float() takes for white space
    if not _NUMBER.fullmatch(text):
        return None
    value = float(text)
    return value if isfinite(value) else None


def _epoch(text: str) -> float | None:
    try:
        date = parsedate_to_datetime(text)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def _clamped(seconds: float) -> float:
    return min(max(seconds, 0.0), LONGEST_WAIT)
