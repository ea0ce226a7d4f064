"""What `adjudge init` writes can be used at once, and never overwrites."""

from __future__ import annotations

from pathlib import Path

import pytest

from adjudge.judges.failure import StorageError, UsageError
from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.readers import read_conversations
from adjudge.pipeline.suite.load import load_suite
from adjudge.pipeline.suite.starter import write_starter


def test_the_starter_suite_loads_and_its_conversations_are_read(tmp_path: Path) -> None:
    suite = load_suite(write_starter(tmp_path / "new" / "place")[0])

    (file,) = suite.conversation_files
    conversations = list(read_conversations(file.path, file.format))
    assert all(isinstance(conversation, Conversation) for conversation in conversations)
    assert {c.test for c in conversations if isinstance(c, Conversation)} == {None, *suite.tests}


def test_a_file_that_is_there_is_not_overwritten_and_nothing_else_is_written(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text("mine")

    with pytest.raises(UsageError, match=r"suite\.yaml' is there already"):
        write_starter(tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == ["suite.yaml"]
    assert (tmp_path / "suite.yaml").read_text() == "mine"


def test_a_place_that_can_not_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "verifiers").write_text("a file where a directory is needed")

    with pytest.raises(StorageError, match="can't write into"):
        write_starter(tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == ["verifiers"]
