"""Readers: one small module a conversation format, each ending as the native conversation.

A reader is a module (or any object) with three names:

- `name`: what `format:` calls it;
- `recognises(value)`: whether a file is in this format, by `Source.first()`: the first record's value, the
  list of the first elements where the file is one array, the first bytes where it begins with no JSON. Strict
  enough that no two say yes to one file;
- `read(source)`: the file's conversations, and an `Unreadable` for each record that is none.

A fourth, `read_together(sources)`, is for formats that spread a conversation over files: the files of one
glob are then read as one (see `several`).

A built-in one is a module here and its name in `FORMATS`. Other packages add theirs in the entry point group
`adjudge.readers`; they are asked after the built-in ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from adjudge.judges.failure import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

    from adjudge.pipeline.conversation import Conversation
    from adjudge.pipeline.readers.source import Source, Unreadable

FORMATS = (
    "native",
    "openai",
    "anthropic",
    "openai_responses",
    "gemini",
    "langchain",
    "ai_sdk",
    "sharegpt",
    "realtime",
    "mcp",
    "promptfoo",
    "langsmith",
    "otel_genai",
    "openinference",
    "langfuse",
    "vapi",
    "retell",
    "elevenlabs",
    "livekit",
    "bland",
    "tau_bench",
    "tau2_bench",
    "inspect_log",
    "atif",
    "swe_agent",
    "rasa",
    "botium",
)
"""The built-in formats, each a module of this package."""


class UnrecognisedError(UsageError):
    """No format, or more than one, recognises a file.

    Attributes:
        reason: why, and what to do.
    """

    def __init__(self, source: Source, reason: str) -> None:
        super().__init__(f"{source.name!r}: {reason}")
        self.reason = reason


class Reader(Protocol):
    """What reads one format."""

    @property
    def name(self) -> str:
        """What `format:` calls it."""
        ...

    def recognises(self, value: Any, /) -> bool:
        """Whether a file that begins with `value` (see `Source.first`) is in this format."""
        ...

    def read(self, source: Source, /) -> Iterator[Conversation | Unreadable]:
        """The file's conversations, in order."""
        ...


class Empty:
    """What reads a file in which nothing stands, in whatever format it was to be."""

    name = "empty"

    def recognises(self, value: Any, /) -> bool:
        """Never: nothing begins like nothing."""
        return False

    def read(self, source: Source, /) -> Iterator[Conversation | Unreadable]:
        """No conversation."""
        return iter(())


class ReadsTogether(Reader, Protocol):
    """What reads one format that spreads a conversation over files."""

    def read_together(self, sources: Sequence[Source], /) -> Iterator[Conversation | Unreadable]:
        """The conversations of several files."""
        ...


def read_conversations(
    path: str | Path,
    format: str = "auto",  # noqa: A002 - the suite's word
) -> Iterator[Conversation | Unreadable]:
    """Read a file of conversations, streaming.

    Ids are as the file has them: that they differ is for the caller to check.

    Args:
        path: the file.
        format: a format's name; `auto` finds it in the file's content.

    Raises:
        UsageError: no such file, no such format, or no format or several that recognise the file.
    """
    from adjudge.pipeline.readers.source import Source

    source = Source(path)
    return reader_of(source, format).read(source)


def reader_of(source: Source, format: str) -> Reader:  # noqa: A002 - the suite's word
    """What reads a file in `format`; for `auto`, in the format that recognises it.

    Raises:
        UnrecognisedError: no format recognises it, or several do.
        UsageError: no such format.
    """
    return _recognised(source) if format == "auto" else _named(format)


def is_format(name: str) -> bool:
    """Whether `format:` may be `name`."""
    return name == "auto" or name in FORMATS or name in _plugins().names


def format_names() -> list[str]:
    """Everything that `format:` may be."""
    return ["auto", *FORMATS, *sorted(_plugins().names)]


def _recognised(source: Source) -> Reader:
    first = source.first()
    if source.is_empty:
        return Empty()
    found = [reader for reader in map(_built_in, FORMATS) if reader.recognises(first)]
    found = found or [reader for reader in map(_named, _plugins().names) if reader.recognises(first)]
    if len(found) == 1:
        return found[0]
    if found:
        names = " or ".join(reader.name for reader in found)
        raise UnrecognisedError(source, f"it may be {names}; say which with 'format'")
    # Nothing readable, but JSON by its looks: every record is reported with its line.
    if first is None or (isinstance(first, bytes) and first.lstrip()[:1] in (b"{", b"[")):
        return _built_in("native")
    raise UnrecognisedError(
        source,
        f"no format recognises it ({_described(first)}); "
        f"say which with 'format': {', '.join(format_names()[1:])}",
    )


def _named(name: str) -> Reader:
    if name in FORMATS:
        return _built_in(name)
    for plugin in _plugins():
        if plugin.name == name:
            return cast("Reader", plugin.load())
    from adjudge.pipeline.explain import unknown

    raise UsageError(unknown("format", name, format_names()))


def _built_in(name: str) -> Reader:
    return cast("Reader", import_module(f"{__name__}.{name}"))


def _plugins() -> EntryPoints:
    from importlib.metadata import entry_points

    return entry_points(group="adjudge.readers")


def _described(first: Any) -> str:
    from adjudge.pipeline.plain import is_mapping, items, kind_of

    value = next(iter(items(first)), first)
    if isinstance(value, bytes):
        return f"it begins {value[:24]!r}"
    if is_mapping(value):
        return f"its first record has the keys {', '.join(map(repr, list(value)[:8]))}"
    return f"its first record is {kind_of(value)}"
