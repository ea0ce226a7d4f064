"""What a reply says, in each interface's own words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.judges.calling.reading import Reading, Shape, UnreadableError, read
from adjudge.judges.verdict import Usage


def openai(message: Any = None, *, finish: Any = "stop", **more: Any) -> bytes:
    choice = {"message": {"content": "hi"} if message is None else message, "finish_reason": finish}
    return json.dumps({"choices": [choice], "model": "m-1", **more}).encode()


def anthropic(*content: Any, stop: str = "end_turn", **more: Any) -> bytes:
    return json.dumps({"content": content, "stop_reason": stop, "model": "c-1", **more}).encode()


def gemini(*parts: Any, finish: str = "STOP", **more: Any) -> bytes:
    candidate = {"content": {"parts": parts}, "finishReason": finish}
    return json.dumps({"candidates": [candidate], "modelVersion": "g-1", **more}).encode()


def ollama(**more: Any) -> bytes:
    body = {"message": {"content": "hi"}, "done": True, "done_reason": "stop", "model": "l-1"}
    return json.dumps({**body, **more}).encode()


def call(arguments: Any) -> dict[str, Any]:
    return {"function": {"name": "f", "arguments": arguments}}


@pytest.mark.parametrize(
    ("shape", "body"),
    [
        ("openai", openai()),
        (
            "openai",
            openai({"content": [{"type": "thinking", "thinking": []}, {"type": "text", "text": "hi"}]}),
        ),
        ("openai", openai({"content": None, "tool_calls": [call("hi")]}, finish="tool_calls")),
        ("openai", openai({"content": "", "tool_calls": [call("hi")]})),
        ("openai", openai(finish="eos")),
        ("anthropic", anthropic({"type": "text", "text": "hi"})),
        ("anthropic", anthropic({"type": "thinking", "thinking": "x"}, {"type": "text", "text": "hi"})),
        ("gemini", gemini({"text": "x", "thought": True}, {"text": "h"}, {"text": "i"})),
        ("ollama", ollama()),
        ("ollama", ollama(done_reason=None)),
    ],
)
def test_words_are_read_in_every_interface(shape: Shape, body: bytes) -> None:
    reading = read(shape, body)

    assert (reading.text, reading.end) == ("hi", "normal")


@pytest.mark.parametrize(
    ("shape", "body"),
    [
        ("openai", openai({"tool_calls": [call('{"a": 1}')]}, finish="tool_calls")),
        ("anthropic", anthropic({"type": "tool_use", "name": "f", "input": {"a": 1}}, stop="tool_use")),
        ("gemini", gemini({"functionCall": {"name": "f", "args": {"a": 1}}})),
        ("ollama", ollama(message={"content": "", "tool_calls": [call({"a": 1})]})),
    ],
)
def test_the_arguments_of_a_tool_call_are_the_reply(shape: Shape, body: bytes) -> None:
    reading = read(shape, body)

    assert (reading.text, reading.end) == ('{"a": 1}', "normal")


@pytest.mark.parametrize(
    ("shape", "body", "end"),
    [
        ("openai", openai(finish="length"), "length"),
        ("openai", openai(finish="content_filter"), "content_filter"),
        ("openai", openai(finish="tool_calls"), "unknown"),
        ("anthropic", anthropic({"type": "text", "text": ""}, stop="max_tokens"), "length"),
        ("anthropic", anthropic(stop="refusal"), "refusal"),
        ("anthropic", anthropic(stop="pause_turn"), "unknown"),
        ("gemini", gemini(finish="MAX_TOKENS"), "length"),
        ("gemini", gemini(finish="SAFETY"), "content_filter"),
        ("gemini", gemini(finish="MALFORMED_FUNCTION_CALL"), "unknown"),
        ("gemini", b'{"promptFeedback": {"blockReason": "SAFETY"}}', "content_filter"),
        ("ollama", ollama(done_reason="length"), "length"),
        ("ollama", ollama(done=False, done_reason=None), "unknown"),
    ],
)
def test_why_a_reply_ended_is_read_in_every_interface(shape: Shape, body: bytes, end: str) -> None:
    assert read(shape, body).end == end


@pytest.mark.parametrize(
    "finish", ["weird_reason", "refusal_v2", "error", "network_error", "", None, 7, ["stop"]]
)
def test_a_finish_reason_that_is_not_known_is_not_a_normal_end(finish: Any) -> None:
    assert read("openai", openai(finish=finish)).end == "unknown"


def test_a_marked_refusal_is_read() -> None:
    assert read("openai", openai({"content": None, "refusal": "I can't."})).refusal == "I can't."


@pytest.mark.parametrize(
    ("shape", "body", "usage"),
    [
        (
            "openai",
            openai(
                usage={
                    "prompt_tokens": 9,
                    "completion_tokens": 4,
                    "prompt_tokens_details": {"cached_tokens": 6},
                }
            ),
            Usage(input_tokens=9, output_tokens=4, cached_input_tokens=6),
        ),
        (
            "openai",
            openai(usage={"prompt_tokens": 9, "completion_tokens": 4, "prompt_cache_hit_tokens": 0}),
            Usage(input_tokens=9, output_tokens=4, cached_input_tokens=0),
        ),
        (
            "openai",
            openai(usage={"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 113}),
            Usage(input_tokens=9, output_tokens=104),
        ),
        (
            "anthropic",
            anthropic(usage={"input_tokens": 3, "cache_read_input_tokens": 6, "output_tokens": 4}),
            Usage(input_tokens=9, output_tokens=4, cached_input_tokens=6),
        ),
        (
            "gemini",
            gemini(
                usageMetadata={
                    "promptTokenCount": 9,
                    "candidatesTokenCount": 4,
                    "thoughtsTokenCount": 100,
                    "cachedContentTokenCount": 6,
                }
            ),
            Usage(input_tokens=9, output_tokens=104, cached_input_tokens=6),
        ),
        ("ollama", ollama(prompt_eval_count=9, eval_count=4), Usage(input_tokens=9, output_tokens=4)),
    ],
)
def test_tokens_are_counted_in_every_interface(shape: Shape, body: bytes, usage: Usage) -> None:
    assert read(shape, body).usage == usage


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": 0}, [], {"prompt_tokens": -3}])
def test_missing_or_senseless_usage_is_unknown_not_zero(usage: Any) -> None:
    assert read("openai", openai(usage=usage)).usage == Usage()


@pytest.mark.parametrize("count", ["12", 1.5, True, -1, None])
def test_a_count_that_is_no_number_of_tokens_is_unknown(count: Any) -> None:
    counts = {"prompt_tokens": count, "completion_tokens": count}

    assert read("openai", openai(usage=counts)).usage == Usage()


@pytest.mark.parametrize(
    ("shape", "body", "wrong"),
    [
        ("openai", b"", "empty"),
        ("openai", b" \n", "empty"),
        ("openai", b"<html>no</html>", "not JSON"),
        ("openai", b'{"choices": [', "not JSON"),
        ("openai", b"\xff", "not JSON"),
        ("openai", b"[" * 100_000, "not JSON"),
        ("openai", b"[]", "not a JSON object"),
        ("openai", b"null", "not a JSON object"),
        ("openai", b"{}", "no choices"),
        ("openai", b'{"choices": []}', "no choices"),
        ("openai", b'{"choices": null}', "no choices"),
        ("openai", b'{"choices": [{}]}', "shape"),
        ("openai", b'{"choices": [{"message": null}]}', "shape"),
        ("openai", b'{"choices": ["x"]}', "shape"),
        ("openai", openai({"tool_calls": [call("{}"), call("{}")]}), "several tools"),
        ("anthropic", b'{"type": "message"}', "shape"),
        ("anthropic", anthropic("x"), "shape"),
        ("gemini", b"{}", "no candidates"),
        ("ollama", b"{}", "shape"),
    ],
)
def test_what_is_no_reply_is_told_by_what_it_lacks(shape: Shape, body: bytes, wrong: str) -> None:
    with pytest.raises(UnreadableError, match=wrong):
        read(shape, body)


def test_a_decision_given_twice_within_tool_arguments_is_refused() -> None:
    body = anthropic({"type": "tool_use", "name": "f", "input": {"decision": "met"}}, stop="tool_use")
    twice = body.replace(b'{"decision": "met"}', b'{"decision": "not_met", "decision": "met"}')

    with pytest.raises(UnreadableError, match="same key twice"):
        read("anthropic", twice)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "message", "content", "tool_calls", "function", "usage", "candidates", "parts"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.sampled_from(["openai", "anthropic", "gemini", "ollama"]), JSON)
def test_any_json_is_read_or_refused(shape: Shape, value: Any) -> None:
    try:
        reading = read(shape, json.dumps(value).encode())
    except UnreadableError:
        return
    assert isinstance(reading, Reading)
