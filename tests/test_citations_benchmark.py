"""The benchmark of the quote check tells a good check from a bad one."""

from __future__ import annotations

import importlib.util
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / "benchmarks" / "citations.py"
CONVERSATIONS = ROOT / "tests" / "data" / "readers" / "tau2_bench" / "healthcare.json"
KINDS = ["exact", "white space", "curled quotes", "JSON-escaped", "NFD", "all"]


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("citations_benchmark", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def measured(
    benchmark: ModuleType, check: Callable[..., bool] | None, monkeypatch: pytest.MonkeyPatch
) -> Any:
    """What comes of each kind of mangling with another check in the place of adjudge's."""
    if check is not None:
        monkeypatch.setattr(benchmark, "quote_stands", check)
    files = [list(benchmark.read(CONVERSATIONS))]
    return {
        kind: benchmark.measured(files, mangle, 100, random.Random(kind))
        for kind, mangle in benchmark.MANGLES.items()
    }


def verbatim(turn: tuple[str, ...], quote: str) -> bool:
    return any(quote in text for text in turn)


def lax(turn: tuple[str, ...], quote: str) -> bool:
    words = {word for text in turn for word in text.lower().split()}
    return any(word in words for word in quote.lower().split())


def test_the_check_errs_in_no_quote_of_a_conversation_with_accents(
    benchmark: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = measured(benchmark, None, monkeypatch)

    assert [(kind, tally.refused, tally.accepted) for kind, tally in found.items()] == [
        (kind, [], []) for kind in KINDS
    ]
    assert {(tally.right, tally.wrong) for tally in found.values()} == {(100, 100)}


def test_a_check_that_forgives_nothing_refuses_everything_that_was_mangled(
    benchmark: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = measured(benchmark, verbatim, monkeypatch)

    assert found["exact"].refused == []
    assert all(len(found[kind].refused) > 90 for kind in ("white space", "curled quotes", "NFD", "all"))


def test_a_check_that_forgives_too_much_accepts_wrong_quotes(
    benchmark: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = measured(benchmark, lax, monkeypatch)

    assert len(found["exact"].accepted) > 50


def test_it_prints_a_table_with_a_row_for_each_mangling() -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, CONVERSATIONS, "--draws", "5"], capture_output=True, text=True, check=True
    )

    rows = [line.split("|")[1].strip() for line in done.stdout.splitlines() if line.startswith("|")]
    assert rows == ["mangling", "---", *KINDS]
    assert "conversations of 1 files, seed 1." in done.stdout
