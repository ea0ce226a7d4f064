"""What files of conversations hold, as native JSONL or as a list for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.display import visible, visible_json
from adjudge.pipeline.plain import items, mapping
from adjudge.pipeline.readers import read_conversations
from adjudge.pipeline.readers.source import Unreadable


def everything(paths: Sequence[Path], form: str) -> Iterator[Conversation | Unreadable]:
    """The conversations of several files, in order; an id that was there before is `Unreadable`.

    Raises:
        UsageError: a file can't be read, or its format is not known.
    """
    seen: set[str] = set()
    for path in paths:
        for found in read_conversations(path, form):
            if isinstance(found, Conversation) and found.id in seen:
                yield Unreadable(file=str(path), line=found.line, reason=f"duplicate id {found.id!r}")
                continue
            if isinstance(found, Conversation):
                seen.add(found.id)
            yield found


def convert(found: Iterable[Conversation | Unreadable], stream: IO[bytes]) -> list[Unreadable]:
    """Write conversations as native JSONL; returns the records that could not be read."""
    unreadable: list[Unreadable] = []
    for item in found:
        if isinstance(item, Unreadable):
            unreadable.append(item)
        else:
            line = visible_json(item.model_dump_json(exclude_defaults=True))
            stream.write(line.encode() + b"\n")
    return unreadable


def listed(conversation: Conversation) -> str:
    """One conversation on a few lines: who speaks how often, tools, how it ended, what was left out."""
    turns = Counter(message.role for message in conversation.shown)
    roles = ", ".join(f"{count} {role}" for role, count in turns.items())
    calls = Counter(call.name for message in conversation.shown for call in message.tool_calls)
    lines = [f"{visible(conversation.id)}: {len(conversation.shown)} turns ({roles or 'none'})"]
    if conversation.test is not None:
        rollout = "" if conversation.rollout is None else f", rollout {conversation.rollout}"
        lines.append(f"  test {visible(conversation.test)}{rollout}")
    if calls:
        named = ", ".join(f"{visible(name)} x{count}" for name, count in calls.most_common())
        lines.append(f"  tools {named}; {conversation.tool_errors} errors")
    ended = conversation.termination_reason or conversation.error
    lines.append(f"  {conversation.status}" + (f": {visible(ended)}" if ended else ""))
    lines += [f"  note: {visible(note)}" for note in _notes(conversation.metadata)]
    return "\n".join(lines)


def _notes(metadata: dict[str, Any]) -> list[str]:
    """What a reader said it could not represent."""
    return [str(note) for note in items(mapping(metadata.get("adjudge")).get("notes"))]
