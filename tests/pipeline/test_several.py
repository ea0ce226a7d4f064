"""Several files: each in its format, and those of one glob that belong together as one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from adjudge.judges.failure import UsageError
from adjudge.pipeline.cli.files import list_files
from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.evidence import render
from adjudge.pipeline.readers import read_conversations
from adjudge.pipeline.readers.several import ConversationFile, read_files
from adjudge.pipeline.readers.source import Unreadable

READERS = Path(__file__).parents[1] / "data" / "readers"
LEGACY = READERS / "otel_genai"


def of_glob(*paths: Path) -> list[ConversationFile]:
    return [ConversationFile(path=path, glob="*") for path in paths]


def chat(path: Path, words: str) -> Path:
    path.write_text(json.dumps({"messages": [{"role": "user", "content": words}]}))
    return path


def test_each_file_says_in_which_format_it_is_read(tmp_path: Path) -> None:
    native = tmp_path / "native.jsonl"
    native.write_text('{"id":"n","messages":[]}\n')
    files = [ConversationFile(path=native), ConversationFile(path=chat(tmp_path / "a.json", "x"))]

    assert [(reading.files, reading.format) for reading in read_files(files)] == [
        ((native,), "native"),
        ((tmp_path / "a.json",), "openai"),
    ]


def test_a_file_of_a_glob_that_no_format_recognises_is_one_record_that_can_not_be_read(
    tmp_path: Path,
) -> None:
    odd = tmp_path / "odd.json"
    odd.write_text('{"surprise": 1}')
    readings = list(read_files(of_glob(chat(tmp_path / "a.json", "x"), odd)))

    assert [reading.format for reading in readings] == ["openai", None]
    (lost,) = readings[1].records
    assert isinstance(lost, Unreadable)
    assert str(lost).startswith(f"{odd}: no format recognises it (its first record has the keys 'surprise')")


def test_a_file_named_alone_that_no_format_recognises_is_a_mistake(tmp_path: Path) -> None:
    odd = tmp_path / "odd.json"
    odd.write_text('{"surprise": 1}')

    with pytest.raises(UsageError, match="no format recognises it"):
        list(read_files([ConversationFile(path=odd)]))


def test_spans_and_log_records_of_one_glob_are_read_as_one(tmp_path: Path) -> None:
    spans, logs = (
        LEGACY / "otel-legacy.airline_task12.otlp.json",
        LEGACY / "otel-legacy.airline_task12.logs.otlp.json",
    )
    both = tmp_path / "both.jsonl"
    both.write_text("".join(json.dumps(json.loads(file.read_text())) + "\n" for file in (spans, logs)))

    (reading,) = read_files(of_glob(logs, spans))
    (found,) = reading.records
    (of_one_file,) = read_conversations(both)

    assert reading.files == (logs, spans)
    assert isinstance(found, Conversation)
    assert isinstance(of_one_file, Conversation)
    assert found.model_dump() == of_one_file.model_dump()
    assert found.tool_calls


def test_a_trace_that_goes_on_in_the_next_file_is_one_conversation(tmp_path: Path) -> None:
    whole = json.loads((LEGACY / "otel-new.airline_task12.otlp.json").read_text())
    scopes = [scope for resource in whole["resourceSpans"] for scope in resource["scopeSpans"]]
    spans = [span for scope in scopes for span in scope["spans"]]
    middle = len(spans) // 2
    for name, part in (("a.json", spans[:middle]), ("b.json", spans[middle:])):
        (tmp_path / name).write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": part}]}]}))

    (reading,) = read_files(of_glob(tmp_path / "a.json", tmp_path / "b.json"))
    (found,) = reading.records
    (alone,) = read_conversations(LEGACY / "otel-new.airline_task12.otlp.json")

    assert isinstance(found, Conversation)
    assert isinstance(alone, Conversation)
    assert render(found).text == render(alone).text


@pytest.mark.parametrize(
    "file",
    [
        "vapi/vapi_end_of_call_booking.json",
        "retell/retell_call_refill.json",
        "elevenlabs/elevenlabs_conversation_tools.json",
        "bland/bland_call.json",
    ],
)
def test_a_webhook_sent_twice_is_one_conversation_also_where_each_has_its_file(
    tmp_path: Path, file: str
) -> None:
    copies = [tmp_path / "first.json", tmp_path / "second.json"]
    for copy in copies:
        shutil.copy(READERS / file, copy)

    (reading,) = read_files(of_glob(*copies))
    (found,) = reading.records
    (alone,) = read_conversations(READERS / file)

    assert isinstance(found, Conversation)
    assert isinstance(alone, Conversation)
    assert found.model_dump() == alone.model_dump()


def test_a_list_says_the_format_of_each_file_and_which_file_has_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = tmp_path / "odd.json"
    odd.write_text('{"surprise": 1}')

    assert list_files([chat(tmp_path / "a.json", "x"), odd], "auto") == 3
    told = capsys.readouterr()
    assert f"{tmp_path / 'a.json'}: openai\n" in told.out
    assert f"{odd}: no format recognises it\n" in told.out
    assert f"warning: {odd}: no format recognises it (" in told.err
