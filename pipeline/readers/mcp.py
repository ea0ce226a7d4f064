"""Logs of the Model Context Protocol: JSON-RPC messages, alone or wrapped with a direction and a time.

A session is a conversation of one agent, whose calls are turns. What its user said is not in such a log.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.plain import as_text, is_list, is_mapping, items, mapping, string
from adjudge.pipeline.readers.build import NotAConversationError, one_a_session
from adjudge.pipeline.readers.logged import logged, logged_time
from adjudge.pipeline.readers.source import NotJsonError, Source, Unreadable, first_of, parse
from adjudge.pipeline.readers.turns import Turns, media_part, parts_of, text_part

name = "mcp"

_METHODS = ("tools/", "resources/", "prompts/", "notifications/", "sampling/", "elicitation/", "roots/")
_ANSWERS = {"content", "structuredContent", "contents", "tools", "resources", "prompts", "serverInfo"}
_CALLS = {"tools/call", "resources/read", "prompts/get"}
_PROTOCOL = {"initialize", "ping", "notifications/initialized"}
_FROM_SERVER = {"sampling/createMessage", "elicitation/create", "roots/list"}


def recognises(value: Any) -> bool:
    """Whether the first record is a message of the protocol, and of no other that uses JSON-RPC."""
    message = next(_messages(first_of(value)), None) or {}
    method = string(message.get("method"))
    if method == "initialize":
        return "protocolVersion" in mapping(message.get("params"))
    return method.startswith(_METHODS) or (
        not method and bool(_ANSWERS & mapping(message.get("result")).keys())
    )


def read(source: Source) -> Iterator[Conversation | Unreadable]:
    """A conversation from each session of the log: from one `initialize` to the next."""
    return one_a_session(source, _opens, _fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """A request that waits for its response."""

    identity: Any
    method: str
    direction: str
    params: Any


class _Log:
    """What was heard of a session."""

    def __init__(self) -> None:
        self.turns = Turns()
        self.metadata: dict[str, Any] = {}
        self._waiting: list[_Request] = []

    def hear(self, message: dict[str, Any], direction: str) -> None:
        """Take in the next message."""
        method, params = string(message.get("method")), message.get("params")
        if not method:
            self._answer(message, direction)
        elif "id" in message:
            self._ask(_Request(identity=message["id"], method=method, direction=direction, params=params))
        elif method == "notifications/cancelled":
            self._cancel(mapping(params))
        elif method not in _PROTOCOL:
            self.turns.notes.add(f"messages {method!r} left out")

    def _ask(self, request: _Request) -> None:
        self._waiting.append(request)
        params = mapping(request.params)
        if request.method == "tools/call":
            self.turns.call(request.identity, params.get("name"), params.get("arguments"))
        elif request.method in _CALLS:
            passed = {key: value for key, value in params.items() if key != "_meta"}
            self.turns.call(request.identity, request.method, passed)
        elif request.method == "initialize":
            self.metadata["client"] = params
        elif request.method in _FROM_SERVER:
            self.turns.note(f"the server asked {request.method!r}; kept in the metadata")
        elif request.method not in _PROTOCOL and request.method != "tools/list":
            self.turns.notes.add(f"messages {request.method!r} left out")

    def _answer(self, message: dict[str, Any], direction: str) -> None:
        """A response: to the first request of its id that went the other way."""
        for request in self._waiting:
            same = type(request.identity) is type(message.get("id")) and request.identity == message.get("id")
            if same and (not direction or request.direction != direction):
                self._waiting.remove(request)
                self._respond(request, message)
                return
        self.turns.notes.add("responses to no request of the file left out")

    def _respond(self, request: _Request, message: dict[str, Any]) -> None:
        result, error = message.get("result"), message.get("error")
        if request.method in _FROM_SERVER:
            asked = {"method": request.method, "params": request.params}
            answered = {"error": error} if error else {"result": result}
            self.metadata.setdefault("server_requests", []).append({**asked, **answered})
        elif request.method in _CALLS and error:
            said = mapping(error)
            words = f"{said.get('code')}: {said.get('message')}" if said else as_text(error)
            self.turns.result(request.identity, None, error=f"protocol error {words}")
        elif request.method in _CALLS:
            failed = mapping(result).get("isError") is True
            self.turns.result(request.identity, _result_parts(result, len(self.turns) + 1), failed=failed)
        elif request.method == "tools/list":
            self.metadata["tools"] = items(mapping(result).get("tools"))
        elif request.method == "initialize":
            self.metadata["server"] = result

    def _cancel(self, params: dict[str, Any]) -> None:
        for request in self._waiting:
            if request.identity == params.get("requestId") and request.method in _CALLS:
                self._waiting.remove(request)
                reason = f": {as_text(params['reason'])}" if params.get("reason") else ""
                self.turns.result(request.identity, None, error=f"cancelled{reason}")
                return


def _fields(values: list[Any]) -> dict[str, Any]:
    log, unknown = _Log(), 0
    for value in values:
        messages = list(_messages(value))
        unknown += not messages
        log.turns.timestamp = logged_time(mapping(value))
        for message in messages:
            log.hear(message, string(mapping(value).get("direction")))
    if unknown == len(values):
        raise NotAConversationError("no JSON-RPC message")
    if unknown:
        log.turns.notes.add(f"{unknown} records that are no JSON-RPC messages left out")
    return {**log.turns.fields(), "metadata": log.turns.notes.into(log.metadata)}


def _messages(value: Any) -> Iterator[dict[str, Any]]:
    """The messages that a record is or wraps; several where it is a batch."""
    for found in logged(value) if is_mapping(value) else [value]:
        for message in found if is_list(found) else [found]:
            if mapping(message).get("jsonrpc") == "2.0" and {"method", "result", "error"} & message.keys():
                yield message


def _opens(value: Any) -> bool:
    return any(message.get("method") == "initialize" for message in _messages(value))


def _result_parts(result: Any, turn: int) -> list[dict[str, Any]]:
    """What a call gave back: its content, and its structured form where the content doesn't repeat it."""
    given = mapping(result)
    if is_list(given.get("contents")):
        return [_resource(mapping(resource)) for resource in given["contents"]]
    if not is_list(given.get("content")) and "structuredContent" not in given:
        return [text_part(as_text(result))]
    parts = [_part(mapping(part)) for part in parts_of(given.get("content"), turn)]
    structured = given.get("structuredContent")
    if structured is not None and not any(_says(part, structured) for part in parts):
        parts.append(text_part(as_text(structured)))
    return parts


def _says(part: dict[str, Any], structured: Any) -> bool:
    try:
        return parse(string(part.get("text")).encode()) == structured
    except NotJsonError:
        return False


def _part(part: dict[str, Any]) -> dict[str, Any]:
    kind = string(part.get("type")) or "unknown"
    if kind == "resource":
        return _resource(mapping(part.get("resource")))
    if kind in ("image", "audio"):
        return media_part(
            part.get("mimeType"), **{key: value for key, value in part.items() if key != "mimeType"}
        )
    if kind == "resource_link":
        return {**part, "url": part.get("uri")}
    return {**part, "type": kind}


def _resource(resource: dict[str, Any]) -> dict[str, Any]:
    named = {"url": resource.get("uri"), "media_type": resource.get("mimeType")}
    if "text" in resource:
        return text_part(resource["text"], **named)
    return {**resource, **named, "type": "resource"}
