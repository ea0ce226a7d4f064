"""What files of conversations hold, as native JSONL or as a list for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.display import visible, visible_json
from adjudge.pipeline.plain import items, mapping
from adjudge.pipeline.readers.several import ConversationFile, Reading, read_files
from adjudge.pipeline.readers.source import Unreadable


def everything(paths: Sequence[Path], form: str) -> Iterator[Conversation | Unreadable]:
    """The conversations of several files; see `readings`."""
    for reading in readings(paths, form):
        yield from reading.records


def readings(paths: Sequence[Path], form: str) -> Iterator[Reading]:
    """What several files hold, in order; an id that was there before is `Unreadable`.

    Several are read as those that one glob found: of them, one that no format recognises is `Unreadable`.

    Raises:
        UsageError: a file can't be read, or its format is not known.
    """
    glob = "several" if len(paths) > 1 else ""
    seen: set[str] = set()
    for reading in read_files([ConversationFile(path=path, format=form, glob=glob) for path in paths]):
        yield replace(reading, records=_distinct(reading, seen))


def _distinct(reading: Reading, seen: set[str]) -> Iterator[Conversation | Unreadable]:
    for found in reading.records:
        if isinstance(found, Conversation) and found.id in seen:
            file = str(reading.files[0])
            yield Unreadable(file=file, line=found.line, reason=f"duplicate id {found.id!r}")
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


def named(files: Sequence[str], form: str | None) -> str:
    """Files and the format they are read in, as a line for people."""
    more = f" and {len(files) - 3} more" if len(files) > 3 else ""
    together = ", read together" if len(files) > 1 else ""
    return f"{', '.join(map(visible, files[:3]))}{more}: {form or 'no format recognises it'}{together}"


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
