"""promptfoo's configuration, or a file of its tests: statements by test, no conversations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.plain import is_mapping, items, mapping, string
from adjudge.pipeline.readers.source import Source, Unreadable, first_of
from adjudge.pipeline.seeding.promptfoo_assertions import is_template, of_test, statements
from adjudge.pipeline.seeding.promptfoo_files import Beside, NotTakenError, is_reference
from adjudge.pipeline.seeding.seeds import Seeds

title = "promptfoo configuration"

_PROGRAM = "a program makes them; make the suite from promptfoo's output"
_YAML = ("promptfooconfig", "tests:", "- vars:", "- assert:", "- description:", "defaultTest:")


def recognises(value: Any) -> bool:
    """Whether the file is YAML that looks like a configuration, or JSON of one."""
    if isinstance(value, bytes):
        lines = value.decode(errors="replace").splitlines()
        return any(line.startswith(_YAML) for line in lines)
    first = mapping(first_of(value))
    return "tests" in first and bool({"prompts", "providers", "defaultTest"} & first.keys())


def seed(source: Source, seeds: Seeds) -> Iterator[Conversation | Unreadable]:
    """No conversation: a configuration has none.

    Files that it names with `file://` are read where they lie in its own directory; the others are named.

    Raises:
        SuiteError: the file is no YAML, or YAML with anchors, tags or duplicate keys.
    """
    yield from ()
    data = _loaded(source)
    config = data if is_mapping(data) else {"tests": items(data)}
    _Configuration(config, Beside(source.path), seeds).take()


class _Configuration:
    """A configuration, and the tests taken from it."""

    def __init__(self, config: dict[str, Any], beside: Beside, seeds: Seeds) -> None:
        self._config, self._beside, self._seeds = config, beside, seeds
        self._count = 0
        default = mapping(self._value(config.get("defaultTest"), "'defaultTest'"))
        self._variables = mapping(default.get("vars"))
        self._shared = self._assertions(default)

    def take(self) -> None:
        """Put the statements of its tests into the seeds."""
        common = [one for one in self._shared if not is_template(one)]
        self._seeds.ask_all(statements(common, {}, self._seeds))
        for test in self._listed(self._config.get("tests"), "tests"):
            self._add(test)
        for scenario in self._listed(self._config.get("scenarios"), "scenarios"):
            for some in self._listed(mapping(scenario).get("config"), "config of a scenario"):
                for test in self._listed(mapping(scenario).get("tests"), "tests of a scenario"):
                    self._add(test, mapping(some))

    def _add(self, test: Any, around: dict[str, Any] | None = None) -> None:
        """One test; `around` is what its scenario says for it, too."""
        if not is_mapping(test) or "path" in test:
            told = string(test) or string(mapping(test).get("path"))
            self._seeds.leave_out(f"tests {told}".strip(), _PROGRAM)
            return
        self._count += 1
        outer = around or {}
        own = [one for one in self._shared if is_template(one)]
        assertions = [*own, *self._assertions(outer), *self._assertions(test)]
        variables = {**self._variables, **mapping(outer.get("vars")), **mapping(test.get("vars"))}
        filled = {name: self._variable(name, value) for name, value in variables.items()}
        told = of_test({**test, "assert": assertions}, filled, self._seeds)
        name = " ".join(filter(None, (string(each.get("description")).strip() for each in (outer, test))))
        if not name and told:
            name = f"test {self._count}"
            why = f"it has none; its conversations must name test {name!r}"
            self._seeds.leave_out(f"description of {name}", why)
        if told:
            self._seeds.add_test(name, told)

    def _assertions(self, test: dict[str, Any]) -> list[Any]:
        """What a test asserts, templates and files put in."""
        listed = self._listed(test.get("assert"), "assert")
        return [one for each in listed if (one := self._assertion(_resolved(each, self._config))) is not None]

    def _assertion(self, assertion: Any) -> Any:
        if not is_reference(mapping(assertion).get("value")):
            return assertion
        value = self._value(assertion["value"], string(assertion.get("type")) or "assertion")
        return None if value is None else {**assertion, "value": value}

    def _listed(self, value: Any, what: str) -> list[Any]:
        """The entries of a list, which may be in a file, whole or each."""
        found: list[Any] = []
        for entry in items(value) or ([] if value in (None, "", {}) else [value]):
            content = self._value(entry, what)
            found += items(content) or ([] if content in (None, []) else [content])
        return found

    def _variable(self, name: str, value: Any) -> Any:
        return self._value(value, f"variable {name!r}")

    def _value(self, reference: Any, what: str) -> Any:
        """What a file holds, or None, noted, where it is not taken; anything but a name of one as it is."""
        try:
            return self._beside.value(reference)
        except NotTakenError as error:
            self._seeds.leave_out(f"{what} {reference}", str(error))
            return None


def _resolved(assertion: Any, config: dict[str, Any]) -> Any:
    """An assertion, or the template that it names in the same file."""
    reference = string(mapping(assertion).get("$ref"))
    if not reference.startswith("#/"):
        return assertion
    found: Any = config
    for step in reference[2:].split("/"):
        found = mapping(found).get(step)
    return found if is_mapping(found) else {"type": reference}


def _loaded(source: Source) -> Any:
    from adjudge.pipeline.suite.errors import SuiteError
    from adjudge.pipeline.suite.strict_yaml import load_yaml

    if is_mapping(first := first_of(source.first())) and source.path.suffix not in {".yaml", ".yml"}:
        return first
    document = load_yaml(source.path)
    if document.problems:
        raise SuiteError(source.name, document.text, document.problems)
    return document.data
