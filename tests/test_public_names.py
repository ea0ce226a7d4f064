"""The names that suites, verifiers and programs may rely on."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

import pytest

import adjudge

ROOT = Path(__file__).parent.parent


def test_the_public_names_are_these() -> None:
    assert adjudge.__all__ == [
        "AdjudgeError",
        "Answer",
        "CalledTool",
        "Check",
        "Conversation",
        "Failure",
        "Judge",
        "JudgeRequest",
        "Message",
        "NoRequiredChecks",
        "Run",
        "ScriptedJudge",
        "StatementSpec",
        "StorageError",
        "UsageError",
        "Verdict",
        "agrade",
        "arun",
        "check",
        "grade",
        "optional",
        "run",
    ]


@pytest.mark.parametrize("name", adjudge.__all__)
def test_a_public_name_is_importable_and_says_what_it_is(name: str) -> None:
    value = getattr(adjudge, name)

    assert value.__name__ == name
    assert value.__doc__


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'nonsense'"):
        _ = adjudge.nonsense  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


def test_the_version_is_the_installed_one() -> None:
    assert adjudge.__version__ == version("adjudge")


def test_the_changelog_speaks_of_the_version() -> None:
    released = re.findall(r"^## \[?(\d[^\] ]*)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)

    assert released[0] == adjudge.__version__
