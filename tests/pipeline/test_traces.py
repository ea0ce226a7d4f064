"""Traces as LangSmith, Langfuse and OpenTelemetry write them: real files, and what they are known for."""

from __future__ import annotations

import json
import random
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from adjudge.pipeline.conversation import Conversation, Message
from adjudge.pipeline.plain import as_text, items, mapping
from adjudge.pipeline.readers.dialects import decoded, messages
from adjudge.pipeline.readers.otlp import any_value
from adjudge.pipeline.readers.parts import words
from adjudge.pipeline.readers.source import Source, Unreadable

DATA = Path(__file__).parents[1] / "data" / "readers"
LANGSMITH = DATA / "langsmith" / "airline_task12.runs.jsonl"
OTEL = DATA / "otel_genai"
OPENINFERENCE = DATA / "openinference"
LANGFUSE = sorted((DATA / "langfuse").glob("*.trace.json"))
Run = dict[str, Any]


def results(name: str, file: Path) -> list[Conversation | Unreadable]:
    """What a reader makes of a file."""
    return list(import_module(f"adjudge.pipeline.readers.{name}").read(Source(file)))


def one(name: str, file: Path) -> Conversation:
    """The one conversation of a file."""
    [found] = results(name, file)
    assert isinstance(found, Conversation), found
    return found


def written(path: Path, *records: Any) -> Path:
    file = path / "records.jsonl"
    file.write_text("\n".join(map(json.dumps, records)))
    return file


def notes(conversation: Conversation) -> list[str]:
    return conversation.metadata.get("adjudge", {}).get("notes", [])


def told(message: Message) -> Any:
    """What a message says and does, without times and names."""
    calls = [(call.id, call.name, call.arguments) for call in message.tool_calls]
    return message.role, message.text, calls, message.tool_call_id


@pytest.fixture
def runs() -> list[Run]:
    return [json.loads(line) for line in LANGSMITH.read_text().splitlines()]


def test_one_conversation_is_the_same_whatever_traced_it(tmp_path: Path) -> None:
    both = tmp_path / "both.json"
    parts = ("otel-legacy.airline_task12.otlp.json", "otel-legacy.airline_task12.logs.otlp.json")
    both.write_text("\n".join((OTEL / part).read_text() for part in parts))
    found = [
        one("langsmith", LANGSMITH),
        one("otel_genai", OTEL / "otel-new.airline_task12.otlp.json"),
        one("otel_genai", both),
        one("openinference", OPENINFERENCE / "openinference.airline_task12.otlp.json"),
    ]
    first = [told(message) for message in found[0].messages]
    assert len(first) == 15
    assert all([told(message) for message in other.messages] == first for other in found)
    assert [conversation.id for conversation in found] == ["thread-12", "conv-12", "conv-12", "conv-12"]


# LangSmith


def test_traces_of_one_langsmith_thread_are_one_conversation() -> None:
    conversation = one("langsmith", LANGSMITH)
    assert len(conversation.metadata["trace_ids"]) == 5
    assert [m.role for m in conversation.messages].count("user") == 5


def test_langsmith_runs_are_read_in_any_order(tmp_path: Path, runs: list[Run]) -> None:
    ordered = one("langsmith", LANGSMITH)
    random.Random(7).shuffle(runs)
    shuffled = one("langsmith", written(tmp_path, *runs))
    assert shuffled.messages == ordered.messages


def test_a_langsmith_batch_joins_what_was_posted_with_what_was_patched() -> None:
    conversation = one("langsmith", DATA / "langsmith" / "langsmith_py_wrap_openai_.json")
    assert [told(m)[:2] for m in conversation.messages] == [
        ("user", "howdy"),
        ("assistant", "Howdy! How can I assist you today?"),
    ]


def test_a_langsmith_run_of_a_streamed_reply_is_read() -> None:
    conversation = one("langsmith", DATA / "langsmith" / "langsmith_py_wrap_openai_stream.json")
    assert conversation.final_text == "Howdy! How can I assist you today?"


def test_langsmith_results_have_the_time_of_the_tools_run() -> None:
    [first, _] = [m for m in one("langsmith", LANGSMITH).messages if m.role == "tool"]
    assert (first.name, first.timestamp) == ("get_user_details", "2026-11-30T15:53:29.072547+00:00")


def test_a_langsmith_run_without_a_model_is_read_from_its_last_state(tmp_path: Path, runs: list[Run]) -> None:
    roots = [run for run in runs if not run["parent_run_id"]]
    whole = one("langsmith", LANGSMITH)
    found = one("langsmith", written(tmp_path, *roots))
    assert [told(m) for m in found.messages] == [told(m) for m in whole.messages[1:]]


def test_a_langsmith_root_with_an_error_has_failed_and_its_traceback_is_left_out(
    tmp_path: Path, runs: list[Run]
) -> None:
    root = [run for run in runs if not run["parent_run_id"]][-1]
    root["error"] = "GraphRecursionError('limit of 25')Traceback (most recent call last):\n  File ..."
    conversation = one("langsmith", written(tmp_path, *runs))
    assert (conversation.status, conversation.error) == ("failed", "GraphRecursionError('limit of 25')")


def test_a_langsmith_root_without_an_end_was_cut_off(tmp_path: Path, runs: list[Run]) -> None:
    root = [run for run in runs if not run["parent_run_id"]][-1]
    root["end_time"] = None
    conversation = one("langsmith", written(tmp_path, *runs))
    assert conversation.status == "failed"
    assert conversation.error == "the run has no end: it was cut off, or exported while it went on"


def test_a_langsmith_example_is_the_test_and_feedback_is_metadata(tmp_path: Path, runs: list[Run]) -> None:
    for run in runs:
        if not run["parent_run_id"]:
            run |= {"reference_example_id": "example-1", "feedback_stats": {"correctness": {"avg": 1}}}
    conversation = one("langsmith", written(tmp_path, *runs))
    assert (conversation.test, conversation.statements) == ("example-1", {})
    assert conversation.metadata["feedback_stats"] == {"correctness": {"avg": 1}}


def test_a_langsmith_run_without_an_id_is_unreadable_and_the_rest_is_read(
    tmp_path: Path, runs: list[Run]
) -> None:
    broken, conversation = results("langsmith", written(tmp_path, {"run_type": "llm"}, *runs))
    assert isinstance(broken, Unreadable)
    assert (broken.line, broken.reason) == (1, "a run is an object with an 'id'")
    assert isinstance(conversation, Conversation)


# OpenTelemetry


def test_log_records_alone_are_a_conversation_named_after_the_trace() -> None:
    conversation = one("otel_genai", OTEL / "otel-legacy.airline_task12.logs.otlp.json")
    assert (conversation.id, len(conversation.messages)) == ("6ee8673c109d6b742548e2140fa864a6", 15)


def test_spans_whose_messages_are_elsewhere_say_what_to_do() -> None:
    [found] = results("otel_genai", OTEL / "otel-legacy.airline_task12.otlp.json")
    assert isinstance(found, Unreadable)
    assert found.reason.startswith("conversation 'conv-12': no messages in its traces.")
    assert "name both files by one glob" in found.reason


def test_the_result_of_the_last_call_is_taken_from_its_span() -> None:
    conversation = one("otel_genai", OTEL / "otel-new.airline_task26.otlp.json")
    last = conversation.tool_calls[-1]
    assert (last.name, last.id) == ("update_reservation_flights", "call_fFijCIRMd8mQbayiOigIStrj")
    assert last.result is not None
    assert last.result.startswith('{"reservation_id": "M20IZO"')


def test_a_tool_span_with_an_error_marks_its_result() -> None:
    conversation = one("otel_genai", OTEL / "otel-new.airline_task26.otlp.json")
    [failed] = [call for call in conversation.tool_calls if call.error is not None]
    assert (failed.id, failed.error) == ("call_MY94XAcnfHzfAZcVHqt5FRRQ", "Error: payment method not found")
    assert conversation.tool_errors == 1


def test_a_call_of_the_model_that_was_refused_is_noted_and_not_shown() -> None:
    conversation = one("otel_genai", OTEL / "otel-new.airline_task12.otlp.json")
    assert notes(conversation) == [
        "one other exchange with a model left out (a guardrail, a title, an agent within)",
        "a call of the model failed: Error code: 400 - Unsupported value: 'messages[0].role'",
    ]
    assert conversation.status == "completed"


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("otel_genai", OTEL / "otel-new.airline_task12.otlp.json"),
        ("openinference", OPENINFERENCE / "openinference.airline_task12.otlp.json"),
        ("openinference", OPENINFERENCE / "openinference-langgraph.airline_task16.otlp.json"),
    ],
)
def test_spans_are_read_in_any_order(name: str, file: Path, tmp_path: Path) -> None:
    export = json.loads(file.read_text())
    for resource in export["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            random.Random(3).shuffle(scope["spans"])
    assert one(name, written(tmp_path, export)).messages == one(name, file).messages


def test_traces_of_one_openinference_session_are_one_conversation() -> None:
    conversation = one("openinference", OPENINFERENCE / "openinference-langgraph.airline_task16.otlp.json")
    assert (conversation.id, len(conversation.metadata["trace_ids"])) == ("conv-16", 3)
    assert [m.role for m in conversation.messages] == ["system", *["user", "assistant"] * 3]


def test_numbers_in_openinference_names_sort_as_numbers() -> None:
    file = OPENINFERENCE / "openinference.airline_task12.otlp.json"
    assert '"llm.input_messages.10.message.role"' in file.read_text()
    assert [m.role for m in one("openinference", file).messages[9:13]] == [
        "tool",
        "assistant",
        "user",
        "assistant",
    ]


def test_openinference_images_are_named(tmp_path: Path) -> None:
    prefix = "llm.input_messages.0.message"
    given = {
        "openinference.span.kind": "LLM",
        f"{prefix}.role": "user",
        f"{prefix}.contents.0.message_content.type": "text",
        f"{prefix}.contents.0.message_content.text": "what is it?",
        f"{prefix}.contents.1.message_content.type": "image",
        f"{prefix}.contents.1.message_content.image.image.url": "https://x.example/a.png",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": "a cat",
    }
    content = one("openinference", written(tmp_path, export(span(given)))).messages[0].content
    assert isinstance(content, list)
    assert [part.model_dump(exclude_none=True) for part in content] == [
        {"type": "text", "text": "what is it?"},
        {"type": "image", "url": "https://x.example/a.png"},
    ]


def span(attributes: dict[str, str], **more: Any) -> dict[str, Any]:
    given = [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]
    return {"traceId": "t", "spanId": "s", "startTimeUnixNano": "1", "attributes": given, **more}


def export(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def test_system_instructions_of_a_span_come_first(tmp_path: Path) -> None:
    given = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": '[{"role":"user","parts":[{"type":"text","content":"hi"}]}]',
        "gen_ai.output.messages": '[{"role":"assistant","parts":[{"type":"text","content":"hello"}]}]',
        "gen_ai.system_instructions": '[{"type":"text","content":"You help."}]',
    }
    conversation = one("otel_genai", written(tmp_path, export(span(given))))
    assert [told(m)[:2] for m in conversation.messages] == [
        ("system", "You help."),
        ("user", "hi"),
        ("assistant", "hello"),
    ]


def test_messages_in_events_of_a_span_are_read(tmp_path: Path) -> None:
    def event(name: str, content: str) -> dict[str, Any]:
        return {"name": name, "attributes": [{"key": "content", "value": {"stringValue": content}}]}

    events = [event("gen_ai.user.message", "hi"), event("gen_ai.choice", "hello")]
    conversation = one(
        "otel_genai", written(tmp_path, export(span({"gen_ai.operation.name": "chat"}, events=events)))
    )
    assert [told(m)[:2] for m in conversation.messages] == [("user", "hi"), ("assistant", "hello")]


def test_an_exception_of_a_span_says_why_it_failed(tmp_path: Path) -> None:
    exception = {
        "name": "exception",
        "attributes": [{"key": "exception.message", "value": {"stringValue": "no route"}}],
    }
    given = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": '[{"role":"user","content":"hi"}]'}
    failed = span(given, status={"code": "STATUS_CODE_ERROR"}, events=[exception])
    conversation = one("otel_genai", written(tmp_path, export(failed)))
    assert (conversation.status, conversation.error) == ("failed", "no route")


def test_a_span_without_ids_is_unreadable_and_the_rest_is_read(tmp_path: Path) -> None:
    whole = json.loads((OTEL / "otel-new.airline_task12.otlp.json").read_text())
    broken, conversation = results("otel_genai", written(tmp_path, export({"name": "x"}), whole))
    assert isinstance(broken, Unreadable)
    assert (broken.line, broken.reason) == (1, "a span or log record has no 'traceId' and 'spanId'")
    assert isinstance(conversation, Conversation)


def test_conversations_in_one_trace_are_told_apart_by_what_is_around_their_calls(tmp_path: Path) -> None:
    def spans(name: str) -> list[dict[str, Any]]:
        around = {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": name}
        said = f'[{{"role":"user","content":"from {name}"}}]'
        inner = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": said}
        return [span(around, spanId=name), span(inner, spanId=f"{name}-chat", parentSpanId=name)]

    found = results("otel_genai", written(tmp_path, export(*spans("a"), *spans("b"))))
    assert [
        (c.id, [m.text for m in c.messages]) for c in found if isinstance(c, Conversation)
    ] == [("a", ["from a"]), ("b", ["from b"])]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        ({"intValue": "12"}, 12),
        ({"intValue": -3}, -3),
        ({"doubleValue": 0.5}, 0.5),
        ({"boolValue": False}, False),
        ({"arrayValue": {"values": [{"stringValue": "a"}, {"intValue": "1"}]}}, ["a", 1]),
        ({"kvlistValue": {"values": [{"key": "k", "value": {"stringValue": "v"}}]}}, {"k": "v"}),
        ({"arrayValue": {}}, []),
        ("plain", "plain"),
        ({"content": "probe"}, {"content": "probe"}),
        ({"intValue": "twelve"}, "twelve"),
    ],
)
def test_values_of_otlp_become_plain(given: Any, plain: Any) -> None:
    assert any_value(given) == plain


# Langfuse


def keyed(message: dict[str, Any]) -> Any:
    """What Langfuse's own answer and ours must agree in."""
    role = "assistant" if message["role"] == "model" else message["role"]
    calls = [mapping(call.get("function")) or call for call in items(message.get("tool_calls"))]
    made = [(call["name"], decoded(call["arguments"])) for call in calls]
    return role, words(message), made, message.get("tool_call_id")


@pytest.mark.parametrize("file", LANGFUSE, ids=lambda file: file.name.partition("-2")[0])
def test_calls_of_a_model_hold_what_langfuse_itself_reads_in_them(file: Path) -> None:
    answers = json.loads(file.with_name(file.name.replace(".trace.", ".chatml.")).read_text())
    observed = {item["id"]: item for item in json.loads(file.read_text())["observations"]}
    for identity, answer in answers.items():
        for side, speaker in (("input", "user"), ("output", "assistant")):
            expected = answer[side]
            if expected["success"] and all("role" in message for message in expected["data"]):
                found = messages(decoded(observed[identity][side]), speaker)
                # A response repeats the instructions of its request; Langfuse leaves them out.
                found = [m for m in found if side == "input" or m["role"] != "system"]
                assert [keyed(m) for m in found] == [keyed(m) for m in expected["data"]]


@pytest.mark.parametrize(
    ("name", "roles"),
    [
        ("autogen", "ua"),
        ("crewai", "sua"),
        ("google-gemini", "ua"),
        ("langgraph-python", "uuata"),
        ("microsoft-agent", "suata"),
        ("openai-agents", "suata"),
        ("pydantic-ai", "sua"),
        ("vercel-aisdk", "uat"),
    ],
)
def test_a_langfuse_trace_of_every_framework_is_a_conversation(name: str, roles: str) -> None:
    [file] = [file for file in LANGFUSE if file.name.startswith(name)]
    conversation = one("langfuse", file)
    assert "".join(m.role[0] for m in conversation.messages) == roles
    assert all(call.result is not None for call in conversation.tool_calls)


def langfuse(name: str) -> dict[str, Any]:
    [file] = [file for file in LANGFUSE if file.name.startswith(name)]
    return json.loads(file.read_text())


def test_langfuse_scores_and_corrections_are_metadata() -> None:
    [file] = [file for file in LANGFUSE if file.name.startswith("microsoft")]
    conversation = one("langfuse", file)
    assert [score["name"] for score in conversation.metadata["scores"]] == [
        "correctness",
        "hallucination",
        "toxicity",
    ]
    assert (conversation.statements, conversation.graders) == ({}, None)


def test_langfuse_traces_of_one_session_are_one_conversation(tmp_path: Path) -> None:
    autogen, pydantic = langfuse("autogen"), langfuse("pydantic-ai")
    conversation = one("langfuse", written(tmp_path, pydantic, autogen))
    assert conversation.id == "session_abc"
    assert [m.text for m in conversation.messages][-1].startswith("Langfuse is a tool")
    assert len(conversation.messages) == 5


def test_a_langfuse_trace_whose_session_has_no_other_keeps_its_own_id(tmp_path: Path) -> None:
    trace = langfuse("autogen")
    assert one("langfuse", written(tmp_path, trace)).id == trace["trace"]["id"]


def test_langfuse_observations_within_the_trace_are_read_where_none_stand_beside_it(tmp_path: Path) -> None:
    whole = langfuse("openai-agents")
    inside = {**whole["trace"], "observations": whole["observations"]}
    assert len(one("langfuse", written(tmp_path, inside)).messages) == 5


def test_what_langfuse_encoded_twice_is_read(tmp_path: Path) -> None:
    whole = langfuse("langgraph")
    whole["observations"] = []
    conversation = one("langfuse", written(tmp_path, whole))
    assert [m.role for m in conversation.messages] == ["user", "assistant", "tool", "assistant"]


def test_an_error_of_a_langfuse_observation_is_noted(tmp_path: Path) -> None:
    whole = langfuse("openai-agents")
    for item in whole["observations"]:
        if item["type"] == "GENERATION":
            item |= {"level": "ERROR", "statusMessage": "rate limited", "output": None}
    conversation = one("langfuse", written(tmp_path, whole))
    assert "a call of the model failed: rate limited" in notes(conversation)


# All of them


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("langsmith", LANGSMITH),
        ("otel_genai", OTEL / "otel-new.airline_task26.otlp.json"),
        ("openinference", OPENINFERENCE / "openinference.airline_task12.otlp.json"),
        ("langfuse", LANGFUSE[5]),
    ],
)
def test_every_call_is_beside_its_own_result(name: str, file: Path) -> None:
    conversation = one(name, file)
    given = {m.tool_call_id: m.text for m in conversation.messages if m.role == "tool"}
    assert conversation.tool_calls
    assert all(call.result == given[call.id] for call in conversation.tool_calls)
    assert as_text(conversation.metadata)
