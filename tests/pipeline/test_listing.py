"""`adjudge convert` and `adjudge conversations`."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from adjudge.pipeline.cli.files import convert_files, list_files
from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.reports.listing import readings

LINES = (
    b'{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":'
    b'[{"id":"1","type":"function","function":{"name":"look","arguments":"{\\"a\\":1}"}}]},'
    b'{"role":"tool","tool_call_id":"1","content":"found"}]}\n'
    b'{"messages":[{"role":"user","content":"cut sh'
)


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A file of OpenAI messages whose second record is cut short."""
    path = tmp_path / "chats.jsonl"
    path.write_bytes(LINES)
    return path


def test_converting_writes_what_can_be_read_and_names_the_line_that_can_not(
    broken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    to = tmp_path / "native.jsonl"

    assert convert_files([broken], "auto", to) == 3
    assert f"{broken}:2" in capsys.readouterr().err
    (line,) = to.read_bytes().splitlines()
    conversation = Conversation.model_validate_json(line)
    assert conversation.tool_calls[0].model_dump() == {
        "turn": 2,
        "id": "1",
        "name": "look",
        "arguments": {"a": 1},
        "result": "found",
        "result_turn": 3,
        "error": None,
    }


def test_converting_what_was_converted_changes_nothing(broken: Path, tmp_path: Path) -> None:
    once, twice = tmp_path / "once.jsonl", tmp_path / "twice.jsonl"
    convert_files([broken], "openai", once)

    assert convert_files([once], "native", twice) == 0
    assert once.read_bytes() == twice.read_bytes()


def test_a_list_says_turns_tools_and_what_could_not_be_read(
    broken: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert list_files([broken], "auto") == 3
    said = capsys.readouterr()
    assert "chats-1: 3 turns (1 user, 1 assistant, 1 tool)" in said.out
    assert "tools look x1; 0 errors" in said.out
    assert "1 conversations, 1 records that could not be read" in said.out


def test_an_id_that_stands_in_two_files_is_refused_the_second_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    for path in (one, other):
        path.write_bytes(orjson.dumps({"id": "same", "messages": []}) + b"\n")

    assert list_files([one, other], "native") == 3
    assert f"{other}:1: duplicate id 'same'" in capsys.readouterr().err


def test_files_without_a_conversation_are_nothing_to_grade(tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.touch()

    assert list_files([empty], "native") == 5


@pytest.mark.parametrize("text", ["", "\n  \n"], ids=["nothing", "white space"])
def test_a_file_in_which_nothing_stands_is_empty_and_in_no_format(tmp_path: Path, text: str) -> None:
    (tmp_path / "none.jsonl").write_text(text)

    (reading,) = readings([tmp_path / "none.jsonl"], "auto")

    assert (reading.format, list(reading.records)) == ("empty", [])
