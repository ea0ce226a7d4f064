"""What a provider's reply says, read from its own JSON: text, refusal, why it ended, usage, model.

litellm's own reading is not used: it turns unknown finish reasons into `stop` and missing usage into 0.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, cast

from adjudge.judges.verdict import Usage

Shape = Literal["openai", "anthropic", "gemini", "ollama"]

End = Literal["normal", "length", "content_filter", "refusal", "unknown"]

_ENDS: dict[str, End] = {
    **dict.fromkeys(("stop", "eos", "eos_token", "end_turn", "stop_sequence", "STOP", "COMPLETE"), "normal"),
    **dict.fromkeys(("length", "max_tokens", "model_length", "MAX_TOKENS"), "length"),
    **dict.fromkeys(("model_context_window_exceeded",), "length"),
    **dict.fromkeys(("content_filter", "SAFETY", "RECITATION", "BLOCKLIST"), "content_filter"),
    **dict.fromkeys(("PROHIBITED_CONTENT", "SPII", "content_filtered"), "content_filter"),
    **dict.fromkeys(("guardrail_intervened", "ERROR_TOXIC"), "content_filter"),
    "refusal": "refusal",
}
_TOOL_ENDS = {"tool_calls", "function_call", "tool_use"}


class UnreadableError(ValueError):
    """A reply that lacks what its interface promises. The message holds no word of the reply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one reply says.

    Attributes:
        text: the words, or the arguments of the one tool call; None where there are none.
        refusal: the words of a refusal that the provider marks as one.
        finish: why the model stopped, in the provider's word.
        end: what `finish` means; anything not known to be normal is `unknown`.
        usage: tokens, as far as the provider counts them.
        model: the model the provider says answered.
        stored: input tokens that the provider charged for keeping them in its prefix cache.
    """

    text: str | None
    refusal: str | None = None
    finish: str | None
    end: End
    usage: Usage
    model: str | None
    stored: int = 0


def read(shape: Shape, body: bytes) -> Reading:
    """Read the body of a 200 response.

    Raises:
        UnreadableError: not one JSON object, no choices, several tool calls, another interface's shape.
    """
    # In the OpenAI interface arguments are text, which is parsed as strictly as any reply.
    decoded = _decoded(body, None if shape == "openai" else _unique)
    try:
        return _READERS[shape](decoded)
    except (AttributeError, TypeError, KeyError, IndexError):
        raise UnreadableError(f"the response does not have the shape of the {shape} interface") from None


def native_finish(body: bytes) -> str | None:
    """Why the model stopped, in the provider's word, from a reply of any interface; None where none is."""
    whole = _object(json.loads(body))
    first = _object(next(iter(_list(whole.get("candidates")) or _list(whole.get("choices"))), None))
    named = (whole.get(name) for name in ("stopReason", "stop_reason", "done_reason", "finish_reason"))
    inner = (first.get(name) for name in ("finishReason", "finish_reason"))
    return next((word for word in (*named, *inner) if isinstance(word, str)), None)


def _decoded(body: bytes, hook: Callable[[list[tuple[str, Any]]], dict[str, Any]] | None) -> dict[str, Any]:
    if not body.strip():
        raise UnreadableError("the response is empty")
    try:
        value = json.loads(body, object_pairs_hook=hook)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
        raise UnreadableError("the response is not JSON") from None
    if not isinstance(value, dict):
        raise UnreadableError("the response is not a JSON object")
    return cast("dict[str, Any]", value)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse duplicate keys: where tool arguments are part of the body, a decision might be twice (J2a)."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise UnreadableError("an object in the response has the same key twice")
    return members


def _openai(body: dict[str, Any]) -> Reading:
    choices = _list(body.get("choices"))
    if not choices:
        raise UnreadableError("the response has no choices")
    choice: dict[str, Any] = choices[0]
    message: dict[str, Any] = choice["message"]
    calls = [call["function"]["arguments"] for call in _list(message.get("tool_calls"))]
    content: Any = message.get("content")
    if isinstance(content, list):
        content = _joined(part.get("text") for part in _list(content) if part["type"] == "text")
    counts = _object(body.get("usage"))
    details = _object(counts.get("prompt_tokens_details"))
    return _reading(
        text=_only(calls) or content,
        called=bool(calls),
        refusal=message.get("refusal"),
        finish=choice.get("finish_reason"),
        usage=Usage(
            input_tokens=_count(counts.get("prompt_tokens")),
            output_tokens=_written(counts),
            cached_input_tokens=_cached(details.get("cached_tokens", counts.get("prompt_cache_hit_tokens"))),
        ),
        model=body.get("model"),
    )


def _anthropic(body: dict[str, Any]) -> Reading:
    blocks: list[dict[str, Any]] = body["content"]
    calls = [block["input"] for block in blocks if block["type"] == "tool_use"]
    counts = _object(body.get("usage"))
    fresh, cached = _count(counts.get("input_tokens")), _cached(counts.get("cache_read_input_tokens"))
    stored = _cached(counts.get("cache_creation_input_tokens"))
    return _reading(
        text=_only(calls) or _joined(block["text"] for block in blocks if block["type"] == "text"),
        called=bool(calls),
        finish=body.get("stop_reason"),
        usage=Usage(
            input_tokens=None if fresh is None else fresh + (cached or 0) + (stored or 0),
            output_tokens=_count(counts.get("output_tokens")),
            cached_input_tokens=cached,
        ),
        model=body.get("model"),
        stored=stored or 0,
    )


def _gemini(body: dict[str, Any]) -> Reading:
    candidates = _list(body.get("candidates"))
    if not candidates and _object(body.get("promptFeedback")).get("blockReason"):
        candidates = [{"finishReason": "PROHIBITED_CONTENT"}]
    if not candidates:
        raise UnreadableError("the response has no candidates")
    candidate: dict[str, Any] = candidates[0]
    parts = _list(_object(candidate.get("content")).get("parts"))
    calls = [part["functionCall"].get("args") for part in parts if "functionCall" in part]
    counts = _object(body.get("usageMetadata"))
    written, thought = _count(counts.get("candidatesTokenCount")), _count(counts.get("thoughtsTokenCount"))
    return _reading(
        text=_only(calls) or _joined(part.get("text") for part in parts if not part.get("thought")),
        called=bool(calls),
        finish=candidate.get("finishReason"),
        usage=Usage(
            input_tokens=_count(counts.get("promptTokenCount")),
            output_tokens=None if written is None else written + (thought or 0),
            cached_input_tokens=_cached(counts.get("cachedContentTokenCount")),
        ),
        model=body.get("modelVersion"),
    )


def _ollama(body: dict[str, Any]) -> Reading:
    message: dict[str, Any] = body["message"]
    calls = [call["function"]["arguments"] for call in _list(message.get("tool_calls"))]
    # Older servers say only that the reply is done.
    finish = body.get("done_reason") or ("stop" if body.get("done") is True else None)
    return _reading(
        text=_only(calls) or message.get("content"),
        called=bool(calls),
        finish=finish,
        usage=Usage(
            input_tokens=_count(body.get("prompt_eval_count")), output_tokens=_count(body.get("eval_count"))
        ),
        model=body.get("model"),
    )


_READERS: dict[Shape, Callable[[dict[str, Any]], Reading]] = {
    "openai": _openai,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "ollama": _ollama,
}


def _reading(
    *, text: Any, called: bool, finish: Any, usage: Usage, model: Any, refusal: Any = None, stored: int = 0
) -> Reading:
    end: End = "normal" if called and finish in _TOOL_ENDS else _ENDS.get(str(finish), "unknown")
    return Reading(
        text=text if isinstance(text, str) else None,
        refusal=refusal if isinstance(refusal, str) and refusal else None,
        finish=finish if isinstance(finish, str) else None,
        end=end,
        usage=usage,
        model=model if isinstance(model, str) and model else None,
        stored=stored,
    )


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _only(arguments: list[Any]) -> str | None:
    """The arguments of the one tool call as text; None where there is no call."""
    if len(arguments) > 1:
        raise UnreadableError("the reply calls several tools, not one")
    if not arguments or isinstance(arguments[0], str):
        return arguments[0] if arguments else None
    return json.dumps(arguments[0])


def _joined(texts: Iterable[Any]) -> str:
    return "".join(text for text in texts if isinstance(text, str))


def _written(counts: dict[str, Any]) -> int | None:
    """Completion tokens; some providers count reasoning only in the total."""
    read, written = _count(counts.get("prompt_tokens")), _count(counts.get("completion_tokens"))
    total = _count(counts.get("total_tokens"))
    return written if None in (read, written, total) else max(written or 0, (total or 0) - (read or 0))


def _count(value: Any) -> int | None:
    """A number of tokens; a missing, zero or senseless one is unknown."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _cached(value: Any) -> int | None:
    return 0 if value == 0 else _count(value)
