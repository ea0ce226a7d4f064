"""The files a suite names: found, globs expanded, verifiers and prompts looked at but not run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from glob import glob
from pathlib import Path
from typing import Any

from adjudge.pipeline.explain import Finding, Where, unknown
from adjudge.pipeline.plain import items, mapping
from adjudge.pipeline.readers import format_names, is_format


class MissingFileError(Exception):
    """A name that stands for no file. Its text says so and what to do."""


def matching(base: Path, name: str) -> list[Path]:
    """The files that `name`, a path or a glob relative to `base`, stands for, in order of their names.

    Raises:
        MissingFileError: if there are none.
    """
    path = base / name
    if path.is_file():
        return [path]
    if path.is_dir():
        raise MissingFileError(
            f"{name!r} is a directory; name its files, such as {name.rstrip('/') + '/*.jsonl'!r}"
        )
    # Not Path.glob, which refuses absolute patterns.
    found = [base / match for match in sorted(glob(name, root_dir=base, recursive=True))]  # noqa: PTH207
    files = [match for match in found if match.is_file()]
    if not files:
        raise MissingFileError(f"{name!r} matches no file in {str(base)!r}")
    return files


def file_findings(data: dict[str, Any], base: Path, *, conversations: bool) -> Iterator[Finding]:
    """Every file named in a suite's `data` that is not there or not usable.

    Args:
        data: the suite's plain data.
        base: the directory its names are relative to.
        conversations: whether to look at its conversations too.
    """
    if conversations:
        yield from _conversation_findings(items(data.get("conversations")), base)
    for key in ("recorded", "labels"):
        for place, name in enumerate(items(data.get(key))):
            yield from _missing(base, name, (key, place))
    for place, grader in enumerate(items(data.get("graders"))):
        prompt, verifier = mapping(grader).get("prompt"), mapping(grader).get("verifier")
        yield from _missing(base, prompt, ("graders", place, "prompt"))
        if isinstance(verifier, str):
            for message in _verifier_faults(base, verifier):
                yield Finding(where=("graders", place, "verifier"), message=message)


def _conversation_findings(entries: list[Any], base: Path) -> Iterator[Finding]:
    for place, entry in enumerate(entries):
        where: Where = ("conversations", place)
        if isinstance(entry, str):
            yield from _missing(base, entry, where)
            continue
        yield from _missing(base, mapping(entry).get("path"), (*where, "path"))
        name = mapping(entry).get("format")
        if isinstance(name, str) and not is_format(name):
            yield Finding(where=(*where, "format"), message=unknown("format", name, format_names()))


def _missing(base: Path, name: object, where: Where) -> Iterator[Finding]:
    if isinstance(name, str) and name.strip():
        try:
            matching(base, name)
        except MissingFileError as missing:
            yield Finding(where=where, message=str(missing))


def _verifier_faults(base: Path, verifier: str) -> Iterator[str]:
    name, _, function = verifier.rpartition(":")
    if not name.endswith(".py") or not function.isidentifier():
        yield f"must be file.py:function, not {verifier!r}"
        return
    path = base / name
    try:
        tree = ast.parse(path.read_bytes(), filename=str(path))
    except OSError as error:
        yield f"can't read {name!r}: {error.strerror or error}"
        return
    except (SyntaxError, ValueError, RecursionError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
        yield f"{name!r} is not Python{line}: {getattr(error, 'msg', error)}"
        return
    if function not in _bound_names(tree):
        functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
        yield f"{unknown('function', function, functions)} (in {name!r})"


def _bound_names(tree: ast.Module) -> Iterator[str]:
    """Names that running the module may bind: what can't be ruled out without running it is not refused."""
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield statement.name
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node.name
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
            elif isinstance(node, ast.alias):
                yield node.asname or node.name
