"""`docs/reliability.md` leaves out no promise and names only tests that there are."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
TEXT = (TESTS.parent / "docs" / "reliability.md").read_text()
PROMISES = {"R": 16, "F": 18, "V": 13, "S": 15}


def all_tests() -> set[str]:
    """The names of all tests."""
    return {
        node.name
        for path in TESTS.rglob("test_*.py")
        for node in ast.parse(path.read_bytes()).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    }


def test_every_test_that_is_named_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", TEXT))

    assert len(named) > 100
    assert sorted(named - all_tests()) == []


@pytest.mark.parametrize("kind", PROMISES)
def test_every_promise_is_a_row_and_names_a_test(kind: str) -> None:
    rows = re.findall(rf"^\| ((?:{kind}\d+,? ?)+)\|(.*)$", TEXT, re.MULTILINE)
    numbers = [name for names, _ in rows for name in re.findall(r"\w\d+", names)]

    assert numbers == [f"{kind}{number}" for number in range(1, PROMISES[kind] + 1)]
    for names, row in rows:
        assert "`test_" in row, names
