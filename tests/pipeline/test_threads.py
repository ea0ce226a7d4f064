"""Conversations from the calls of a model: repeated history once, and only the agent's calls."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.readers.dialects import messages
from adjudge.pipeline.readers.parts import Message
from adjudge.pipeline.readers.source import Source, Unreadable
from adjudge.pipeline.readers.steps import Step
from adjudge.pipeline.readers.threads import Thread
from adjudge.pipeline.readers.traces import conversations


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def agent(text: str | None, *calls: str) -> Message:
    made = [{"id": call, "function": {"name": call, "arguments": "{}"}} for call in calls]
    return {"role": "assistant", "content": text, "tool_calls": made}


def tool(call: str, text: str = "done") -> Message:
    return {"role": "tool", "tool_call_id": call, "content": text}


def prompt(text: str) -> Message:
    return {"role": "system", "content": text}


def call(number: int, history: list[Message], *reply: Message, **more: Any) -> Step:
    """A call of a model, the `number`-th thing that happened."""
    fields: dict[str, Any] = {"trace": "t", "id": f"call-{number}", "kind": "model", "begin": f"{number:03}"}
    fields |= {"given": history, "gave": list(reply), **more}
    return Step(**fields)


def around(identity: str, **more: Any) -> Step:
    """A step around others."""
    fields: dict[str, Any] = {"trace": "t", "id": identity, "begin": "000", **more}
    return Step(**fields)


def one(path: Path, *steps: Step) -> Conversation:
    """The one conversation of these steps."""
    [found] = list(conversations(source(path), list(steps)))
    assert isinstance(found, Conversation), found
    return found


def source(path: Path) -> Source:
    file = path / "traces.json"
    file.touch()
    return Source(file)


def said(conversation: Conversation) -> list[str]:
    return [m.text or ",".join(c.name for c in m.tool_calls) for m in conversation.messages]


def notes(conversation: Conversation) -> list[str]:
    return conversation.metadata.get("adjudge", {}).get("notes", [])


LEFT_OUT = "one other exchange with a model left out (a guardrail, a title, an agent within)"


@st.composite
def exchanges(draw: st.DrawFn) -> list[Message]:
    """A conversation with an agent: what users say, and calls and words of the agent; all different."""
    exchange: list[Message] = []
    for turn in range(draw(st.integers(1, 5))):
        exchange.append(user(f"question {turn}"))
        for step in range(draw(st.integers(0, 3))):
            ids = [f"{turn}-{step}-{place}" for place in range(draw(st.integers(1, 3)))]
            exchange.append(agent(draw(st.sampled_from([None, f"checking {turn} {step}"])), *ids))
            exchange += [tool(identity) for identity in draw(st.permutations(ids))]
        exchange.append(agent(f"answer {turn}"))
    return exchange


def prefixes(exchange: list[Message]) -> list[list[Message]]:
    """What each call of the model saw and gave: everything up to each of the agent's messages."""
    return [exchange[: n + 1] for n, message in enumerate(exchange) if message["role"] == "assistant"]


@given(exchanges())
def test_a_history_repeated_in_every_call_is_there_once(exchange: list[Message]) -> None:
    first, *later = prefixes(exchange)
    thread = Thread.of(first, 0)
    for seen in later:
        assert thread.take(seen)
    assert thread.messages == exchange


@given(exchanges(), st.integers(1, 4))
def test_a_history_cut_to_its_last_messages_goes_on_where_the_thread_ends(
    exchange: list[Message], kept: int
) -> None:
    first, *later = prefixes(exchange)
    thread = Thread.of(first, 0)
    for seen in later:
        known = len(thread.messages)
        assert thread.take(seen[max(0, known - kept) :])
    assert thread.messages == exchange


@given(exchanges())
def test_a_history_without_tool_calls_goes_on_where_the_thread_ends(exchange: list[Message]) -> None:
    turns = [n + 1 for n, m in enumerate(exchange) if m["role"] == "assistant" and not m["tool_calls"]]
    thread = Thread.of(exchange[: turns[0]], 0)
    for before, end in pairwise(turns):
        plain = [m for m in exchange[:before] if m["role"] == "user" or not m.get("tool_calls", True)]
        for seen in prefixes(exchange[before:end]):
            assert thread.take([*plain, *seen])
    assert thread.messages == exchange


@given(exchanges())
def test_the_same_call_again_adds_nothing(exchange: list[Message]) -> None:
    thread = Thread.of(exchange, 0)
    assert thread.take(prefixes(exchange)[-1])
    assert thread.messages == exchange


def test_a_conversation_over_several_calls_is_read_once(tmp_path: Path) -> None:
    first = [prompt("You help."), user("hi"), agent(None, "look"), tool("look")]
    conversation = one(
        tmp_path,
        call(1, first[:2], first[2]),
        call(2, first, agent("hello")),
        call(3, [*first, agent("hello"), user("bye")], agent("goodbye")),
    )
    assert said(conversation) == ["You help.", "hi", "look", "done", "hello", "bye", "goodbye"]
    assert notes(conversation) == []


def test_calls_stand_in_the_order_of_time_wherever_they_are_in_the_file(tmp_path: Path) -> None:
    steps = [call(2, [user("a"), agent("b"), user("c")], agent("d")), call(1, [user("a")], agent("b"))]
    assert said(one(tmp_path, *steps)) == ["a", "b", "c", "d"]


def test_a_guardrail_beside_the_conversation_is_left_out_and_noted(tmp_path: Path) -> None:
    conversation = one(
        tmp_path,
        call(1, [prompt("Is this safe?"), user("hi")], agent("safe")),
        call(2, [prompt("You help."), user("hi")], agent("hello")),
    )
    assert said(conversation) == ["You help.", "hi", "hello"]
    assert notes(conversation) == [LEFT_OUT]


def test_of_equal_exchanges_the_one_that_ends_as_the_trace_does_is_the_conversation(tmp_path: Path) -> None:
    conversation = one(
        tmp_path,
        around("root", given="hi", gave="hello"),
        call(1, [prompt("You help."), user("hi")], agent("hello"), parent="root"),
        call(2, [prompt("Give it a title."), user("hi")], agent("A greeting"), parent="root"),
    )
    assert said(conversation) == ["You help.", "hi", "hello"]


def test_an_agent_that_is_a_tool_of_the_agent_is_left_out(tmp_path: Path) -> None:
    conversation = one(
        tmp_path,
        call(1, [user("hi")], agent(None, "research")),
        around("research", kind="tool", tool="research", call="research", begin="002", gave="found it"),
        call(3, [user("hi")], agent(None, "search"), parent="research"),
        call(4, [user("hi"), agent(None, "search"), tool("search")], agent("found it"), parent="research"),
        call(5, [user("hi"), agent(None, "research"), tool("research", "found it")], agent("here it is")),
    )
    assert said(conversation) == ["hi", "research", "found it", "here it is"]
    assert notes(conversation) == [LEFT_OUT]


def test_a_call_around_a_call_is_the_same_call(tmp_path: Path) -> None:
    inner = call(2, [user("hi")], agent(None, "look"), parent="call-1")
    last = call(3, [user("hi"), agent(None, "look"), tool("look")], agent("hello"), parent="call-1")
    conversation = one(tmp_path, call(1, [user("hi")], agent("hello")), inner, last)
    assert said(conversation) == ["hi", "look", "done", "hello"]


def test_a_call_that_failed_and_was_made_again_is_noted(tmp_path: Path) -> None:
    conversation = one(
        tmp_path, call(1, [user("hi")], error="429 slow down"), call(2, [user("hi")], agent("hello"))
    )
    assert (conversation.status, said(conversation)) == ("completed", ["hi", "hello"])
    assert notes(conversation) == ["a call of the model failed: 429 slow down"]


def test_a_conversation_whose_last_call_failed_has_failed(tmp_path: Path) -> None:
    conversation = one(tmp_path, call(1, [user("hi")], error="503 overloaded"))
    assert (conversation.status, conversation.error, said(conversation)) == (
        "failed",
        "503 overloaded",
        ["hi"],
    )


def test_an_error_of_what_is_around_a_trace_is_the_conversations(tmp_path: Path) -> None:
    root = around("root", error="recursion limit")
    conversation = one(tmp_path, root, call(1, [user("hi")], agent("hello"), parent="root"))
    assert (conversation.status, conversation.error) == ("failed", "recursion limit")


def test_a_result_that_no_call_repeats_is_taken_from_the_tools_run(tmp_path: Path) -> None:
    run = around("run", kind="tool", tool="look", call="look", gave="it is there", end="2026-01-01T00:00:00Z")
    conversation = one(tmp_path, call(1, [user("hi")], agent(None, "look")), run)
    [made] = conversation.tool_calls
    assert (made.result, conversation.messages[-1].timestamp) == ("it is there", "2026-01-01T00:00:00Z")


def test_an_error_of_a_tools_run_is_on_its_result(tmp_path: Path) -> None:
    run = around("run", kind="tool", tool="look", call="look", gave="Error: gone", error="gone")
    history = [user("hi"), agent(None, "look"), tool("look", "Error: gone")]
    conversation = one(
        tmp_path, call(1, history[:1], history[1]), run, call(3, history, agent("It is gone."))
    )
    assert (conversation.tool_errors, conversation.tool_calls[0].error) == (1, "gone")
    assert len(conversation.messages) == 4


def test_runs_of_tools_without_ids_answer_the_calls_with_their_arguments(tmp_path: Path) -> None:
    asked = [{"function": {"name": "look", "arguments": f'{{"at": {n}}}'}} for n in (1, 2)]
    runs = [
        around(f"run-{n}", kind="tool", tool="look", given={"at": n}, gave=f"seen {n}", begin=f"00{4 - n}")
        for n in (1, 2)
    ]
    reply = {"role": "assistant", "content": None, "tool_calls": asked}
    conversation = one(tmp_path, call(1, [user("hi")], reply), *runs)
    assert [made.result for made in conversation.tool_calls] == ["seen 1", "seen 2"]


def test_a_call_id_used_again_gets_its_own_result(tmp_path: Path) -> None:
    runs = [
        around(f"run-{n}", kind="tool", tool="look", call="look", gave=f"seen {n}", begin=f"00{2 * n}")
        for n in (1, 2)
    ]
    history = [user("hi"), agent(None, "look"), tool("look", "seen 1"), agent("one"), user("again")]
    conversation = one(
        tmp_path, call(1, history[:1], history[1]), call(3, history, agent(None, "look")), *runs
    )
    assert [made.result for made in conversation.tool_calls] == ["seen 1", "seen 2"]


def test_traces_of_one_conversation_without_history_follow_each_other(tmp_path: Path) -> None:
    steps = [
        call(2, [prompt("You help."), user("bye")], agent("goodbye"), trace="later", conversation="c"),
        call(1, [prompt("You help."), user("hi")], agent("hello"), trace="earlier", conversation="c"),
    ]
    conversation = one(tmp_path, *steps)
    assert (conversation.id, said(conversation)) == ("c", ["You help.", "hi", "hello", "bye", "goodbye"])
    assert conversation.metadata["trace_ids"] == ["earlier", "later"]


def test_traces_of_one_conversation_with_history_are_read_once(tmp_path: Path) -> None:
    history = [user("hi"), agent("hello"), user("bye")]
    steps = [
        call(1, history[:1], history[1], trace="earlier", conversation="c"),
        call(2, history, agent("goodbye"), trace="later", conversation="c"),
    ]
    assert said(one(tmp_path, *steps)) == ["hi", "hello", "bye", "goodbye"]


def test_a_history_that_the_provider_keeps_goes_on_with_the_results(tmp_path: Path) -> None:
    conversation = one(
        tmp_path, call(1, [user("hi")], agent(None, "look")), call(2, [tool("look")], agent("hello"))
    )
    assert said(conversation) == ["hi", "look", "done", "hello"]


def test_instructions_of_the_agent_that_takes_over_stand_where_it_does(tmp_path: Path) -> None:
    history = [user("hi"), agent(None, "transfer"), tool("transfer")]
    conversation = one(
        tmp_path,
        call(1, [prompt("You are the desk."), history[0]], history[1]),
        call(2, [prompt("You do refunds."), *history], agent("Refunds here.")),
    )
    assert said(conversation) == [
        *("You are the desk.", "hi", "transfer", "done"),
        *("You do refunds.", "Refunds here."),
    ]


def test_a_prompt_with_the_time_in_it_is_shown_once_and_that_is_noted(tmp_path: Path) -> None:
    start = "You are the agent of an airline, and you follow this policy in all you do. It is "
    conversation = one(
        tmp_path,
        call(1, [prompt(start + "9:00"), user("hi")], agent("hello")),
        call(2, [prompt(start + "9:01"), user("hi"), agent("hello"), user("bye")], agent("goodbye")),
    )
    assert said(conversation) == [start + "9:00", "hi", "hello", "bye", "goodbye"]
    assert notes(conversation) == ["the system prompt varies between calls of the model: the first is shown"]


def test_what_the_trace_gave_in_the_end_is_the_agents_output(tmp_path: Path) -> None:
    root = around("root", given="hi", gave={"answer": "HELLO"})
    conversation = one(tmp_path, root, call(1, [user("hi")], agent("hello"), parent="root"))
    assert conversation.agent_output == "HELLO"


def test_a_trace_without_calls_of_a_model_is_read_from_what_is_around_it(tmp_path: Path) -> None:
    state = {"messages": [user("hi"), agent(None, "look"), tool("look"), agent("hello")]}
    root = around("root", conversation="c", given={"messages": [user("hi")]}, gave=state)
    assert said(one(tmp_path, root)) == ["hi", "look", "done", "hello"]


def test_traces_without_a_model_are_passed_over(tmp_path: Path) -> None:
    other = Step(trace="health", id="1")
    assert said(one(tmp_path, other, call(1, [user("hi")], agent("hello")))) == ["hi", "hello"]


def test_a_file_whose_traces_have_no_model_says_so(tmp_path: Path) -> None:
    [found] = list(conversations(source(tmp_path), [Step(trace="health", id="1")]))
    assert isinstance(found, Unreadable)
    assert found.reason == "no call of a model in it: these traces are no conversations"


def test_steps_that_are_within_each_other_end_nowhere(tmp_path: Path) -> None:
    first = call(1, [user("hi")], agent("hello"), parent="call-2")
    assert said(one(tmp_path, first, replace(call(2, []), parent="call-1", kind="other"))) == ["hi", "hello"]


# Spellings


CALL = [("look", "c1", {"at": 1})]


@pytest.mark.parametrize(
    "spelled",
    [
        {"role": "assistant", "tool_calls": [{"id": "c1", "name": "look", "args": {"at": 1}}]},
        {"role": "assistant", "content": "", "additional_kwargs": {"tool_calls": [
            {"id": "c1", "function": {"name": "look", "arguments": '{"at": 1}'}}]}},
        {"type": "ai", "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": {"at": 1}}],
         "tool_calls": [{"id": "c1", "name": "look", "args": {"at": 1}, "type": "tool_call"}]},
        {"type": "ai", "data": {
            "content": "", "tool_calls": [{"id": "c1", "name": "look", "args": {"at": 1}}]}},
        {"lc": 1, "type": "constructor", "id": ["langchain", "AIMessageChunk"],
         "kwargs": {"content": "", "tool_calls": [{"id": "c1", "name": "look", "args": {"at": 1}}]}},
        {"role": "assistant", "parts": [
            {"type": "tool_call", "id": "c1", "name": "look", "arguments": {"at": 1}}]},
        {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "look", "args": {"at": 1}}}]},
        {"role": "assistant", "content": [
            {"type": "tool-call", "toolCallId": "c1", "toolName": "look", "input": {"at": 1}}]},
        [{"toolCallId": "c1", "toolName": "look", "input": '{"at": 1}'}],
        [{"type": "function_call", "id": "fc", "call_id": "c1", "name": "look", "arguments": '{"at": 1}'}],
        [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}],
        {"choices": [{"index": 0, "message": {"role": "assistant", "tool_calls": [
            {"id": "c1", "function": {"name": "look", "arguments": '{"at": 1}'}}]}}]},
        {"output": [{"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"at": 1}'}]},
        {"generations": [[{"text": "", "message": {"type": "ai", "content": "", "tool_calls": [
            {"id": "c1", "name": "look", "args": {"at": 1}}]}}]]},
        {"candidates": [{"content": {"role": "model", "parts": [
            {"function_call": {"id": "c1", "name": "look", "args": {"at": 1}}}]}}]},
    ],
)  # fmt: skip
def test_a_call_is_the_same_in_every_spelling(spelled: Any, tmp_path: Path) -> None:
    conversation = one(tmp_path, call(1, [user("hi")], gave=spelled))
    assert [(made.name, made.id, made.arguments) for made in conversation.tool_calls] == CALL
    assert len(conversation.messages) == 2


@pytest.mark.parametrize(
    "spelled",
    [
        {"role": "tool", "tool_call_id": "c1", "content": "done"},
        {"type": "tool", "content": "done", "tool_call_id": "c1", "status": "success"},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "done"}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "done"}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "look", "response": "done"}}]},
        {"role": "tool", "content": [
            {"type": "tool-result", "toolCallId": "c1", "toolName": "look",
             "output": {"type": "text", "value": "done"}}]},
        {"type": "function_call_output", "call_id": "c1", "output": "done"},
    ],
)  # fmt: skip
def test_a_result_is_the_same_in_every_spelling(spelled: Any) -> None:
    [result] = messages([spelled], "user")
    assert (result["role"], result["tool_call_id"], result["content"]) == ("tool", "c1", "done")


@pytest.mark.parametrize(
    "spelled",
    [
        {"type": "tool", "content": "gone", "tool_call_id": "c1", "status": "error"},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": "gone", "is_error": True}]},
        {"role": "tool", "content": [
            {"type": "tool-result", "toolCallId": "c1", "output": {"type": "error-text", "value": "gone"}}]},
    ],
)  # fmt: skip
def test_an_error_of_a_tool_is_one_in_every_spelling(spelled: Any) -> None:
    [result] = messages([spelled], "user")
    assert result["error"] == "gone"


@pytest.mark.parametrize(
    "spelled",
    [
        {"role": "assistant", "reasoning_content": "hmm", "content": "hello"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hmm"}, {"type": "text", "text": "hello"}]},
        {"role": "assistant", "parts": [
            {"type": "reasoning", "content": "hmm"}, {"type": "text", "content": "hello"}]},
        {"role": "model", "parts": [{"thought": True, "text": "hmm"}, {"text": "hello"}]},
        {"role": "assistant", "content": [
            {"type": "reasoning", "text": "hmm"}, {"type": "text", "text": "hello"}]},
    ],
)  # fmt: skip
def test_reasoning_is_a_part_of_its_own_in_every_spelling(spelled: Any, tmp_path: Path) -> None:
    conversation = one(tmp_path, call(1, [user("hi")], gave=spelled))
    content = conversation.messages[1].content
    assert isinstance(content, list)
    assert [(part.type, part.text) for part in content] == [("reasoning", "hmm"), ("text", "hello")]


def test_reasoning_that_is_encrypted_is_a_part_without_words() -> None:
    [thought] = messages([{"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}], "assistant")
    [redacted] = messages(
        [{"role": "assistant", "content": [{"type": "redacted_thinking", "data": "x"}]}], ""
    )
    assert thought["content"][0]["type"] == "reasoning"
    assert redacted["content"] == [{"type": "redacted_thinking", "data": "x"}]


def test_words_before_results_in_one_message_of_a_user_come_after_them() -> None:
    parts = [{"type": "text", "text": "go on"}, {"type": "tool_result", "tool_use_id": "c", "content": "x"}]
    assert [m["role"] for m in messages([{"role": "user", "content": parts}], "user")] == ["tool", "user"]


def test_an_image_is_a_part_that_is_named(tmp_path: Path) -> None:
    part = {"type": "image_url", "image_url": {"url": "https://x.example/a.png"}}
    asked = {"role": "user", "content": [part, {"type": "text", "text": "what is it?"}]}
    content = one(tmp_path, call(1, [asked], agent("a cat"))).messages[0].content
    assert isinstance(content, list)
    assert [found.type for found in content] == ["image_url", "text"]


def test_definitions_of_tools_among_the_messages_are_none() -> None:
    defined = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    assert messages([user("hi"), {"role": "tool", "content": defined}], "user") == [user("hi")]


@pytest.mark.parametrize(
    "text", ['{"message": "hi", "intent": "greet"}', '{"text": "hi", "id": 1}', '[1, 2]', '"hi"', "null", "{"]
)  # fmt: skip
def test_structured_output_stays_as_it_was_written(text: str) -> None:
    assert messages(text, "assistant") == [{"role": "assistant", "content": text}]


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        ({"prompt": "hi"}, [user("hi")]),
        ({"messages": [[user("hi")]]}, [user("hi")]),
        ({"model": "m", "contents": "hi"}, [user("hi")]),
        ({"model": "m", "input": "hi", "instructions": "Help."}, [prompt("Help."), user("hi")]),
        ({"question": "hi"}, [user('{"question":"hi"}')]),
        ("hi", [user("hi")]),
        ([], []),
        (None, []),
    ],
)
def test_what_a_model_was_given_is_found_in_its_envelope(given_: Any, expected: list[Message]) -> None:
    assert [{key: m[key] for key in ("role", "content")} for m in messages(given_, "user")] == expected
