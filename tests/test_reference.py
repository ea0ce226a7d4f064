"""The references of the suite file, of native conversations and of formats name everything there is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter
from pydantic.fields import FieldInfo

from adjudge.pipeline.conversation import Conversation, Message, Part, StatementSpec, ToolCall
from adjudge.pipeline.readers import FORMATS, read_conversations
from adjudge.pipeline.suite.load import load_suite
from adjudge.pipeline.suite.spec import (
    Budget,
    Canary,
    ChecksGrader,
    ConversationFiles,
    EvidenceSpec,
    JudgeSpec,
    Policy,
    Price,
    Scenario,
    StatementsGrader,
    SuiteFile,
)

DOCS = Path(__file__).parents[1] / "docs"
SUITE = (DOCS / "suite.md").read_text()
NATIVE = (DOCS / "conversations.md").read_text()
KEYS: list[type[BaseModel]] = [
    *(SuiteFile, ConversationFiles, JudgeSpec, Price, Canary, StatementsGrader, ChecksGrader, Scenario),
    *(Policy, Budget, EvidenceSpec),
]


def default(field: FieldInfo) -> str:
    """A key's default as YAML has it."""
    if field.description and "left out: the file's name" in field.description:
        return ""
    if field.is_required():
        return "required"
    value: Any = field.get_default(call_default_factory=True, validated_data={})
    return "" if isinstance(value, BaseModel) else f"`{json.dumps(value)}`"


def row(name: str, field: FieldInfo) -> str:
    return f"| `{name}` | {field.description or '…'} | {default(field)} |"


@pytest.mark.parametrize("model", [*KEYS, StatementSpec], ids=lambda model: model.__name__)
def test_every_key_of_a_suite_is_in_its_table_with_its_meaning_and_default(model: type[BaseModel]) -> None:
    TypeAdapter(model).json_schema()  # builds the model
    rows = [row(name, field) for name, field in model.model_fields.items() if name != "type"]

    assert [line for line in rows if line not in SUITE.splitlines()] == []


@pytest.mark.parametrize("model", [Conversation, Message, ToolCall, Part], ids=lambda model: model.__name__)
def test_every_key_of_a_native_conversation_is_in_a_table(model: type[BaseModel]) -> None:
    told = set(re.findall(r"^\| `(\w+)` \|", NATIVE, re.MULTILINE))

    assert model.model_fields.keys() - told == set()


def test_the_native_conversation_that_is_shown_is_one(tmp_path: Path) -> None:
    (block,) = re.findall(r"^```json\n(.*?)^```", NATIVE, re.MULTILINE | re.DOTALL)
    file = tmp_path / "shown.json"
    file.write_text(block)

    assert [type(found) for found in read_conversations(file)] == [Conversation]


def test_the_suite_that_is_shown_loads(tmp_path: Path) -> None:
    (block,) = re.findall(r"^```yaml\n(.*?)^```", SUITE, re.MULTILINE | re.DOTALL)
    (tmp_path / "suite.yaml").write_text(block)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "refunds.jsonl").write_text('{"id": "c1"}\n')
    (tmp_path / "verifiers").mkdir()
    (tmp_path / "verifiers" / "refunds.py").write_text("def verify(conversation): return []\n")
    suite = load_suite(tmp_path / "suite.yaml")

    assert set(suite.model_fields_set) >= {"evidence", "tests", "policy", "budget"}


def test_every_format_is_a_row_of_the_table() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", (DOCS / "formats.md").read_text(), re.MULTILINE)

    assert rows == list(FORMATS)
