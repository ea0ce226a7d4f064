"""What the records of phone and voice calls have in common, whoever wrote them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.plain import mapping
from adjudge.pipeline.readers.build import NotAConversationError, Notes, conversation, numbered
from adjudge.pipeline.readers.openai import native_messages
from adjudge.pipeline.readers.source import Record, Source, Unreadable

_SAID = re.compile(r"(AI|Assistant|Agent|Bot|User|Customer)\s*:\s*(.*)", re.IGNORECASE)
_CALLERS = {"user", "customer"}


class Heading(NamedTuple):
    """What tells the records of one call apart.

    Attributes:
        call: the call's id; None where the record has none.
        holds: how much of the call the record holds; of several records the fullest one counts.
    """

    call: str | None
    holds: int


def one_a_call(
    sources: Sequence[Source], heading: Callable[[Any], Heading], convert: Callable[[Any], dict[str, Any]]
) -> Iterator[Conversation | Unreadable]:
    """A conversation from each call of `sources`, also where several webhooks told of it.

    Args:
        sources: the files; they are read twice.
        heading: which call a record's value is of, and how much of it that holds. Of equals the last counts.
        convert: makes native fields of a record's value; raises `NotAConversationError` where it can't.
    """
    fullest: dict[str, tuple[int, int, int]] = {}
    for place, _, record in _records(sources):
        call, holds = heading(record.value) if isinstance(record, Record) else Heading(None, 0)
        if isinstance(record, Record) and call is not None:
            fullest[call] = max(fullest.get(call, (0, 0, 0)), (holds, place, record.number))
    for place, source, record in _records(sources):
        if not isinstance(record, Record):
            yield record
            continue
        call = heading(record.value).call
        if call is not None and fullest[call][1:] != (place, record.number):
            continue
        try:
            fields = {"id": call or numbered(source, record.number), **convert(record.value)}
        except NotAConversationError as error:
            yield source.unreadable(record.line, str(error))
        else:
            yield conversation(source, record.line, fields)


def _records(sources: Sequence[Source]) -> Iterator[tuple[int, Source, Record | Unreadable]]:
    """Every record of several files, with its file and the place of that among them."""
    for place, source in enumerate(sources):
        for record in source.records():
            yield place, source, record


def call_fields(
    turns: list[dict[str, Any]], notes: Notes, *, ended: Any, fault: str | None, metadata: dict[str, Any]
) -> dict[str, Any]:
    """Native fields of a call.

    Args:
        turns: what was said and done, as OpenAI messages.
        notes: what could not be represented.
        ended: the source's word for why the call ended.
        fault: what broke, where the source says that the call failed. A call in which nobody spoke and
            nothing was done has failed too.
        metadata: what else is kept.
    """
    messages = native_messages(turns, notes)
    reason = ended if isinstance(ended, str) and ended else None
    if fault is None and not any(message["role"] in {"user", "assistant"} for message in messages):
        fault = "nobody spoke" + (f": {reason}" if reason else "")
    failed = {} if fault is None else {"status": "failed", "error": fault}
    return {
        "messages": messages,
        "termination_reason": reason,
        **failed,
        "metadata": notes.into(metadata),
    }


def said(text: Any, *marks: dict[str, Any] | None) -> Any:
    """The content of a turn: its words and, as parts that are named and not shown, marks about them."""
    parts = [mark for mark in marks if mark is not None]
    return [*([{"type": "text", "text": text}] if text else []), *parts] if parts else text


def interrupted(whole: Any = None) -> dict[str, Any]:
    """The mark of speech that was cut off; `whole` is what would have been said, and was not."""
    return {"type": "interrupted", **({"original": whole} if isinstance(whole, str) and whole else {})}


def dialogue(transcript: str) -> list[dict[str, Any]]:
    """The turns of a transcript that is only text: `Agent: ...` and `User: ...` lines."""
    turns: list[dict[str, Any]] = []
    for line in transcript.splitlines():
        match = _SAID.match(line)
        if match:
            role = "user" if match[1].lower() in _CALLERS else "assistant"
            turns.append({"role": role, "content": match[2]})
        elif turns and line.strip():
            turns[-1]["content"] += "\n" + line
    return turns


def kept(record: Any, *keys: str) -> dict[str, Any]:
    """Those of `keys` that `record` has a value for."""
    return {key: value for key in keys if (value := mapping(record).get(key)) not in (None, "", [], {})}


def left(item: dict[str, Any], *read: str) -> dict[str, Any]:
    """What `item` holds besides the keys that were `read`; `native_messages` notes it as left out."""
    return {key: value for key, value in item.items() if key not in read}
