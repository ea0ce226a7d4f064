"""Leases: which questions are being asked at this moment, by any process on this machine (C7)."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from adjudge.judges.ledger.directory import unusable

_OPENING = 1 << 61  # beyond every key's place


class Leases:
    """Leases on keys, each a lock on one byte of a file, at the place its key names.

    The kernel ends a lock with the process that holds it, however that ends: a lease can't outlive its
    owner, and neither clocks nor process ids nor heartbeats decide anything. These are the locks SQLite
    itself stands on, so they work wherever the cache does.

    A process must not open two on the same file: closing one would end the leases of the other.
    """

    def __init__(self, path: Path) -> None:
        """Open the file of leases, making it where it is missing.

        Raises:
            StorageError: if it can't be opened for writing.
        """
        self._directory = path.parent
        self._held: set[str] = set()
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise unusable(path.parent, os.strerror(error.errno or 0)) from None

    def claim(self, key: str) -> bool:
        """Take the lease of `key` (64 hex digits); False while anybody holds it, this process included.

        Raises:
            StorageError: if the file system can't lock.
        """
        if key in self._held:
            return False
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place(key))
        except (BlockingIOError, PermissionError):
            return False
        except OSError as error:
            raise unusable(self._directory, f"its file system can't lock ({error.strerror})") from None
        self._held.add(key)
        return True

    def release(self, key: str) -> None:
        """Give the lease of `key` back; nothing if it is not held."""
        if key in self._held:
            self._held.remove(key)
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _place(key))

    @contextmanager
    def opening(self) -> Generator[None]:
        """Be the only process that is opening the cache for writing; waits for the others."""
        fcntl.lockf(self._file, fcntl.LOCK_EX, 1, _OPENING)
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _OPENING)

    def close(self) -> None:
        """Give every lease back; releasing one later does nothing."""
        self._held.clear()
        os.close(self._file)


def _place(key: str) -> int:
    return int(key[:15], 16)
