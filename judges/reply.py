"""A judge's reply: its schema, the schema in words, and the one way a text becomes verdicts (J1 to J3)."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from adjudge.judges.citations import verify_all
from adjudge.judges.failure import Failure
from adjudge.judges.request import JudgeRequest
from adjudge.judges.verdict import Citation, Decision, Verdict

MAX_REPLY = 2**20
"""Bytes of UTF-8 a reply may have (V8)."""

MAX_RATIONALE = 4000
"""Characters of a rationale that are kept; a longer one ends in an ellipsis (V8)."""

MAX_CITATIONS = 100
"""Citations a verdict may have, so that checking them stays cheap."""

REPLY_FORMAT = """\
Reply with one JSON object and nothing else: no words before or after it. Its shape:

{"verdicts": [{"id": "...", "rationale": "...",
  "citations": [{"turn": 1, "quote": "..."}], "decision": "..."}]}

- "verdicts": exactly one entry for each statement asked, with these four keys and no others.
- "id": the statement's id, unchanged.
- "rationale": one to three sentences in the statement's language, written before deciding: what the evidence
  shows, in which turns, and what follows for the statement.
- "citations": the turns the decision rests on, each with a short quote (at most 25 words) copied exactly from
  that one turn. An empty list where there is nothing to quote, as for something that never happens.
- "decision": "met", "not_met" or "undetermined", spelled exactly so."""
"""The schema in words (J2): it stands in every prompt."""

_FENCE = re.compile(r"```(?:json)?\s*(\{.*\})\s*```", re.DOTALL | re.IGNORECASE)
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


class _Strict(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        hide_input_in_errors=True,
        defer_build=True,  # where all is cached, no reply is ever read
    )


class _Citation(_Strict):
    turn: int
    quote: str


class _Verdict(_Strict):
    id: str
    rationale: str
    citations: Annotated[list[_Citation], Field(max_length=MAX_CITATIONS)]
    decision: Decision


class _Reply(_Strict):
    verdicts: list[_Verdict]


class _MalformedError(Exception):
    """What is wrong with a reply, in one line without a word of the reply itself."""


def reply_schema(ids: tuple[str, ...]) -> dict[str, Any]:
    """JSON schema of a reply about statements `ids` (J2): flat, nothing optional, rationale first."""
    citation = {"turn": {"type": "integer"}, "quote": {"type": "string"}}
    decision = {"type": "string", "enum": ["met", "not_met", "undetermined"]}
    verdict = {
        "id": {"type": "string", "enum": list(ids)},
        "rationale": {"type": "string"},
        "citations": {"type": "array", "items": _object(citation)},
        "decision": decision,
    }
    return _object({"verdicts": {"type": "array", "items": _object(verdict)}})


def parse_reply(text: str, request: JudgeRequest) -> tuple[Verdict, ...] | Failure:
    """The verdicts of a reply, one a statement and in the order asked, or why it is no valid reply (J2a, J3).

    The whole text is one JSON object of the schema, or one fenced such object; nothing is searched for or
    mended. Citations are checked (J6). The message of a `malformed_output` failure is one line that holds no
    word of the reply, since it goes back to the model as a correction.
    """
    try:
        reply = _validated(_loaded(text))
        return _verdicts(reply, request)
    except _MalformedError as wrong:
        return Failure(cause="malformed_output", message=str(wrong), retryable=True)


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _loaded(text: str) -> Any:
    """The one JSON value that `text` is, duplicate keys and non-finite numbers refused."""
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_REPLY:
        raise _MalformedError(f"the reply has {size} bytes; at most {MAX_REPLY} are read")
    bare = text.removeprefix("\ufeff").strip(" \t\r\n")
    if not bare:
        raise _MalformedError("the reply is empty")
    fenced = _FENCE.fullmatch(bare)
    try:
        return json.loads(
            bare if fenced is None else fenced[1], object_pairs_hook=_unique, parse_constant=_constant
        )
    except json.JSONDecodeError as error:
        raise _MalformedError(
            f"the reply is not one JSON object and nothing else ({error.msg}, line {error.lineno}, "
            f"column {error.colno} of its JSON)"
        ) from None
    except RecursionError:
        raise _MalformedError("the reply is nested too deeply") from None
    except ValueError:  # the interpreter's bound on the digits of an integer
        raise _MalformedError("the reply holds a number of too many digits") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise _MalformedError("an object in the reply has the same key twice")
    return members


def _constant(_: str) -> Any:
    raise _MalformedError("the reply holds NaN or Infinity, which is not JSON")


def _validated(value: Any) -> _Reply:
    try:
        return _Reply.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_input=False, include_context=False, include_url=False)[0]
    place, message = first["loc"], first["msg"]
    if first["type"] == "extra_forbidden":  # the last part of the place is a word of the reply
        place, message = place[:-1], "a key that the schema does not have"
    raise _MalformedError(f"{_path(place)}: {message}")


def _path(place: tuple[int | str, ...]) -> str:
    return (
        "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place).lstrip(".")
        or "the reply"
    )


def _verdicts(reply: _Reply, request: JudgeRequest) -> tuple[Verdict, ...]:
    _check_ids([entry.id for entry in reply.verdicts], request.ids)
    for place, entry in enumerate(reply.verdicts):
        _check_entry(f"verdicts[{place}]", entry, request.evidence.numbers)
    by_id = {entry.id: _verdict(entry) for entry in reply.verdicts}
    verdicts = verify_all(request.evidence, (by_id[id_] for id_ in request.ids))
    if request.require_citations:
        _check_quotes(verdicts, request.ids)
    return verdicts


def _check_ids(got: list[str], asked: tuple[str, ...]) -> None:
    """Exactly the ids asked, each once, in any order (J2a)."""
    missing = [id_ for id_ in asked if id_ not in got]
    if missing:
        raise _MalformedError(f"no verdict for {', '.join(missing)}; give one for each of {', '.join(asked)}")
    repeated = [id_ for id_ in asked if got.count(id_) > 1]
    if repeated:
        raise _MalformedError(f"more than one verdict for {', '.join(repeated)}; give exactly one")
    if len(got) > len(asked):
        raise _MalformedError(f"a verdict for an id that was not asked for; asked for: {', '.join(asked)}")


def _check_entry(place: str, entry: _Verdict, turns: range) -> None:
    for number, citation in enumerate(entry.citations):
        if citation.turn not in turns:
            raise _MalformedError(
                f"{place}.citations[{number}].turn: there is no such turn; "
                f"turns go from {turns.start} to {turns.stop - 1}"
            )
    if any(_UNSTORABLE.search(text) for text in (entry.rationale, *(c.quote for c in entry.citations))):
        raise _MalformedError(f"{place}: a text holds a NUL character or half a surrogate pair")


def _check_quotes(verdicts: tuple[Verdict, ...], ids: tuple[str, ...]) -> None:
    for id_, verdict in zip(ids, verdicts, strict=True):
        for number, citation in enumerate(verdict.citations):
            if not citation.verified:
                raise _MalformedError(
                    f"{id_}, citations[{number}]: its quote does not stand in turn {citation.turn}; "
                    "copy words of that turn exactly, or leave the citation out"
                )


def _verdict(entry: _Verdict) -> Verdict:
    rationale = entry.rationale
    if len(rationale) > MAX_RATIONALE:
        rationale = rationale[: MAX_RATIONALE - 1] + "…"
    cited = tuple(Citation(turn=c.turn, quote=c.quote, verified=False) for c in entry.citations)
    return Verdict(decision=entry.decision, rationale=rationale, citations=cited)
