"""Files written whole or not at all, and append-only journals that survive a kill (C9)."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from adjudge.judges.failure import StorageError

FLUSH_SECONDS = 0.5
FLUSH_BYTES = 1 << 20


@contextmanager
def storage(path: Path, doing: str) -> Generator[None]:
    """Turn an `OSError` inside into a `StorageError` that names `path` and what to do."""
    try:
        yield
    except OSError as error:
        hint = {28: "; free some space, then `adjudge resume`", 30: "; the disk is read-only"}
        reason = error.strerror or type(error).__name__
        raise StorageError(
            f"can't {doing} {str(path)!r}: {reason}{hint.get(error.errno or 0, '')}"
        ) from error


@contextmanager
def undamaged(path: Path) -> Generator[None]:
    """Turn what reading rows of a file raises, because they are no such rows, into a `StorageError`."""
    try:
        yield
    except (ValueError, LookupError, TypeError) as error:
        what = f"{type(error).__name__}: {error}"[:100]
        raise StorageError(f"{str(path)!r} is damaged ({what}); start a new run") from None


@contextmanager
def whole_file(path: Path) -> Generator[IO[bytes]]:
    """A file that appears under its name complete, or not at all: temp file, fsync, rename.

    Raises:
        StorageError: if it can't be written; nothing is left behind.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with storage(path, "write"):
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Journal:
    """An append-only file of lines. Lines reach the disk together, at the latest half a second later.

    A line lost to a kill costs nothing: grades are made again from the verdict ledger without a call.
    """

    def __init__(self, path: Path) -> None:
        """Open `path` for appending; a torn last line (a kill in the middle of a write) is cut off.

        Raises:
            StorageError: if it can't be opened.
        """
        self.path = path
        self._waiting: list[bytes] = []
        self._bytes = 0
        self._synced = time.monotonic()
        with storage(path, "open"):
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
            self._descriptor = os.open(path, flags, 0o600)
            self.torn = _cut_torn_line(self._descriptor)

    def append(self, line: bytes) -> None:
        """Add one line (without its newline).

        Raises:
            StorageError: if earlier lines can't be written.
        """
        self._waiting += (line, b"\n")
        self._bytes += len(line)
        if self._bytes >= FLUSH_BYTES or time.monotonic() - self._synced >= FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write and fsync what is waiting.

        Raises:
            StorageError: if it can't be written; what is waiting is kept.
        """
        self._synced = time.monotonic()
        if not self._waiting:
            return
        with storage(self.path, "write"):
            start = os.fstat(self._descriptor).st_size
            try:
                _write_all(self._descriptor, b"".join(self._waiting))
                os.fsync(self._descriptor)
            except OSError:
                with suppress(OSError):
                    os.ftruncate(self._descriptor, start)
                raise
        self._waiting.clear()
        self._bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if not isinstance(error, StorageError):
                self.flush()
        finally:
            os.close(self._descriptor)


def whole_lines(path: Path) -> Iterator[bytes]:
    """The complete lines of a journal, oldest first, without a torn last one. None if there is no file."""
    try:
        with path.open("rb") as file:
            for line in file:
                if line.endswith(b"\n"):
                    yield line[:-1]
    except FileNotFoundError:
        return


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _cut_torn_line(descriptor: int) -> bool:
    """Truncate after the last newline; say whether anything was cut."""
    size = end = os.fstat(descriptor).st_size
    while end > 0:
        start = max(0, end - 65536)
        place = os.pread(descriptor, end - start, start).rfind(b"\n")
        if place >= 0:
            end = start + place + 1
            break
        end = start
    if end < size:
        os.ftruncate(descriptor, end)
    return end < size
