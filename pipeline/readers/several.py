"""Several files of conversations: which format each is in, and which of them are read as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import cast

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.readers import Reader, ReadsTogether, UnrecognisedError, reader_of
from adjudge.pipeline.readers.source import Source, Unreadable


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationFile:
    """A file to read conversations from.

    Attributes:
        format: what it is said to be in; `auto` looks at its content.
        glob: the pattern that found it; empty where it is named alone.
    """

    path: Path
    format: str = "auto"
    glob: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A file, or several that are read as one, and what is in it.

    Attributes:
        files: their paths.
        format: the name of the format they are read in; None where no format recognises the file.
        records: its conversations, in order, read as they are needed, once.
    """

    files: tuple[Path, ...]
    format: str | None
    records: Iterator[Conversation | Unreadable]


def read_files(files: Iterable[ConversationFile]) -> Iterator[Reading]:
    """What `files` hold, in their order.

    A file that a glob found and no format recognises is one record that can't be read; the others are read.
    Files that one glob found are read as one where their format says so: it may put a trace's spans in one
    file and the messages in another.

    Raises:
        UsageError: a file can't be read, no format recognises one that is named alone, or there is no such
            format.
    """
    for glob, group in groupby(files, key=lambda file: file.glob):
        if glob:
            yield from _of_glob([(file, *_looked_at(file)) for file in group])
        else:
            for file in group:
                source = Source(file.path)
                yield _one(file, source, reader_of(source, file.format))


_Found = tuple[ConversationFile, Source, "Reader | str"]


def _looked_at(file: ConversationFile) -> tuple[Source, Reader | str]:
    """A file of a glob and what reads it, or why nothing does."""
    source = Source(file.path)
    try:
        return source, reader_of(source, file.format)
    except UnrecognisedError as error:
        return source, error.reason


def _of_glob(group: Sequence[_Found]) -> Iterator[Reading]:
    together: dict[str, list[Source]] = {}
    for _, source, reader in group:
        if not isinstance(reader, str) and hasattr(reader, "read_together"):
            together.setdefault(reader.name, []).append(source)
    for file, source, reader in group:
        if isinstance(reader, str):
            lost = source.unreadable(None, reader)
            yield Reading(files=(file.path,), format=None, records=iter([lost]))
        elif reader.name not in together:
            yield _one(file, source, reader)
        elif sources := together[reader.name]:
            together[reader.name] = []
            yield _all(reader, sources)


def _one(file: ConversationFile, source: Source, reader: Reader) -> Reading:
    return Reading(files=(file.path,), format=reader.name, records=reader.read(source))


def _all(reader: Reader, sources: list[Source]) -> Reading:
    records = cast("ReadsTogether", reader).read_together(sources)
    return Reading(files=tuple(source.path for source in sources), format=reader.name, records=records)
