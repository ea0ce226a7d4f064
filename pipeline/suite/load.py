"""A suite loaded and checked: its references hold, its files are there (spec section 6, S2, S4)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from adjudge.judges.failure import UsageError
from adjudge.judges.request import digest
from adjudge.pipeline.explain import Finding, dotted, findings
from adjudge.pipeline.plain import kind_of, mapping
from adjudge.pipeline.readers.several import ConversationFile
from adjudge.pipeline.suite.errors import Problem, SuiteError
from adjudge.pipeline.suite.files import MissingFileError, file_findings, matching
from adjudge.pipeline.suite.rules import rule_findings
from adjudge.pipeline.suite.spec import (
    Budget,
    ChecksGrader,
    ConversationFiles,
    EvidenceSpec,
    GraderSpec,
    JudgeSpec,
    Policy,
    Price,
    Scenario,
    StatementsGrader,
    SuiteFile,
)

if TYPE_CHECKING:
    from adjudge.pipeline.suite.strict_yaml import Document, Mark

MAX_PROBLEMS = 200
"""Problems of one kind that are looked for at most: nobody reads more, and a hostile file has millions."""

_SECRETIVE = [("api_base",), ("api_key_env",), ("headers_env",), ("params",)]
"""Keys of a judge whose value may be a secret, where it is not what belongs there."""

__all__ = [
    "Budget",
    "ChecksGrader",
    "ConversationFile",
    "ConversationFiles",
    "EvidenceSpec",
    "GraderSpec",
    "JudgeSpec",
    "Policy",
    "Price",
    "Scenario",
    "StatementsGrader",
    "Suite",
    "SuiteError",
    "SuiteFile",
    "load_suite",
    "suite_schema",
]


class Suite(SuiteFile):
    """A suite as loaded: every reference in it holds, every file it names is there.

    Attributes:
        path: the suite file.
        text: its content, and `digest` the SHA-256 hex of that.
        conversation_files: the files its `conversations` name, globs expanded, each once, in order.
        recorded_files: the files of `recorded`, globs expanded.
        label_files: the files of `labels`, globs expanded.
    """

    path: Path
    text: str
    digest: str
    conversation_files: list[ConversationFile]
    recorded_files: list[Path]
    label_files: list[Path]

    def resolve(self, name: str) -> Path:
        """The path of a file that the suite names: relative to the suite file."""
        return self.path.parent / name


def load_suite(path: str | Path, *, conversations: Sequence[str | Path] | None = None) -> Suite:
    """Read a suite file and everything that decides whether it can be run, without running any of it.

    A grader whose `statements` are left out gets them from tests or conversations; an empty list that no
    test adds to is refused (S4).

    Args:
        path: the suite file.
        conversations: files or globs, relative to the working directory, that take the place of the suite's.

    Raises:
        SuiteError: a suite that can't be used, listing every problem with its line and column.
        UsageError: no such file, or `conversations` names a file that is not there.
    """
    from adjudge.pipeline.suite.strict_yaml import load_yaml

    path = Path(path)
    document = load_yaml(path)
    data = {"name": path.stem, **mapping(document.data)}
    found = list(document.problems)
    parsed = None
    if not document.broken:
        if not isinstance(document.data, dict):
            found.append(
                Problem(message=f"a suite is a mapping with 'graders', not {kind_of(document.data)}")
            )
        else:
            try:
                parsed = SuiteFile.model_validate(data)
            except ValidationError as error:
                found += _located(findings(error, SuiteFile), document)
            found += _located(rule_findings(document), document)
            found += _located(file_findings(data, path.parent, conversations=conversations is None), document)
    if found or parsed is None:
        raise SuiteError(str(path), document.text, found)
    return Suite.model_construct(
        **dict(parsed),
        path=path,
        text=document.text,
        digest=digest(document.text),
        conversation_files=_conversation_files(parsed, path.parent, conversations),
        recorded_files=_files(path.parent, parsed.recorded),
        label_files=_files(path.parent, parsed.labels),
    )


def suite_schema() -> dict[str, Any]:
    """JSON Schema of a suite file, for editors."""
    schema = SuiteFile.model_json_schema()
    schema["required"] = [key for key in schema["required"] if key != "name"]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def schema_text() -> str:
    """`suite_schema` as a file: what `adjudge schema` prints."""
    return json.dumps(suite_schema(), indent=2) + "\n"


def _located(all_findings: Iterable[Finding], document: Document) -> Iterator[Problem]:
    """Findings with their line and column, but for those at a place where the YAML itself is at fault."""
    taken = {(problem.line, problem.column) for problem in document.problems}
    for finding in islice(all_findings, MAX_PROBLEMS):
        line, column = _mark(finding, document)
        if (line, column) not in taken:
            secret = finding.where[:1] == ("judges",) and finding.where[2:3] in _SECRETIVE
            yield Problem(line=line, column=column, message=_tail(finding), secret=secret)


def _mark(finding: Finding, document: Document) -> Mark:
    """Where to point: at the value, or at its key where the key is meant or the value is a block below it."""
    where = finding.where
    while where and where not in document.values:
        where = where[:-1]
    value = document.values.get(where, (1, 1))
    key = document.keys.get(where, value)
    return key if finding.about_key or key[0] < value[0] else value


def _tail(finding: Finding) -> str:
    """The message with the last key's name before it, unless it speaks of a key or of the whole file."""
    names = [place for place, step in enumerate(finding.where) if isinstance(step, str)]
    if finding.about_key or not names:
        return finding.message
    return f"{dotted(finding.where[names[-1] :])}: {finding.message}"


def _conversation_files(
    suite: SuiteFile, base: Path, instead: Sequence[str | Path] | None
) -> list[ConversationFile]:
    if instead is not None:
        try:
            return _each_once(Path(), ((str(name), "auto") for name in instead))
        except MissingFileError as missing:
            raise UsageError(f"conversations: {missing}") from None
    return _each_once(base, ((entry.path, entry.format) for entry in suite.conversations))


def _each_once(base: Path, named: Iterable[tuple[str, str]]) -> list[ConversationFile]:
    """The files of names or globs, in order, each with its format; of one named twice the first counts."""
    files: dict[Path, ConversationFile] = {}
    for name, form in named:
        glob = "" if (base / name).is_file() else name
        for file in matching(base, name):
            files.setdefault(file.resolve(), ConversationFile(path=file, format=form, glob=glob))
    return list(files.values())


def _files(base: Path, names: Iterable[str]) -> list[Path]:
    return list(dict.fromkeys(file for name in names for file in matching(base, name)))
