"""The documents are true: their links lead somewhere and their examples work."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer.core
import typer.main

from adjudge import Conversation
from adjudge.pipeline.checks import load_verifier
from adjudge.pipeline.cli.app import app
from adjudge.pipeline.suite.load import StatementsGrader, load_suite

ROOT = Path(__file__).parent.parent
DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("configs/*/*.md")]


def example(language: str, document: str = "README.md") -> str:
    """The only block in `language` of a document."""
    (block,) = re.findall(
        rf"^```{language}\n(.*?)^```", (ROOT / document).read_text(), re.MULTILINE | re.DOTALL
    )
    return block


@pytest.fixture
def verifier(tmp_path: Path) -> Path:
    """The README's verifier, where the README's suite looks for it."""
    file = tmp_path / "verifiers" / "refunds.py"
    file.parent.mkdir()
    file.write_text(example("python"))
    return file


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_link_to_a_file_leads_to_one(document: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)", document.read_text())
    missing = [
        link for link in links if not link.startswith("https:") and not (document.parent / link).exists()
    ]

    assert missing == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_test_that_is_named_exists(document: Path) -> None:
    tests = "".join(path.read_text() for path in ROOT.glob("tests/**/test_*.py"))
    named = set(re.findall(r"`(test_\w+)`", document.read_text()))

    assert named - set(re.findall(r"def (test_\w+)\(", tests)) == set()


def test_every_command_has_a_row_in_the_readme() -> None:
    rows = re.findall(r"^\| `([a-z]+)[` ]", (ROOT / "README.md").read_text(), re.MULTILINE)
    command = typer.main.get_command(app)
    assert isinstance(command, typer.core.TyperGroup)

    assert sorted(rows) == sorted(command.commands)


def test_the_suite_in_the_readme_loads(tmp_path: Path, verifier: Path) -> None:
    suite = tmp_path / "suite.yaml"
    suite.write_text(example("yaml"))
    (tmp_path / "conversations.jsonl").write_text('{"id": "c1"}\n')

    assert [grader.name for grader in load_suite(suite).graders] == ["expected-behaviors", "books-balance"]


def test_the_suite_about_long_conversations_loads(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(example("yaml", "docs/long-conversations.md"))
    (tmp_path / "conversations.jsonl").write_text('{"id": "c1"}\n')

    (grader,) = load_suite(tmp_path / "suite.yaml").graders
    assert isinstance(grader, StatementsGrader)
    assert [statement.over_windows for statement in grader.statements or []] == ["any", "all", None]


def test_the_verifier_in_the_readme_checks_a_conversation(verifier: Path) -> None:
    checks = list(load_verifier(verifier, "verify")(Conversation(id="c1")))

    assert [(check.label, check.passed, check.required) for check in checks] == [
        ("refunds once at most", True, True),
        ("keeps it short", True, False),
    ]
