"""OpenAI Responses: `{"instructions", "items"}`, a list of items, a response, or one beside its request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.plain import as_text, is_list, is_mapping, items, mapping, string
from adjudge.pipeline.readers import native, openai
from adjudge.pipeline.readers.build import NotAConversationError, one_a_file, one_a_record
from adjudge.pipeline.readers.exchange import Exchange, exchange_of
from adjudge.pipeline.readers.instants import instant
from adjudge.pipeline.readers.response_items import add_item, is_item
from adjudge.pipeline.readers.source import Record, Source, Unreadable, first_of
from adjudge.pipeline.readers.turns import Turns

name = "openai_responses"

_RUNNING = {"in_progress", "queued"}


def recognises(value: Any) -> bool:
    """Whether the first record is a response, has items of one, or the file is one list of items."""
    if native.recognises(value) or openai.recognises(value):
        return False
    first = first_of(value)
    found = _exchange(first)
    if found is not None:
        given = found.request.get("input", "")
        asked = isinstance(given, str) or all(map(is_item, items(given)))
        return found.response.get("object") == "response" or ("error" in found.response and asked)
    given = mapping(first).get("items", value if is_item(first) else first)
    return bool(items(given)) and all(map(is_item, items(given))) and _has_message(items(given))


def read(source: Source) -> Iterator[Conversation | Unreadable]:
    """A conversation from each record; from the whole file where its records are items.

    Responses that continue earlier ones of the file, or belong to one stored conversation, are joined.
    """
    first = next((record.value for record in source.records() if isinstance(record, Record)), None)
    if is_item(first):
        return one_a_file(source, _of_items)
    return one_a_record(source, _Chains(source).add)


class _Chains:
    """Joins responses that continue others of the file: the last one of a chain is the conversation."""

    def __init__(self, source: Source) -> None:
        found = [_exchange(record.value) for record in source.records() if isinstance(record, Record)]
        self._continued = {_previous(exchange) for exchange in found if exchange}
        self._stored = Counter([_stored(exchange) for exchange in found if exchange])
        self._begun: dict[str, list[Exchange]] = {}

    def add(self, value: Any) -> dict[str, Any] | None:
        """Native fields of a record's value; None where another record of the file continues it."""
        exchange = _exchange(value)
        if exchange is None:
            return _of_items(value)
        stored, identity = _stored(exchange), string(exchange.response.get("id"))
        chain = [*self._begun.get(stored or _previous(exchange), []), exchange]
        self._stored[stored] -= 1
        if (self._stored[stored] > 0) if stored else (identity and identity in self._continued):
            self._begun[stored or identity] = chain
            return None
        return _of_chain(chain)


def _of_items(value: Any) -> dict[str, Any]:
    turns = Turns()
    record = {"items": value} if is_list(value) else dict(mapping(value))
    given = record.pop("items", None)
    if not is_list(given):
        raise NotAConversationError("'items' is missing or no list")
    _instruct(record.pop("instructions", None), turns)
    for item in given:
        add_item(item, turns)
    beside = openai.beside(record, turns.notes)
    return {**turns.fields(), **beside, "metadata": turns.notes.into(record)}


def _of_chain(chain: list[Exchange]) -> dict[str, Any]:
    turns, last = Turns(), chain[-1]
    instructions = None
    if previous := _previous(chain[0]):
        turns.incomplete = True
        turns.notes.add(f"the turns before it, up to the response {previous!r}, are not in the file")
    for exchange in chain:
        request, response = exchange.request, exchange.response
        told = request.get("instructions") or response.get("instructions")
        if told != instructions:
            _instruct(told, turns)
            instructions = told
        given = request.get("input")
        for item in [{"role": "user", "content": given}] if isinstance(given, str) else items(given):
            add_item(item, turns)
        turns.timestamp = instant(response.get("created_at"))
        for item in items(response.get("output")):
            add_item(item, turns)
        turns.timestamp = None
        turns.close()
    if "input" not in chain[0].request:
        turns.incomplete = True
        turns.notes.add("what the response answers is not in the file")
    identity = _stored(last) or last.response.get("id")
    return {
        **({"id": as_text(identity)} if identity else {}),
        **turns.fields(),
        **_outcome(last),
        "metadata": turns.notes.into(last.metadata("input", "output", "instructions", "tools")),
    }


def _outcome(last: Exchange) -> dict[str, Any]:
    """How the last response ended: a failure, a limit it hit, or nothing to say."""
    status = last.response.get("status")
    if last.error is not None:
        return last.outcome()
    if status == "cancelled":
        return {"status": "canceled"}
    if status == "incomplete":
        reason = mapping(last.response.get("incomplete_details")).get("reason")
        return {"termination_reason": string(reason) or "incomplete"}
    if status == "failed":
        return {"status": "failed", "error": "the response failed without a message"}
    if string(status) in _RUNNING:
        return {"status": "failed", "error": f"the response was still {status!r} when it was recorded"}
    return {}


def _instruct(instructions: Any, turns: Turns) -> None:
    """The system prompt, which stands beside the items: text or items."""
    if isinstance(instructions, str) and instructions:
        turns.say("system", instructions)
    for item in items(instructions):
        add_item(item, turns)


def _exchange(value: Any) -> Exchange | None:
    """The request and response that a record is, also where it is a response alone."""
    record = mapping(value)
    if record.get("object") == "response":
        return Exchange(request={}, response=record, beside={})
    found = exchange_of(record)
    return found if found is not None and ("input" in found.request or "output" in found.response) else None


def _previous(exchange: Exchange) -> str:
    """The id of the response it continues, or empty."""
    bodies = (exchange.request, exchange.response)
    return next(
        (string(body["previous_response_id"]) for body in bodies if body.get("previous_response_id")), ""
    )


def _stored(exchange: Exchange) -> str:
    """The id of the stored conversation it belongs to, or empty."""
    for body in (exchange.response, exchange.request):
        found = body.get("conversation")
        if found:
            return string(mapping(found).get("id")) if is_mapping(found) else as_text(found)
    return ""


def _has_message(given: list[Any]) -> bool:
    return any("role" in mapping(item) for item in given)
