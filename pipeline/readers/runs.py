"""What the results of test runs have in common: many conversations a record, each a repeat of a scenario."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.readers.build import NotAConversationError, conversation, numbered
from adjudge.pipeline.readers.source import Source, Unreadable


def one_a_run(
    source: Source, line: int | None, runs: Iterable[Any], convert: Callable[[Any], dict[str, Any]]
) -> Iterator[Conversation | Unreadable]:
    """A conversation from each of the `runs` that one record holds.

    Args:
        source: the file.
        line: the line the record begins on.
        runs: plain JSON values.
        convert: makes native fields of a run; raises `NotAConversationError` where it can't. Where it gives
            no `id`, the conversation is named after the file and the run's place.
    """
    for number, run in enumerate(runs, 1):
        try:
            fields = {"id": numbered(source, number), **convert(run)}
        except NotAConversationError as error:
            yield source.unreadable(line, str(error))
        else:
            yield conversation(source, line, fields)


def repeat_of(source: Source, scenario: Any, number: Any) -> dict[str, Any]:
    """The native `test`, `rollout` and, where the scenario is known, `id` of a repeat of a scenario.

    Args:
        source: the file; its name is part of the id, since other files run the same scenarios.
        scenario: the scenario's id: text or a number.
        number: which repeat it is, as the source counts them.
    """
    test, rollout = named(scenario), whole(number)
    if test is None:
        return {"rollout": rollout}
    parts = [source.stem, test, *([] if rollout is None else [str(rollout)])]
    return {"id": "-".join(parts), "test": test, "rollout": rollout}


def named(value: Any) -> str | None:
    """An id that is text or a whole number, as text; None where it is neither."""
    return (value or None) if isinstance(value, str) else (None if whole(value) is None else str(value))


def whole(value: Any) -> int | None:
    """`value` if it is a whole number, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def failed(error: Any) -> dict[str, Any]:
    """The native fields of a run that broke with `error`; none where there is no text."""
    return {"status": "failed", "error": error} if isinstance(error, str) and error else {}


def without(mapped: dict[str, Any], *keys: str) -> dict[str, Any]:
    """`mapped` but for `keys`."""
    return {key: value for key, value in mapped.items() if key not in keys}
