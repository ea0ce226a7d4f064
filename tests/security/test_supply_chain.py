"""What is ours runs nothing but itself and verifiers; what is not ours is pinned and looked at (S13, S14)."""

from __future__ import annotations

import ast
import json
import os
import sqlite3
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import adjudge

if TYPE_CHECKING:
    from tests.end_to_end.conftest import Desk

REPOSITORY = Path(__file__).parents[2]
PACKAGE = Path(adjudge.__file__).parent
NEVER_IMPORTED = {
    *("pickle", "cPickle", "_pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "dbm", "code"),
    *("subprocess", "pty", "ctypes", "cffi", "multiprocessing", "runpy", "imp", "xmlrpc", "telnetlib"),
}
NEVER_CALLED = {"eval", "exec", "compile", "__import__", "breakpoint", "input"}
NEVER_ASKED_FOR = {
    *("system", "popen", "spawnl", "spawnv", "execv", "execve", "execl", "fork", "forkpty", "startfile"),
    *("load_module", "run_module", "run_path", "literal_eval", "unsafe_load", "full_load", "load_all"),
}
DOORS = {
    "pipeline/checks.py: exec_module": "runs a suite's verifier",
    "pipeline/readers/__init__.py: load": "imports a reader that an installed package registers",
}
"""All there is that runs code from elsewhere, and why."""


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def called(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                yield node.func.id
            elif isinstance(node.func, ast.Attribute):
                yield f".{node.func.attr}"


@cache
def trees() -> dict[str, ast.Module]:
    """Every module of the package by its path, through the links of a checkout."""
    found: dict[str, ast.Module] = {}
    for folder, _, names in os.walk(PACKAGE, followlinks=True):
        for path in (Path(folder, name) for name in names if name.endswith(".py")):
            found[path.relative_to(PACKAGE).as_posix()] = ast.parse(path.read_bytes(), filename=str(path))
    return found


def test_nothing_of_ours_imports_what_unpickles_or_starts_processes() -> None:
    found = trees()

    assert len(found) > 100
    for name, tree in found.items():
        assert {module.split(".")[0] for module in imported(tree)} & NEVER_IMPORTED == set(), name


def test_nothing_of_ours_calls_what_runs_text() -> None:
    for name, tree in trees().items():
        calls = set(called(tree))
        assert calls & NEVER_CALLED == set(), name
        assert calls & {f".{attribute}" for attribute in NEVER_ASKED_FOR} == set(), name


def test_the_only_doors_for_code_from_elsewhere_are_verifiers_and_installed_readers() -> None:
    doors = {
        f"{name}: {call.strip('.')}"
        for name, tree in trees().items()
        for call in called(tree)
        if call in {".exec_module", ".load"}
    }

    assert doors == DOORS.keys()


def test_yaml_is_read_as_events_alone() -> None:
    used = {
        f"{name}: {node.attr}"
        for name, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "yaml"
        if "load" in node.attr.lower()
    }

    assert used == {"pipeline/suite/strict_yaml.py: SafeLoader"}


def test_a_cache_holds_text_in_its_rows_and_nothing_else(desk: Desk) -> None:
    desk.suite(desk.grader("A.", "B."))
    desk.run()

    with closing(sqlite3.connect(desk.path / ".adjudge/cache/cache.db")) as database:
        rows = database.execute("SELECT raw, mode, filename, typeof(key), typeof(value), value FROM Cache")
        found = rows.fetchall()

    assert [row[:5] for row in found] == [(1, 1, None, "text", "text")] * 2
    assert all(json.loads(row[5])["verdicts"] for row in found)


def test_reading_a_run_runs_no_code_of_its_plan(desk: Desk) -> None:
    desk.suite(desk.verifier("return [check('a', True)]"), desk.grader("A."))
    desk.run()
    (desk.path / "checked.py").write_text("open('executed', 'w')\n")
    (desk.runs[0] / "results.jsonl").unlink()

    for command in ("show", "rollouts", "whatif --threshold behaves=0.5", "export", "show latest c1"):
        assert desk.adjudge(*command.split()).code == 0
    assert desk.adjudge("resume").code == 2
    assert not (desk.path / "executed").exists()


@pytest.mark.parametrize("name", ["os", "document", "..checks", "native.", "__init__"])
def test_a_format_is_no_way_to_import_a_module(desk: Desk, name: str) -> None:
    desk.suite(desk.grader("A."), conversations=[{"path": "conversations.jsonl", "format": name}])

    done = desk.run()

    assert done.code == 2
    assert f"unknown format {name!r}" in done.err


@pytest.fixture
def audit() -> Any:
    spec = spec_from_file_location("audit", REPOSITORY / ".ci" / "audit.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def package(*advisories: dict[str, Any]) -> dict[str, Any]:
    return {"name": "any", "version": "1", "vulns": list(advisories)}


def test_an_advisory_fails_the_build_unless_it_is_accepted_with_its_reason(
    audit: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    accepted = {"id": "PYSEC-2026-1", "aliases": ["CVE-2025-69872"]}
    new: dict[str, Any] = {"id": "CVE-2026-1", "aliases": []}

    assert audit.report([package(accepted)], 1) == 0
    assert audit.report([package(accepted, new)], 1) == 1
    said = capsys.readouterr().out
    assert "diskcache unpickles what it stores" in said
    assert "CVE-2026-1: NOT accepted" in said


def test_every_accepted_advisory_is_named_in_security_md_with_its_package(audit: Any) -> None:
    text = (REPOSITORY / "SECURITY.md").read_text()

    for advisory, reason in audit.ACCEPTED.items():
        assert advisory in text
        assert reason.split()[0] in text


def test_no_dependency_runs_code_at_every_start_of_python() -> None:
    starting = {path.name for path in Path(sysconfig.get_path("purelib")).glob("*.pth")}

    unexpected = {name for name in starting if not name.startswith("__editable__.adjudge-")}
    assert unexpected <= {"distutils-precedence.pth", "_virtualenv.pth"}
    assert "sitecustomize" not in sys.modules or "site-packages" not in str(
        sys.modules["sitecustomize"].__file__
    )
