"""Formats: found in the content, added by other packages, and what each becomes (spec sections 7 and 9)."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from adjudge.judges.failure import UsageError
from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.evidence import render
from adjudge.pipeline.plain import items
from adjudge.pipeline.readers import FORMATS, format_names, is_format, read_conversations
from adjudge.pipeline.readers.source import Source, Unreadable

ROLE = "messages[0].role: must be 'system', 'developer', 'user', 'assistant' or 'tool'; did you mean 'user'?"
DATA = Path(__file__).parents[1] / "data"
GOLDEN = Path(__file__).parents[1] / "golden" / "evidence"

SAMPLES: dict[str, list[Any]] = {
    "native": [
        {"id": "a", "messages": [{"role": "user", "content": "hi"}]},
        {"id": "a", "messages": []},
        {"id": "a", "agent_messages": [{"role": "assistant", "tool_calls": [{"name": "f"}]}]},
        {"messages": [{"role": "user", "content": "hi"}], "test": "t"},
        {"id": "a", "messages": [{"rol": "user", "content": "hi"}], "metdata": {}},
        [{"id": "a", "messages": []}, {"id": "b", "messages": []}],
    ],
    "openai": [
        {"messages": [{"role": "user", "content": "hi"}]},
        {"messages": []},
        {"conversation_id": "a", "messages": [{"role": "user", "content": "hi"}]},
        {"id": "a", "messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]}]},
        {"id": "a", "messages": [{"role": "assistant", "content": "hi", "refusal": None}]},
        {"id": "a", "model": "m", "tools": [], "created": 1, "messages": []},
        [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hi"}],
        [{"messages": [{"role": "user", "content": "hi"}]}],
        [[{"role": "user", "content": "hi"}]],
        {"role": "user", "content": "hi"},
    ],
    "none": [
        {"system": "s", "messages": [{"role": "user", "content": "hi"}]},
        {"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x"}]}]},
        {"messages": [{"type": "human", "content": "hi"}]},
        {"id": "a", "messages": [{"type": "human", "content": "hi"}]},
        [{"id": "a", "role": "user", "parts": [{"type": "text", "text": "hi"}]}],
        [{"id": "a", "conversations": [{"from": "human", "value": "hi"}]}],
        {
            "id": "a",
            "task_id": "1",
            "messages": [{"role": "assistant", "tool_calls": [{"name": "f"}]}],
            "seed": 1,
        },
        {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
        {},
        [],
        ["a"],
        "a",
        3,
        None,
        b"PK\x03\x04",
    ],
}


def written(tmp_path: Path, *records: Any, name: str = "file.jsonl") -> Path:
    path = tmp_path / name
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def read(tmp_path: Path, *records: Any, format: str = "auto") -> list[Conversation | Unreadable]:  # noqa: A002
    return list(read_conversations(written(tmp_path, *records), format))


def one(tmp_path: Path, record: Any, format: str = "openai") -> Conversation:  # noqa: A002
    (found,) = read(tmp_path, record, format=format)
    assert isinstance(found, Conversation), found
    return found


def reason(tmp_path: Path, record: Any, format: str) -> str:  # noqa: A002
    (found,) = read(tmp_path, record, format=format)
    assert isinstance(found, Unreadable)
    return found.reason


def notes(conversation: Conversation) -> list[str]:
    return conversation.metadata.get("adjudge", {}).get("notes", [])


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in SAMPLES for value in SAMPLES[name]])
def test_a_file_is_recognised_by_one_format_alone(name: str, value: Any) -> None:
    readers = [
        import_module(f"adjudge.pipeline.readers.{format_name}") for format_name in ("native", "openai")
    ]

    assert [reader.name for reader in readers if reader.recognises(value)] == (
        [] if name == "none" else [name]
    )


def test_every_built_in_format_is_called_by_its_modules_name() -> None:
    assert [import_module(f"adjudge.pipeline.readers.{name}").name for name in FORMATS] == list(FORMATS)


def test_a_file_no_format_recognises_is_an_error_naming_it(tmp_path: Path) -> None:
    path = written(tmp_path, {"speech": [], "who": "x"})

    with pytest.raises(UsageError) as caught:
        read_conversations(path)

    assert str(caught.value).startswith(f"'{path}': no format recognises it (its first record has the keys ")
    assert "say which with 'format': native, openai" in str(caught.value)


def test_an_unknown_format_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(UsageError, match="unknown format 'opnai'; did you mean 'openai'"):
        read_conversations(DATA / "nasty" / "crlf.jsonl", "opnai")


def test_a_file_with_nothing_but_bad_lines_is_read_as_bad_lines() -> None:
    (found,) = read_conversations(DATA / "nasty" / "latin1.jsonl")

    assert isinstance(found, Unreadable)


def test_an_empty_file_has_no_conversations() -> None:
    assert list(read_conversations(DATA / "nasty" / "empty.jsonl")) == []


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package with a reader of lines of text, `shout`."""
    site = tmp_path / "site"
    info = site / "shout-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shout\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[adjudge.readers]\nshout = shout_reader\n")
    (site / "shout_reader.py").write_text(
        "from adjudge.pipeline.conversation import Conversation\n"
        "name = 'shout'\n"
        "def recognises(value): return isinstance(value, bytes) and value.startswith(b'SHOUT')\n"
        "def read(source):\n"
        "    with source.open() as file:\n"
        "        yield Conversation(id=source.stem, agent_output=file.read().decode())\n"
    )
    monkeypatch.setattr("sys.path", [str(site), *sys.path])


@pytest.mark.usefixtures("plugin")
def test_another_package_may_add_a_format(tmp_path: Path) -> None:
    path = tmp_path / "loud.txt"
    path.write_text("SHOUT hi")

    for name in ("auto", "shout"):
        assert [getattr(found, "agent_output", None) for found in read_conversations(path, name)] == [
            "SHOUT hi"
        ]
    assert is_format("shout")
    assert format_names()[-1] == "shout"


def test_native_conversations_are_read_as_they_are(tmp_path: Path) -> None:
    record = {
        "id": "a",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "image", "url": "x"}]},
            {"role": "assistant", "tool_calls": [{"id": "1", "name": "f", "arguments": {"n": [1, None]}}]},
            {"role": "tool", "tool_call_id": "1", "content": "no", "error": "late", "timestamp": 1.5},
        ],
        "test": "t",
        "rollout": 2,
        "statements": {"g": ["A", {"text": "B", "required": True}]},
        "graders": [],
        "metadata": {"k": [1]},
    }

    (found,) = read(tmp_path, record)

    assert isinstance(found, Conversation)
    assert found.model_dump() == Conversation.model_validate(record).model_dump()
    assert found.line == 1


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"id": "a", "messages": [], "metdata": {}}, "unknown key 'metdata'; did you mean 'metadata'?"),
        (
            {"id": "a", "messages": [{"role": "user", "contnt": "x"}]},
            "messages[0]: unknown key 'contnt'; did you mean 'content'?",
        ),
        ({"messages": [], "test": "t"}, "'id' is missing"),
        ({"id": 3, "messages": []}, "id: must be text, not the number 3; put it in quotes"),
        ({"id": "", "messages": []}, "id: must not be empty"),
        (
            {"id": "a", "messages": [{"role": "usr", "content": 4}]},
            f"{ROLE}; messages[0].content: must be text or a list, not the number 4",
        ),
        (["a"], "not a JSON object: '\"a\"'"),
        (3, "must be a mapping, not the number 3"),
    ],
)
def test_a_native_line_with_a_mistake_is_named_with_what_was_meant(
    tmp_path: Path, record: Any, said: str
) -> None:
    assert reason(tmp_path, record, "native") == said


def test_a_native_line_with_many_mistakes_names_the_first_few(tmp_path: Path) -> None:
    record = {"id": "a", "messages": [{"role": "x"} for _ in range(20)]}

    assert reason(tmp_path, record, "native").endswith("; and 15 more")


def test_a_bad_line_does_not_stop_the_others(tmp_path: Path) -> None:
    found = read(tmp_path, {"id": "a", "messages": []}, {"messages": []}, {"id": "c", "messages": []})

    assert [getattr(f, "id", None) for f in found] == ["a", None, "c"]
    assert isinstance(found[1], Unreadable)
    assert found[1].line == 2


def test_a_real_openai_run_with_tool_calls_is_read_whole() -> None:
    path = DATA / "openai" / "tau_airline_task6_reward1.conversation.json"
    messages: list[dict[str, Any]] = json.loads(path.read_text())["messages"]

    (found,) = read_conversations(path)

    assert isinstance(found, Conversation)
    assert found.id == "tau_airline_task6_reward1.conversation-1"
    assert [m.role for m in found.messages] == [m["role"] for m in messages]
    assert [m.content for m in found.messages] == [m.get("content") for m in messages]
    calls = [call for m in messages for call in items(m.get("tool_calls"))]
    assert [(c.name, c.arguments) for c in found.tool_calls] == [
        (call["function"]["name"], json.loads(call["function"]["arguments"])) for call in calls
    ]
    assert all(call.result is not None for call in found.tool_calls)
    assert notes(found) == []


def test_what_an_openai_compatible_server_adds_is_noted_as_left_out() -> None:
    (found,) = read_conversations(
        DATA / "openai" / "compatible_api_with_tool_calls_without_id.conversation.json"
    )

    assert isinstance(found, Conversation)
    assert notes(found) == ["turn 4: 'extra_content' left out", "turn 4: 'thought_signature' left out"]
    assert found.metadata["model"] == "gemini-2.5-pro-preview-05-06"


def test_image_parts_are_kept_as_named_parts() -> None:
    (found,) = read_conversations(DATA / "openai" / "image_url_tool_response.conversation.json")

    assert isinstance(found, Conversation)
    content = found.messages[3].content
    assert isinstance(content, list)
    assert [part.type for part in content] == ["text", "image_url"]


def test_the_developer_role_is_kept() -> None:
    (found,) = read_conversations(DATA / "openai" / "openai_o1_mini_system_role_developer_.conversation.json")

    assert isinstance(found, Conversation)
    assert found.messages[0].role == "developer"


def test_odd_messages_are_read_and_what_changed_is_noted() -> None:
    found = {
        c.id: c
        for c in read_conversations(DATA / "nasty" / "odd_messages.jsonl")
        if isinstance(c, Conversation)
    }

    assert len(found) == 14
    assert found["content_null"].messages[0].content is None
    assert found["content_number"].messages[0].content == "42"
    assert notes(found["content_number"]) == ["turn 1: content is the number 42, shown as JSON text"]
    parts = found["content_list_mixed"].messages[0].content
    assert isinstance(parts, list)
    assert [(part.type, part.text) for part in parts] == [
        ("text", "plain"),
        ("text", "part"),
        ("unknown_part", None),
    ]
    assert (found["unknown_role"].messages[0].role, found["unknown_role"].messages[0].name) == (
        "assistant",
        "critic",
    )
    assert found["role_case"].messages[0].role == "assistant"
    assert found["args_invalid_json"].tool_calls[0].arguments == '{"x": 1,'
    assert found["args_object"].tool_calls[0].arguments == {"x": 1}
    assert [call.result for call in found["parallel_out_of_order"].tool_calls] == ["f out", "g out"]
    assert found["no_messages"].messages == []
    assert {name for name, c in found.items() if notes(c)} == {
        "content_number",
        "content_list_mixed",
        "unknown_role",
        "role_case",
        "args_invalid_json",
    }


def test_ids_are_taken_as_they_are_and_made_up_where_there_is_none() -> None:
    hostile = [
        c.id for c in read_conversations(DATA / "nasty" / "hostile_ids.jsonl") if isinstance(c, Conversation)
    ]
    numeric = [
        c.id for c in read_conversations(DATA / "nasty" / "numeric_ids.jsonl") if isinstance(c, Conversation)
    ]

    assert hostile[:6] == ["../../etc/passwd", "a/b\\c", "CON", ".", "hostile_ids-5", "  "]
    assert len(hostile) == 14
    assert numeric == ["1", "1", "1.0", "numeric_ids-4"]


def test_a_made_up_id_counts_unreadable_records_too(tmp_path: Path) -> None:
    found = read(tmp_path, {"messages": []}, {"messages": 3}, {"messages": []})

    assert [getattr(f, "id", None) for f in found] == ["file-1", None, "file-3"]


@pytest.mark.parametrize("layout", ["array", "lines"])
def test_a_file_of_messages_is_one_conversation(tmp_path: Path, layout: str) -> None:
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]
    path = tmp_path / "chat.json"
    lines = "\n".join(map(json.dumps, messages))
    path.write_text(json.dumps(messages, indent=1) if layout == "array" else lines)

    (found,) = read_conversations(path)

    assert isinstance(found, Conversation)
    assert (found.id, [m.content for m in found.messages]) == ("chat-1", ["hi", "ho"])


def test_a_file_of_messages_with_a_bad_one_is_no_conversation(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_text('{"role": "user", "content": "hi"}\n{"role": "assistant", "content": "h\n')

    (found,) = read_conversations(path)

    assert isinstance(found, Unreadable)
    assert found.line == 2


def test_a_list_of_messages_a_line_is_a_conversation_each(tmp_path: Path) -> None:
    found = read(tmp_path, [{"role": "user", "content": "a"}], [{"role": "user", "content": "b"}])

    assert [getattr(f, "id", None) for f in found] == ["file-1", "file-2"]


def test_old_function_calls_become_tool_calls(tmp_path: Path) -> None:
    found = one(
        tmp_path,
        {
            "messages": [
                {
                    "role": "assistant",
                    "content": None,
                    "function_call": {"name": "f", "arguments": '{"x": 1}'},
                },
                {"role": "function", "name": "f", "content": "done"},
            ]
        },
    )

    (call,) = found.tool_calls
    assert (call.name, call.arguments, call.result) == ("f", {"x": 1}, "done")
    assert notes(found) == ["turn 2: role 'function' is shown as 'tool'"]


def test_what_is_said_outside_the_content_becomes_parts(tmp_path: Path) -> None:
    message = {
        "role": "assistant",
        "content": "Bye.",
        "refusal": "I can't do that.",
        "reasoning_content": "Hm.",
        "audio": {"id": "a1", "transcript": "Goodbye."},
    }

    content = one(tmp_path, {"messages": [message]}).messages[0].content

    assert isinstance(content, list)
    assert [part.model_dump(exclude_none=True) for part in content] == [
        {"type": "reasoning", "text": "Hm."},
        {"type": "refusal", "refusal": "I can't do that."},
        {"id": "a1", "transcript": "Goodbye.", "type": "audio"},
        {"type": "text", "text": "Bye."},
    ]


def test_a_custom_tool_call_keeps_its_input_as_text(tmp_path: Path) -> None:
    call = {"id": 7, "type": "custom", "custom": {"name": "sql", "input": "select 1"}}

    found = one(tmp_path, {"messages": [{"role": "assistant", "tool_calls": [call]}]})

    assert [(c.id, c.name, c.arguments) for c in found.tool_calls] == [("7", "sql", "select 1")]


def test_native_keys_beside_openai_messages_keep_their_meaning(tmp_path: Path) -> None:
    record = {
        "conversation_id": "a",
        "id": "chatcmpl-1",
        "messages": [],
        "test": "t",
        "rollout": 1,
        "status": "failed",
        "error": "crashed",
        "statements": {"g": ["A"]},
        "graders": ["g"],
        "metadata": {"k": 1},
        "label": True,
    }

    found = one(tmp_path, record)

    assert (found.id, found.test, found.rollout, found.status, found.error) == (
        "a",
        "t",
        1,
        "failed",
        "crashed",
    )
    assert (found.statements, found.graders) == ({"g": ["A"]}, ["g"])
    assert found.metadata == {"id": "chatcmpl-1", "k": 1, "label": True}


def test_keys_other_logs_use_in_their_own_sense_go_to_the_metadata_with_a_note(tmp_path: Path) -> None:
    found = one(
        tmp_path, {"messages": [], "status": 200, "error": {"code": 1}, "statements": ["A"], "test": None}
    )

    assert {key: found.metadata[key] for key in ("status", "error", "statements")} == {
        "status": 200,
        "error": {"code": 1},
        "statements": ["A"],
    }
    assert notes(found) == [
        "'status' is the number 200, kept in the metadata",
        "'error' is a mapping, kept in the metadata",
        "'statements' is a list, kept in the metadata",
    ]


NO_OPENAI: list[tuple[Any, str]] = [
    (3, "must be an object with 'messages', not the number 3"),
    ({"message": []}, "'messages' is missing or no list"),
    ({"messages": [3]}, "turn 1: a message is an object, not the number 3"),
    ({"messages": [{"content": "x"}]}, "turn 1: 'role' is missing"),
    (
        {"messages": [{"role": "assistant", "tool_calls": "f"}]},
        "turn 1: 'tool_calls' is the text 'f', not a list",
    ),
    (
        {"messages": [{"role": "assistant", "tool_calls": [{"function": {}}]}]},
        "turn 1: a tool call has no name",
    ),
]


@pytest.mark.parametrize(("record", "said"), NO_OPENAI)
def test_what_is_no_openai_conversation_is_named_with_its_reason(
    tmp_path: Path, record: Any, said: str
) -> None:
    assert reason(tmp_path, record, "openai") == said


def test_many_notes_of_one_kind_name_ten_turns_and_count_the_rest(tmp_path: Path) -> None:
    found = one(tmp_path, {"messages": [{"role": "user", "content": "x", "weight": 1} for _ in range(15)]})

    assert notes(found) == ["turns 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 5 more: 'weight' left out"]


def test_reading_the_same_file_twice_gives_the_same_conversations() -> None:
    path = DATA / "nasty" / "odd_messages.jsonl"

    first, second = ([str(found) for found in read_conversations(path)] for _ in range(2))

    assert first == second


def test_a_source_that_is_not_read_to_its_end_is_closed(tmp_path: Path) -> None:
    reading = read_conversations(written(tmp_path, *({"id": str(n), "messages": []} for n in range(9))))

    next(reading)
    del reading

    assert Source(tmp_path / "file.jsonl").first() == {"id": "0", "messages": []}


@pytest.mark.parametrize(
    "file", ["readers/native/refund_desk.jsonl", "openai/image_url_tool_response.conversation.json"]
)
def test_a_conversation_is_shown_as_in_its_golden_file(file: str) -> None:
    conversation = next(read_conversations(DATA / file))
    assert isinstance(conversation, Conversation)
    name = "native" if "native" in file else "openai"

    assert render(conversation).text + "\n" == (GOLDEN / f"{name}.txt").read_text()


def test_every_format_has_a_golden_file() -> None:
    assert sorted(file.stem for file in GOLDEN.iterdir()) == sorted(FORMATS)
