"""Runs of benchmarks and bots: recognised by one reader, rendered as in the golden files, never a crash."""

from __future__ import annotations

import json
from contextlib import suppress
from copy import deepcopy
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZipFile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge.judges.failure import UsageError
from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.evidence import render
from adjudge.pipeline.plain import is_list, is_mapping
from adjudge.pipeline.readers import FORMATS, read_conversations
from adjudge.pipeline.readers.source import Record, Source, Unreadable

TESTS = Path(__file__).parents[1]
DATA = TESTS / "data" / "readers"
GOLDEN = {
    "tau_bench": ("airline.json", 0),
    "tau2_bench": ("healthcare.json", 0),
    "inspect_log": ("log_message_deduplication.eval", 0),
    "atif": ("swe_function_calling_simple.trajectory.json", 0),
    "swe_agent": ("ctf_misc_networking_1.traj", 0),
    "rasa": ("rasa_tracker_moodbot_with_new_utterances.json", 0),
    "botium": ("convos_and_utterances.json", 1),
}
"""Of each format a file and the place in it of the conversation that is rendered."""

FILES = sorted(file for name in GOLDEN for file in (DATA / name).rglob("*") if file.is_file())
ODD: list[Any] = [None, "", "x", "{}", 0, -1, 1.5, True, [], [None], {}, {"a": 1}, [{"role": "user"}]]


def format_of(file: Path) -> str:
    return file.relative_to(DATA).parts[0]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_real_file_is_recognised_by_its_own_reader_alone(file: Path) -> None:
    first = Source(file).first()
    readers = {name: import_module(f"adjudge.pipeline.readers.{name}") for name in FORMATS}

    assert [name for name, reader in readers.items() if reader.recognises(first)] == [format_of(file)]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_real_file_is_read_whole_and_its_ids_differ(file: Path) -> None:
    found = list(read_conversations(file))

    if file.name == "no-samples.json":
        assert [type(record) for record in found] == [Unreadable]
        return
    ids = [record.id for record in found if isinstance(record, Conversation)]
    assert found
    assert len(ids) == len(set(ids)) == len(found)


@pytest.mark.parametrize("name", GOLDEN)
def test_a_real_conversation_is_shown_as_in_its_golden_file(name: str) -> None:
    file, place = GOLDEN[name]
    conversation = list(read_conversations(DATA / name / file))[place]

    assert isinstance(conversation, Conversation)
    assert render(conversation).text + "\n" == (TESTS / "golden" / "evidence" / f"{name}.txt").read_text()


@pytest.mark.parametrize("name", GOLDEN)
def test_nothing_of_a_machines_verdict_is_shown_to_a_judge(name: str) -> None:
    for file in FILES:
        if format_of(file) == name:
            shown = [render(run).text for run in read_conversations(file) if isinstance(run, Conversation)]
            assert not [text for text in shown if '"reward' in text or '"scores"' in text or '"met":' in text]


@settings(deadline=None, max_examples=60)
@given(data=st.data())
@pytest.mark.parametrize("name", GOLDEN)
def test_a_damaged_file_gives_conversations_or_reasons_and_nothing_else(
    name: str, data: st.DataObject
) -> None:
    values = records(data.draw(st.sampled_from([file for file in FILES if format_of(file) == name])))
    for _ in range(data.draw(st.integers(1, 4))):
        damage(values, data)
    with TemporaryDirectory() as folder:
        file = Path(folder, "damaged.jsonl")
        file.write_text("\n".join(map(json.dumps, values)))
        found = list(read_conversations(file, name))
        with suppress(UsageError):
            found += read_conversations(file)
    assert all(isinstance(record, Conversation | Unreadable) for record in found)
    for record in found:
        if isinstance(record, Conversation):
            assert render(record).text
            assert record.model_dump_json()


def records(file: Path) -> list[Any]:
    """The JSON values of a file; those of a packed log put together as in an unpacked one."""
    if file.suffix != ".eval":
        return [record.value for record in Source(file).records() if isinstance(record, Record)]
    with ZipFile(file) as archive:
        samples = [
            json.loads(archive.read(name)) for name in archive.namelist() if name.startswith("samples/")
        ]
        return [{**json.loads(archive.read("header.json")), "samples": samples}]


def damage(value: Any, data: st.DataObject) -> None:
    """Take out, replace or nest something, somewhere in `value`."""
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
