"""Every statement of a suite, its tests and its conversations, looked at once where it stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from adjudge.pipeline.conversation import Conversation, StatementSpec
from adjudge.pipeline.lint.english import is_absence
from adjudge.pipeline.lint.rules import Finding, findings_of
from adjudge.pipeline.lint.wording import is_english, words
from adjudge.pipeline.readers.several import read_files
from adjudge.pipeline.suite.load import StatementsGrader, Suite
from adjudge.pipeline.suite.strict_yaml import load_yaml

_ARTICLES = frozenset({"a", "an", "the"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Linted:
    """A statement and what is to be said of it.

    Attributes:
        place: `suite.yaml:12`, or the first conversation that brings it.
        grader: whose it is.
    """

    place: str
    grader: str
    text: str
    findings: tuple[Finding, ...]


@dataclass(slots=True)
class Lint:
    """What was seen.

    Attributes:
        statements: how many were looked at; one that many conversations bring counts once.
        not_english: how many of these don't look English, so that most rules were not tried.
        unreadable: records of conversations that could not be read, so what they bring was not seen.
        found: the statements that something is to be said of, in order.
    """

    statements: int = 0
    not_english: int = 0
    unreadable: int = 0
    found: list[Linted] = field(default_factory=list[Linted])

    @property
    def findings(self) -> int:
        """How much is to be said in all."""
        return sum(len(linted.findings) for linted in self.found)


def lint_suite(suite: Suite) -> Lint:
    """Look at every statement of `suite` and of what it grades. Reads its conversations, asks nobody.

    Raises:
        UsageError: a file of conversations can't be read at all.
    """
    seen = Lint()
    graders = {grader.name: grader for grader in suite.graders if isinstance(grader, StatementsGrader)}
    own = {name: [one.text for one in grader.statements or []] for name, grader in graders.items()}
    for place, name, spec, before in _in_file(suite, own):
        _look(seen, place, graders[name], spec, before)
    known: set[tuple[str, str]] = set()
    for reading in read_files(suite.conversation_files):
        for record in reading.records:
            if not isinstance(record, Conversation):
                seen.unreadable += 1
                continue
            for name, spec, before in _brought(record, own):
                if (name, spec.text) not in known:
                    known.add((name, spec.text))
                    _look(seen, f"conversation {record.id!r}", graders[name], spec, before)
    return seen


def _in_file(
    suite: Suite, own: dict[str, list[str]]
) -> Iterator[tuple[str, str, StatementSpec, Sequence[str]]]:
    """The statements of the suite file: place, grader, statement, and those that are asked before it."""
    lines = load_yaml(suite.path).values

    def place(*where: str | int) -> str:
        return f"{suite.path}:{lines[where][0]}" if where in lines else str(suite.path)

    for number, grader in enumerate(suite.graders):
        if isinstance(grader, StatementsGrader):
            for index, spec in enumerate(grader.statements or []):
                where = place("graders", number, "statements", index)
                yield where, grader.name, spec, own[grader.name][:index]
    for test, scenario in suite.tests.items():
        for name, specs in scenario.statements.items():
            for index, spec in enumerate(specs):
                before = own.get(name, []) + [one.text for one in specs[:index]]
                yield place("tests", test, "statements", name, index), name, spec, before


def _brought(
    conversation: Conversation, own: dict[str, list[str]]
) -> Iterator[tuple[str, StatementSpec, Sequence[str]]]:
    for name, found in conversation.statements.items():
        specs = [StatementSpec(text=one) if isinstance(one, str) else one for one in found]
        for index, spec in enumerate(specs):
            if name in own:
                yield name, spec, own[name] + [one.text for one in specs[:index]]


def _look(
    seen: Lint, place: str, grader: StatementsGrader, spec: StatementSpec, before: Sequence[str]
) -> None:
    seen.statements += 1
    seen.not_english += not is_english(spec.text)
    found = [*findings_of(spec.text)]
    twin = next((text for text in before if _bare(text) == _bare(spec.text)), None)
    if twin is not None:
        found.append(Finding(rule="duplicate", matched=twin))
    if grader.overflow == "windows" and spec.over_windows != "all" and is_absence(spec.text):
        found.append(Finding(rule="absence-in-windows", matched=words(spec.text)[0]))
    if found:
        seen.found.append(Linted(place=place, grader=grader.name, text=spec.text, findings=tuple(found)))


def _bare(text: str) -> list[str]:
    """The words of a statement, but for what changes nothing about it."""
    return [word for word in words(text) if word not in _ARTICLES]
