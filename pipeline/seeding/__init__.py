"""A suite and native conversations made from data that carries statements: `adjudge init DIR --from FILE`.

A source is a module with three names:

- `title`: what it is called in messages and in the suite's first line;
- `recognises(value)`: whether a file is in it, by `Source.first()`; no two say yes to one file;
- `seed(source, seeds)`: the file's conversations, their statements put into `seeds` or into themselves.

What people or programs said of the conversations stays in their metadata: it is never a label.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, cast

from adjudge.judges.failure import UsageError
from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.files import storage, whole_file
from adjudge.pipeline.readers.source import Source, Unreadable
from adjudge.pipeline.reports.listing import convert
from adjudge.pipeline.seeding.seeds import Seeds
from adjudge.pipeline.seeding.suite_text import suite_text
from adjudge.pipeline.suite.strict_yaml import MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable

SOURCES = ("tau2_bench", "tau2_tasks", "promptfoo", "promptfoo_config", "inspect_log", "deepeval")
"""The sources, each a module of this package."""

_YAML = {".yaml", ".yml"}


class Statements(Protocol):
    """What takes statements from one kind of file."""

    @property
    def title(self) -> str:
        """What the kind is called."""
        ...

    def recognises(self, value: Any, /) -> bool:
        """Whether a file that begins with `value` (see `Source.first`) is of this kind."""
        ...

    def seed(self, source: Source, seeds: Seeds, /) -> Iterator[Conversation | Unreadable]:
        """The file's conversations, in order; statements of tests are in `seeds` when it ends."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Seeded:
    """What was written.

    Attributes:
        files: the files, the suite first.
        statements: how many statements they hold, each counted once.
        left_out: what could not be taken over, a line each; it stands in the suite as well.
        unreadable: records of the file that could not be read.
    """

    files: list[Path]
    statements: int
    left_out: list[str]
    unreadable: list[Unreadable] = field(default_factory=list[Unreadable])


def seed_suite(directory: Path, file: Path) -> Seeded:
    """Write `suite.yaml` and, where `file` has conversations, `conversations.jsonl` into `directory`.

    Raises:
        UsageError: `file` can't be read, is of no kind that carries statements, or holds nothing to grade;
            or one of the files is there already. Nothing is written then.
        StorageError: they can't be written; what was written is taken back.
    """
    source = Source(file)
    kind = _recognised(source)
    suite, conversations = directory / "suite.yaml", directory / "conversations.jsonl"
    there = [repr(str(path)) for path in (suite, conversations) if path.exists()]
    if there:
        raise UsageError(f"{', '.join(there)} is there already; name another directory")
    new = not directory.exists()
    with storage(directory, "make"):
        directory.mkdir(parents=True, exist_ok=True)
    seeds = Seeds()
    try:
        unreadable, written = _write_conversations(conversations, kind.seed(source, seeds))
        if not (written or seeds.any() or seeds.lines()):
            _refuse(source, kind, unreadable)
        text = _text(source, kind, seeds, conversations=written)
        with whole_file(suite) as stream:
            stream.write(text.encode())
    except BaseException:
        conversations.unlink(missing_ok=True)
        if new:
            with suppress(OSError):
                directory.rmdir()
        raise
    return Seeded(
        files=[suite, conversations] if written else [suite],
        statements=seeds.count,
        left_out=seeds.lines(),
        unreadable=unreadable,
    )


def _write_conversations(
    path: Path, found: Iterable[Conversation | Unreadable]
) -> tuple[list[Unreadable], bool]:
    """Write conversations as they come. Returns what could not be read, and whether there were any."""
    with whole_file(path) as stream:
        unreadable = convert(found, stream)
        written = stream.tell() > 0
    if not written:
        path.unlink()
    return unreadable, written


def _refuse(source: Source, kind: Statements, unreadable: list[Unreadable]) -> NoReturn:
    why = f": {unreadable[0].reason}" if unreadable else ""
    raise UsageError(f"{source.name!r} ({kind.title}) holds neither conversations nor statements{why}")


def _text(source: Source, kind: Statements, seeds: Seeds, *, conversations: bool) -> str:
    text = suite_text(
        seeds, name=source.stem, file=source.path.name, kind=kind.title, conversations=conversations
    )
    if len(text.encode()) > MAX_BYTES:
        raise UsageError(f"{source.name!r} has more statements than a suite may hold (1 MiB); split it")
    return text


def _recognised(source: Source) -> Statements:
    # Lines of YAML may be JSON by chance.
    first = _head(source) if source.path.suffix in _YAML else source.first()
    titles: list[str] = []
    for name in SOURCES:
        kind = cast("Statements", import_module(f"{__name__}.{name}"))
        if kind.recognises(first):
            return kind
        titles.append(kind.title)
    raise UsageError(
        f"{source.name!r} is none of what carries statements: {', '.join(titles)}. "
        "Other conversations need no --from: name them under 'conversations' of a suite"
    )


def _head(source: Source) -> bytes:
    with storage(source.path, "read"), source.path.open("rb") as file:
        return file.read(MAX_BYTES)
