"""The directory a verdict cache lives in: private, ours, on a local disk."""

from __future__ import annotations

import errno
import os
import re
import shlex
import sqlite3
import stat
from pathlib import Path

from adjudge.judges.failure import StorageError

DATABASE = "cache.db"
LEASES = "leases"
FILES = (DATABASE, DATABASE + "-wal", DATABASE + "-shm", LEASES)
"""Everything in it that is ever opened."""

SETTINGS = {
    "cull_limit": 0,
    "disk_min_file_size": 2**31 - 1,
    "disk_pickle_protocol": 0,
    "eviction_policy": "none",
    "size_limit": 2**62,
    "sqlite_auto_vacuum": 0,
    "sqlite_cache_size": 2**13,
    "sqlite_journal_mode": "wal",
    "sqlite_mmap_size": 0,
    "sqlite_synchronous": 2,
    "statistics": 0,
    "tag_index": 0,
}
"""diskcache's settings, all of them: they live in the database, where any other opener can change them."""

_NETWORK = re.compile("nfs|cifs|smb|afs|ceph|lustre|gluster|beegfs|gpfs|davfs|sshfs|s3fs|gcsfuse|rclone")
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def prepare(directory: Path, *, read_only: bool, force: bool) -> Path:
    """Make `directory` where it is missing, see that it can be trusted, and return its absolute path.

    Whoever can write into a cache can put verdicts into it, so nobody else may. A directory that others
    could only read is closed to them.

    Raises:
        StorageError: if it can't be made or read; belongs to somebody else; others can write into it; a
            file in it is a link or no file; it is on a network file system and `force` is false (SQLite's
            write-ahead log loses data there).
    """
    path = directory.absolute()
    if os.path.expandvars(path) != str(path):
        raise StorageError(f"the cache directory {str(path)!r} can't be used: its name holds a variable")
    try:
        if not read_only:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir(mode=0o700, exist_ok=True)
        _inspect(path, read_only=read_only)
    except OSError as error:
        raise unusable(path, error.strerror or type(error).__name__) from None
    kind = filesystem(path, _mounts())
    if _NETWORK.search(kind) and not force:
        raise unusable(path, f"it is on a network file system ({kind}), where SQLite loses data")
    return path


def unusable(path: Path, why: str) -> StorageError:
    """The error for a cache directory that can't be used."""
    return StorageError(
        f"the verdict cache in {str(path)!r} can't be used: {why}; name another with --cache DIR"
    )


def failed(path: Path, error: Exception) -> StorageError:
    """The error for a cache whose disk or database failed, with what to do about it."""
    full = _code(error) == sqlite3.SQLITE_FULL or getattr(error, "errno", 0) == errno.ENOSPC
    hint = "; nothing stored is lost: free some space, then `adjudge resume`" if full else ""
    hint = "; `adjudge cache verify` says what is damaged" if is_damage(error) else hint
    return StorageError(f"the cache in {str(path)!r} failed: {error}{hint}")


def is_damage(error: Exception) -> bool:
    """Whether a database error is about what the file holds, not about reaching it."""
    return _code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_TOOBIG)


def _code(error: Exception) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def filesystem(path: Path, mounts: str) -> str:
    """The type of the file system `path` is on, by a table like `/proc/self/mounts`; empty if unknown."""
    real = path.resolve()
    best, kind = -1, ""
    for line in mounts.splitlines():
        _, place, type_, *_ = line.split(" ")
        mount = Path(place.encode().decode("unicode_escape"))
        if real.is_relative_to(mount) and len(mount.parts) >= best:
            best, kind = len(mount.parts), type_
    return kind


def _inspect(path: Path, *, read_only: bool) -> None:
    status = path.stat()
    if not stat.S_ISDIR(status.st_mode):
        raise unusable(path, "it is no directory")
    if status.st_uid != os.geteuid():
        raise unusable(path, f"it belongs to user {status.st_uid}, not to you")
    if status.st_mode & _OTHERS_WRITE:
        hint = f"others can write into it (chmod 700 {shlex.quote(str(path))} if you trust what is there)"
        raise unusable(path, hint)
    if status.st_mode & _OTHERS and not read_only:
        path.chmod(0o700)
    for name in FILES:
        try:
            mode = (path / name).lstat().st_mode
        except FileNotFoundError:
            continue
        if not stat.S_ISREG(mode):
            raise unusable(path, f"{name!r} in it is no file")


def _mounts() -> str:
    try:
        return Path("/proc/self/mounts").read_text(errors="replace")
    except OSError:
        return ""
