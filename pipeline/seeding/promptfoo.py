"""promptfoo's output: each result's assertions of models are statements of its test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.plain import items, mapping
from adjudge.pipeline.readers import promptfoo
from adjudge.pipeline.readers.source import Source, Unreadable
from adjudge.pipeline.reports.listing import everything
from adjudge.pipeline.seeding.promptfoo_assertions import of_test
from adjudge.pipeline.seeding.seeds import Seeds

title = "promptfoo output"

recognises = promptfoo.recognises


def seed(source: Source, seeds: Seeds) -> Iterator[Conversation | Unreadable]:
    """A conversation from each result; what promptfoo made of it stays in the metadata."""
    for found in everything([source.path], promptfoo.name):
        if isinstance(found, Unreadable):
            yield found
            continue
        case, variables = mapping(found.metadata.get("testCase")), mapping(found.metadata.get("vars"))
        test = case if "assert" in case else {**case, "assert": _checked(found.metadata)}
        yield seeds.ask(found, of_test(test, variables, seeds))


def _checked(metadata: dict[str, Any]) -> list[Any]:
    """The assertions that were checked, where an older output does not have the test. Not what came of it."""
    checked = items(mapping(metadata.get("gradingResult")).get("componentResults"))
    return [assertion for one in checked if (assertion := mapping(one).get("assertion"))]
