"""One request to a model's API beside its response, as proxies and test cassettes record them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adjudge.pipeline.plain import is_mapping, mapping
from adjudge.pipeline.readers.turns import error_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A request and what came back.

    Attributes:
        request: the request's body.
        response: the response's body; empty where there was none.
        beside: what else was recorded, such as `http_status`.
    """

    request: dict[str, Any]
    response: dict[str, Any]
    beside: dict[str, Any]

    @property
    def error(self) -> str | None:
        """What the API said was wrong; None where it answered."""
        status = self.beside.get("http_status")
        refused = isinstance(status, int) and status >= 400
        if not refused and self.response and not self.response.get("error"):
            return None
        said = self.response.get("error") or self.beside.get("error") or self.response
        words = error_text(said) if said else "no response was recorded"
        return f"HTTP {status}: {words}" if refused else words

    def outcome(self) -> dict[str, Any]:
        """The native fields of how it went: none for an answer, else `status` and `error`."""
        return {} if self.error is None else {"status": "failed", "error": self.error}

    def metadata(self, *read: str) -> dict[str, Any]:
        """Everything recorded but for the keys `read` of request and response."""
        bodies = {"request": self.request, "response": self.response}
        kept = {name: _without(body, read) for name, body in bodies.items()}
        return {**self.beside, **{name: body for name, body in kept.items() if body}}


def exchange_of(value: Any) -> Exchange | None:
    """The exchange that a record is; None if it is none."""
    record = mapping(value)
    request, response = record.get("request"), record.get("response")
    if not is_mapping(request) or "response" not in record or not (response is None or is_mapping(response)):
        return None
    beside = {key: value for key, value in record.items() if key not in ("request", "response")}
    return Exchange(request=request, response=response or {}, beside=beside)


def _without(body: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: value for key, value in body.items() if key not in keys}
