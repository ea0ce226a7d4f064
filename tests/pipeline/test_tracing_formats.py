"""Traces and calls: recognised by one reader, rendered as in the golden files, and never a cause to crash."""

from __future__ import annotations

import json
from copy import deepcopy
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.evidence import render
from adjudge.pipeline.plain import is_list, is_mapping
from adjudge.pipeline.readers import FORMATS, read_conversations
from adjudge.pipeline.readers.source import Record, Source, Unreadable

TESTS = Path(__file__).parents[1]
DATA = TESTS / "data" / "readers"
GOLDEN = {
    "langsmith": "airline_task12.runs.jsonl",
    "otel_genai": "otel-new.airline_task26.otlp.json",
    "openinference": "openinference-langgraph.airline_task16.otlp.json",
    "langfuse": "microsoft-agent-2025-12-17.trace.json",
    "vapi": "vapi_end_of_call_booking.json",
    "retell": "retell_call_refill.json",
    "elevenlabs": "elevenlabs_conversation_tools.json",
    "livekit": "livekit_session_report.json",
    "bland": "bland_call.json",
}
FILES = [file for name in GOLDEN for file in sorted((DATA / name).iterdir()) if ".chatml." not in file.name]
ODD: list[Any] = [None, "", "x", "{}", 0, -1, 1.5, True, [], [None], {}, {"a": 1}, [{"role": "user"}]]


def titled(file: Path) -> str:
    return file.name


@pytest.mark.parametrize("file", FILES, ids=titled)
def test_a_real_file_is_recognised_by_its_own_reader_alone(file: Path) -> None:
    first = Source(file).first()
    readers = {name: import_module(f"adjudge.pipeline.readers.{name}") for name in FORMATS}
    assert [name for name, reader in readers.items() if reader.recognises(first)] == [file.parent.name]


@pytest.mark.parametrize("name", GOLDEN)
def test_a_real_conversation_is_shown_as_in_its_golden_file(name: str) -> None:
    [conversation] = read_conversations(DATA / name / GOLDEN[name])
    assert isinstance(conversation, Conversation)
    golden = TESTS / "golden" / "evidence" / f"{name}.txt"
    assert render(conversation).text + "\n" == golden.read_text()


@settings(deadline=None, max_examples=40)
@given(data=st.data())
@pytest.mark.parametrize("name", GOLDEN)
def test_a_damaged_file_gives_conversations_or_reasons_and_nothing_else(
    name: str, data: st.DataObject
) -> None:
    files = [file for file in FILES if file.parent.name == name]
    source = Source(data.draw(st.sampled_from(files)))
    values = [record.value for record in source.records() if isinstance(record, Record)]
    for _ in range(data.draw(st.integers(1, 4))):
        damage(values, data)
    with TemporaryDirectory() as folder:
        file = Path(folder, "damaged.jsonl")
        file.write_text("\n".join(map(json.dumps, values)))
        found = list(read_conversations(file, name))
    assert all(isinstance(record, Conversation | Unreadable) for record in found)
    for record in found:
        if isinstance(record, Conversation):
            assert render(record).text
            assert record.model_dump_json()


def damage(value: Any, data: st.DataObject) -> None:
    """Take out, replace or repeat something, somewhere in `value`."""
    holder: Any = value
    while holder:
        key: Any = data.draw(st.sampled_from(list(holder if is_mapping(holder) else range(len(holder)))))
        inner: Any = holder[key]
        if (is_mapping(inner) or is_list(inner)) and inner and data.draw(st.integers(0, 5)):
            holder = inner
            continue
        match data.draw(st.sampled_from(["gone", "odd", "nested", "text"])):
            case "gone":
                del holder[key]
            case "odd":
                holder[key] = deepcopy(data.draw(st.sampled_from(ODD)))
            case "nested":
                holder[key] = [inner]
            case _:
                holder[key] = json.dumps(inner)
        return
