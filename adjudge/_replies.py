"""What the test server hears and says: requests as received, replies as told."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

Fault = Literal["hang", "reset", "close", "half_close", "cut", "cut_chunk", "trickle", "trickle_head"]
"""What goes wrong on the wire. `hang` never answers; `reset`, `close` and `half_close` end the connection
before an answer; `cut` and `cut_chunk` end it within the body; the trickles send a byte every 10 ms."""

Api = Literal["openai", "anthropic", "gemini", "ollama"]


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request as the server received it.

    Attributes:
        path: with its query.
        headers: names in lower case.
        body: as sent.
    """

    path: str
    headers: Mapping[str, str]
    body: bytes

    @cached_property
    def json(self) -> dict[str, Any]:
        """The body, decoded."""
        return json.loads(self.body)

    @property
    def api(self) -> Api:
        """The interface its path belongs to."""
        path = self.path.partition("?")[0]
        if path.endswith("/messages"):
            return "anthropic"
        if path.endswith(":generateContent"):
            return "gemini"
        return "ollama" if path.endswith("/api/chat") else "openai"

    @cached_property
    def statements(self) -> dict[str, str]:
        """The statements asked about, by id: JSON lines `{"id": ..., "statement": ...}` of a message."""
        messages: list[dict[str, Any]] = self.json.get("messages") or self.json.get("contents") or []
        for message in reversed(messages):
            found = dict(_statements(_text(message)))
            if found:
                return found
        return {}

    @property
    def forced_tool(self) -> str | None:
        """Name of the tool the model is told to call, or None."""
        choice: Any = self.json.get("tool_choice") or self.json.get("toolConfig") or {}
        if "functionCallingConfig" in choice:
            return choice["functionCallingConfig"]["allowed_function_names"][0]
        return choice.get("name") or choice.get("function", {}).get("name")


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What the server does with one request. As it stands: every statement asked about is met.

    Attributes:
        status: HTTP status.
        headers: added to the response's.
        decision: of every statement, or by statement text (`met` where a text is not named).
        text: what the model says, instead of verdicts made from `decision`.
        body: the whole response body (bytes, text, or a value sent as JSON), instead of a model's reply.
        finish: why the model stopped, in the words of the OpenAI interface; others go through as they are.
        refusal: the model refuses, in these words.
        usage: input and output tokens; None leaves usage out.
        cached_tokens: input tokens served from the prefix cache.
        stored_tokens: input tokens put into it; only Anthropic's interface says so.
        model: the model that says it answered; None echoes the one asked for.
        delay: seconds before the answer.
        fault: what goes wrong on the wire.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    decision: str | Mapping[str, str] = "met"
    text: str | None = None
    body: Any = None
    finish: str | None = "stop"
    refusal: str | None = None
    usage: tuple[Any, Any] | None = (100, 20)
    cached_tokens: int = 0
    stored_tokens: int = 0
    model: str | None = None
    delay: float = 0.0
    fault: Fault | None = None


def verdicts(decisions: Mapping[str, str], *, rationale: str = "As told.") -> str:
    """A well-formed reply: one verdict for each statement id, with its decision."""
    rows: list[dict[str, Any]] = [
        {"id": key, "rationale": rationale, "citations": [], "decision": decision}
        for key, decision in decisions.items()
    ]
    return json.dumps({"verdicts": rows})


def response(reply: Reply, request: Request) -> tuple[bytes, bytes]:
    """Head and body of the HTTP response that `reply` makes to `request`."""
    body: Any = reply.body
    if body is None:
        body = _model_reply(reply, request) if reply.status == 200 else {"error": {"message": "as told"}}
    if isinstance(body, str):
        body = body.encode()
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), **reply.headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return b"HTTP/1.1 %d Told\r\n" % reply.status + lines.encode("latin-1") + b"\r\n", body


def _model_reply(reply: Reply, request: Request) -> dict[str, Any]:
    text = reply.text
    if text is None:
        decision = reply.decision
        by_id = {
            key: decision if isinstance(decision, str) else decision.get(statement, "met")
            for key, statement in request.statements.items()
        }
        text = verdicts(by_id)
    build = {"openai": _openai, "anthropic": _anthropic, "gemini": _gemini, "ollama": _ollama}[request.api]
    return build(reply, request, text)


def _openai(reply: Reply, request: Request, text: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if reply.refusal is not None:
        message |= {"content": None, "refusal": reply.refusal}
    elif request.forced_tool:
        call = {
            "id": "call_1",
            "type": "function",
            "function": {"name": request.forced_tool, "arguments": text},
        }
        message |= {"content": None, "tool_calls": [call]}
    body: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": reply.model or request.json.get("model"),
        "choices": [{"index": 0, "message": message, "finish_reason": reply.finish}],
    }
    if reply.usage:
        prompt, completion = reply.usage
        details = {"cached_tokens": reply.cached_tokens}
        body["usage"] = {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "prompt_tokens_details": details,
        }
    return body


def _anthropic(reply: Reply, request: Request, text: str) -> dict[str, Any]:
    reasons = {"stop": "end_turn", "length": "max_tokens"}
    finish = "refusal" if reply.refusal is not None else reasons.get(reply.finish or "", reply.finish)
    content: list[dict[str, Any]] = [{"type": "text", "text": reply.refusal or text}]
    if request.forced_tool and reply.refusal is None:
        value = _json_or_none(text)
        content = [{"type": "tool_use", "id": "toolu_1", "name": request.forced_tool, "input": value}]
        finish = "tool_use" if finish == "end_turn" else finish
    model = reply.model or request.json.get("model")
    body: dict[str, Any] = {"id": "msg_1", "type": "message", "role": "assistant", "model": model}
    body |= {"content": content, "stop_reason": finish, "stop_sequence": None}
    if reply.usage:
        prompt, completion = reply.usage
        cached, stored = reply.cached_tokens, reply.stored_tokens
        body["usage"] = {
            "input_tokens": prompt - cached - stored if cached or stored else prompt,
            "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": stored,
            "output_tokens": completion,
        }
    return body


def _gemini(reply: Reply, request: Request, text: str) -> dict[str, Any]:
    reasons = {"stop": "STOP", "length": "MAX_TOKENS"}
    part: dict[str, Any] = {"text": text}
    if request.forced_tool:
        part = {"functionCall": {"name": request.forced_tool, "args": _json_or_none(text)}}
    candidate = {"content": {"role": "model", "parts": [part]}}
    body: dict[str, Any] = {"modelVersion": reply.model or "gemini"}
    body["candidates"] = [{**candidate, "finishReason": reasons.get(reply.finish or "", reply.finish)}]
    if reply.usage:
        prompt, completion = reply.usage
        body["usageMetadata"] = {"promptTokenCount": prompt, "candidatesTokenCount": completion}
    return body


def _ollama(reply: Reply, request: Request, text: str) -> dict[str, Any]:
    body: dict[str, Any] = {"model": reply.model or request.json.get("model"), "done": True}
    body |= {"message": {"role": "assistant", "content": text}, "done_reason": reply.finish}
    if reply.usage:
        body |= {"prompt_eval_count": reply.usage[0], "eval_count": reply.usage[1]}
    return body


def _text(message: Mapping[str, Any]) -> str:
    content: str | list[dict[str, Any]] = message.get("content") or message.get("parts") or ""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def _statements(text: str) -> Iterator[tuple[str, str]]:
    for line in text.split("\n"):
        start = line.find('{"id":')
        row = _json_or_none(line[start:]) if start >= 0 else None
        if row is not None and row.keys() == {"id", "statement"}:
            yield row["id"], row["statement"]


def _json_or_none(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
