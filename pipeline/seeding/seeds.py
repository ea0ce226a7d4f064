"""What a suite is made of while a file is read: statements by test, and what could not be taken over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from adjudge.pipeline.conversation import Conversation, Statements
from adjudge.pipeline.display import visible

GRADER = "expected-behaviors"
"""The grader that is asked all statements."""

MAX_SUITE = 400_000
"""Bytes of tests that go into a suite; the statements of further ones go to their conversations."""

MAX_NAME = 200
MAX_LINES = 100
_SHORT = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What a suite says of one test: a title to show, and its statements."""

    title: str | None
    statements: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class Seeds:
    """Collects what a suite will say.

    Attributes:
        common: statements that are asked of every conversation. To be set before any others are.
        tests: tests by name.
        count: how many statements were taken over.
    """

    common: tuple[str, ...] = ()
    tests: dict[str, Scenario] = field(default_factory=dict[str, Scenario])
    count: int = 0
    _bytes: int = 0
    _left_out: Counter[str] = field(default_factory=Counter[str])

    def any(self) -> bool:
        """Whether a suite would have a statement of its own."""
        return bool(self.common) or any(test.statements for test in self.tests.values())

    def ask_all(self, texts: Iterable[str]) -> None:
        """Ask `texts` of every conversation."""
        self.common = self._clean(texts)
        self.count += len(self.common)

    def ask(self, conversation: Conversation, texts: Iterable[str], title: str | None = None) -> Conversation:
        """`conversation` with its test named so that it is asked `texts`; without a test it has them itself.

        Two tests of one name that are asked different things become two tests.
        """
        statements = self._clean(texts)
        if conversation.test is None:
            self.count += len(statements)
            return conversation.model_copy(update={"statements": _asked(statements)})
        name, known = self._place(conversation.test, Scenario(title=title, statements=statements))
        own: Statements = {} if known else _asked(statements)
        return conversation.model_copy(update={"test": name, "statements": own})

    def add_test(self, name: str, texts: Iterable[str], title: str | None = None) -> None:
        """Ask `texts` of the conversations that will name the test `name`."""
        scenario = Scenario(title=title, statements=self._clean(texts))
        found, known = self._place(name, scenario)
        if not known:
            self.leave_out(f"test {found!r}", "the suite is full; split the file")
        elif found != name:
            self.leave_out(f"test {name!r}", f"it is called {found!r} here: say so in its conversations")

    def leave_out(self, what: str, why: str) -> None:
        """Note something that could not be taken over."""
        self._left_out[f"{shortened(what)}: {why}"] += 1

    def lines(self) -> list[str]:
        """What could not be taken over, a line each, the first `MAX_LINES` of them."""
        lines = [f"{note} ({times} times)" if times > 1 else note for note, times in self._left_out.items()]
        more = len(lines) - MAX_LINES
        return lines if more <= 0 else [*lines[:MAX_LINES], f"and {more} more"]

    def _place(self, name: str, scenario: Scenario) -> tuple[str, bool]:
        """The name of the test that is `scenario`, and whether the suite has it (it is not full)."""
        first = as_name(name) or "unnamed"
        found, number = first, 1
        while self.tests.get(found, scenario) != scenario:
            number += 1
            found = f"{first} ({number})"
        if found in self.tests:
            return found, True
        self.count += len(scenario.statements)
        size = len(found) + sum(len(text.encode()) + 20 for text in scenario.statements) + 60
        if self._bytes + size > MAX_SUITE:
            return found, False
        self._bytes += size
        self.tests[found] = scenario
        return found, True

    def _clean(self, texts: Iterable[str]) -> tuple[str, ...]:
        """`texts` without blanks around them, without empty ones and without repetitions (S4)."""
        kept = {" ".join(text.split()): text for text in self.common}
        found: list[str] = []
        for text in texts:
            folded = " ".join(text.split())
            if not folded:
                self.leave_out("a statement", "it is empty")
            elif folded in kept:
                self.leave_out(f"statement {folded!r}", "it stands there twice")
            else:
                kept[folded] = text.strip()
                found.append(text.strip())
        return tuple(found)


def one_line(text: str) -> str:
    """`text` on one line, with everything in it that acts or hides made visible."""
    return visible(" ".join(text.split()))


def as_name(text: str) -> str:
    """`text` as a suite may have it for a name or a title: one line, printable, not long; may be empty."""
    line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in one_line(text))
    return line[:MAX_NAME].strip()


def shortened(text: str) -> str:
    """`text` on one line, cut where it is long."""
    line = one_line(text)
    return line if len(line) <= _SHORT else line[: _SHORT - 1] + "…"


def _asked(statements: Iterable[str]) -> Statements:
    texts = list(statements)
    return {GRADER: [*texts]} if texts else {}
