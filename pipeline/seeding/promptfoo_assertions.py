"""promptfoo's assertions as statements: those a model is asked, in its user's words.

`llm-rubric` and other criteria are taken as they stand; of a reference answer a sentence about the reply is
made. What a program decides, or what no sentence can say, is named as left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from adjudge.pipeline.plain import as_text, is_mapping, items, mapping, string
from adjudge.pipeline.seeding.seeds import Seeds

_FORMS = {
    "llm-rubric": ("{}", "This does not hold of the agent's reply: {}"),
    "factuality": (
        "The agent's reply does not contradict this: {}",
        "The agent's reply contradicts this: {}",
    ),
    "trajectory:goal-success": ("The agent reaches this goal: {}", "The agent does not reach this goal: {}"),
}
"""What is asked with an assertion's value, and what if its type begins with `not-`."""

_LIKE = {
    "agent-rubric": "llm-rubric",
    "g-eval": "llm-rubric",
    "model-graded-closedqa": "llm-rubric",
    "pi": "llm-rubric",
    "search-rubric": "llm-rubric",
    "model-graded-factuality": "factuality",
}

_OF_MODELS = {
    "answer-relevance",
    "classifier",
    "context-faithfulness",
    "context-recall",
    "context-relevance",
    "conversation-relevance",
    "guardrails",
    "max-score",
    "moderation",
    "select-best",
    "similar",
}
"""Types that models decide, but not as a sentence about one reply."""

_PROGRAM = "a program decides it; write a verifier"
_CHANGED = ("threshold", "transform", "contextTransform")
_VARIABLE = re.compile(r"\{\{-?\s*([A-Za-z_]\w*)\s*-?\}\}")
_TEMPLATE = re.compile(r"\{\{|\{%|\{#")


def of_test(test: Mapping[str, Any], variables: Mapping[str, Any], seeds: Seeds) -> list[str]:
    """The sentences that a test's assertions ask a model; the rest of them is noted in `seeds`."""
    found = statements(test.get("assert"), variables, seeds)
    if found and test.get("threshold") is not None:
        seeds.leave_out("threshold of a test", "all of its statements must be met here")
    return found


def statements(assertions: Any, variables: Mapping[str, Any], seeds: Seeds) -> list[str]:
    """The sentences that `assertions` ask a model; the others are noted in `seeds`.

    Args:
        assertions: a test's `assert`.
        variables: the test's variables, which stand for `{{name}}` in the assertions.
        seeds: where notes go.
    """
    return [text for one in items(assertions) for text in _of_one(mapping(one), variables, seeds)]


def is_template(assertion: Any) -> bool:
    """Whether an assertion says different things in different tests."""
    return _TEMPLATE.search(as_text(mapping(assertion).get("value"))) is not None


def _of_one(assertion: dict[str, Any], variables: Mapping[str, Any], seeds: Seeds) -> Iterator[str]:
    kind, value = string(assertion.get("type")), assertion.get("value")
    if kind == "assert-set":
        if assertion.get("threshold") is not None:
            seeds.leave_out("threshold of an assert-set", "all of its assertions must be met here")
        yield from statements(assertion.get("assert"), variables, seeds)
        return
    plain = kind.removeprefix("not-")
    forms = _FORMS.get(_LIKE.get(plain, plain))
    if forms is None or assertion.get("weight") == 0:
        seeds.leave_out(f"{kind or 'assertion'} {_shown(value)}".strip(), _why_not(plain))
        return
    _note_changes(kind, assertion, seeds)
    for text in items(value) or [value]:
        try:
            yield forms[kind != plain].format(_filled(text, variables))
        except _UnreadableValueError as error:
            seeds.leave_out(f"{kind} {_shown(text)}".strip(), str(error))


def _why_not(plain: str) -> str:
    if plain in _OF_MODELS:
        return "no sentence about one reply says it"
    return "its weight is 0, so it never decided" if _LIKE.get(plain, plain) in _FORMS else _PROGRAM


def _note_changes(kind: str, assertion: dict[str, Any], seeds: Seeds) -> None:
    """Note what of an assertion a statement does not have."""
    for key in _CHANGED:
        if assertion.get(key) is not None:
            seeds.leave_out(f"{key} of {kind}", "a statement is met or not, by the conversation as it is")
    if assertion.get("weight", 1) != 1:
        seeds.leave_out(f"weight of {kind}", "every statement counts once")


class _UnreadableValueError(ValueError):
    """An assertion's value from which no sentence can be made. Its text says why."""


def _filled(value: Any, variables: Mapping[str, Any]) -> str:
    """The value with its variables filled in, in one pass."""
    if not isinstance(value, str):
        raise _UnreadableValueError("it has no text")
    if value.startswith(("file://", "package:")):
        raise _UnreadableValueError("its text is in another file")
    if _TEMPLATE.search(_VARIABLE.sub("", value)):
        raise _UnreadableValueError("its template does more than name variables; write the sentence out")

    def fill(found: re.Match[str]) -> str:
        name = found[1]
        filled = variables.get(name)
        if filled is None or isinstance(filled, bool) or is_mapping(filled) or isinstance(filled, list):
            raise _UnreadableValueError(f"its variable {name!r} has no one text")
        return as_text(filled)

    text = _VARIABLE.sub(fill, value).strip()
    if not text:
        raise _UnreadableValueError("its text is empty")
    return text


def _shown(value: Any) -> str:
    return "" if value is None else orjson.dumps(value).decode()
