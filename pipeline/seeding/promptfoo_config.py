"""promptfoo's configuration, or a file of its tests: statements by test, no conversations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.plain import is_mapping, items, mapping, string
from adjudge.pipeline.readers.source import Source, Unreadable, first_of
from adjudge.pipeline.seeding.promptfoo_assertions import is_template, of_test, statements
from adjudge.pipeline.seeding.seeds import Seeds

title = "promptfoo configuration"

_ELSEWHERE = "it is not in this file; make the suite from promptfoo's output, which has it all"
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

    Raises:
        SuiteError: the file is no YAML, or YAML with anchors, tags or duplicate keys.
    """
    yield from ()
    data = _loaded(source)
    config = data if is_mapping(data) else {"tests": items(data)}
    default = mapping(config.get("defaultTest"))
    shared = [_resolved(one, config) for one in items(default.get("assert"))]
    seeds.ask_all(statements([one for one in shared if not is_template(one)], {}, seeds))
    own = [one for one in shared if is_template(one)]
    for key in ("defaultTest", "tests", "scenarios"):
        if isinstance(config.get(key), str) or (key == "scenarios" and config.get(key)):
            seeds.leave_out(f"{key!r} {string(config[key])}".strip(), _ELSEWHERE)
    for number, test in enumerate(items(config.get("tests")), 1):
        _add(number, test, mapping(default.get("vars")), own, config, seeds)


def _add(
    number: int, test: Any, variables: dict[str, Any], own: list[Any], config: dict[str, Any], seeds: Seeds
) -> None:
    if not is_mapping(test) or "path" in test:
        seeds.leave_out(f"tests {string(test) or string(mapping(test).get('path'))}", _ELSEWHERE)
        return
    assertions = [*own, *(_resolved(one, config) for one in items(test.get("assert")))]
    told = of_test({**test, "assert": assertions}, {**variables, **mapping(test.get("vars"))}, seeds)
    name = string(test.get("description")).strip()
    if not name and told:
        name = f"test {number}"
        seeds.leave_out(f"description of {name}", f"it has none; its conversations must name test {name!r}")
    if told:
        seeds.add_test(name, told)


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
