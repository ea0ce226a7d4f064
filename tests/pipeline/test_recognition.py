"""Every reader recognises its own files and no other's, and survives whatever was done to them."""

from __future__ import annotations

import copy
import json
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adjudge.judges.failure import UsageError
from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.evidence import render
from adjudge.pipeline.plain import is_mapping, items
from adjudge.pipeline.readers import FORMATS, read_conversations
from adjudge.pipeline.readers.source import Source, Unreadable

DATA = Path(__file__).parents[1] / "data" / "readers"
ALL = sorted(path for path in DATA.glob("*/*") if path.is_file())
OWN = {
    "anthropic",
    "openai_responses",
    "gemini",
    "langchain",
    "ai_sdk",
    "sharegpt",
    "realtime",
    "mcp",
    "promptfoo",
}
FILES = [path for path in ALL if path.parent.name in OWN]
GONE = "gone"
ODDITIES: list[Any] = [
    None,
    "",
    "x",
    0,
    -1.5,
    True,
    [],
    {},
    [None],
    [[]],
    {"a": {}},
    {"type": ["text"]},
    "{}",
]
CHANGES = st.one_of(st.just(GONE), st.sampled_from(ODDITIES).map(copy.deepcopy))


def titled(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def recognised(path: Path) -> list[str]:
    first = Source(path).first()
    return [name for name in FORMATS if import_module(f"adjudge.pipeline.readers.{name}").recognises(first)]


@pytest.mark.parametrize("path", FILES, ids=titled)
def test_a_real_file_is_recognised_by_the_reader_of_its_format_alone(path: Path) -> None:
    assert recognised(path) == [path.parent.name]


@pytest.mark.parametrize("path", ALL, ids=titled)
def test_no_file_is_recognised_by_two_readers(path: Path) -> None:
    assert len(recognised(path)) <= 1


@pytest.mark.parametrize("path", FILES, ids=titled)
def test_a_real_file_is_read_whole(path: Path) -> None:
    found = list(read_conversations(path))

    assert found
    assert [record for record in found if isinstance(record, Unreadable)] == []


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value, as the keys that lead there."""
    within: list[Any] = list(value) if is_mapping(value) else list(range(len(items(value))))
    return [place for key in within for place in ((*path, key), *places(value[key], (*path, key)))]


def mutated(value: Any, path: tuple[Any, ...], change: Any) -> None:
    """Put `change` where `path` leads, or take away what is there if it is `GONE`."""
    for key in path[:-1]:
        value = value[key]
    if change == GONE:
        del value[path[-1]]
    else:
        value[path[-1]] = change


def records(path: Path) -> list[Any]:
    return [record.value for record in Source(path).records() if not isinstance(record, Unreadable)]


@pytest.mark.parametrize("name", sorted(OWN))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_file_gives_conversations_or_reasons_and_raises_nothing(
    name: str, tmp_path: Path, data: st.DataObject
) -> None:
    values = records(data.draw(st.sampled_from([path for path in FILES if path.parent.name == name])))
    for _ in range(data.draw(st.integers(1, 3))):
        if found := places(values):
            mutated(values, data.draw(st.sampled_from(found)), data.draw(CHANGES))
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_text("".join(json.dumps(value) + "\n" for value in values))

    for record in read_conversations(damaged, name):
        assert isinstance(record, Conversation | Unreadable)
        if isinstance(record, Conversation):
            render(record)
            record.model_dump_json()
    with suppress(UsageError):
        list(read_conversations(damaged))
