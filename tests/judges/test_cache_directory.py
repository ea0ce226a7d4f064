"""A cache lives in a directory that nobody else can write to, on a local disk (S9)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from adjudge.judges.failure import StorageError
from adjudge.judges.ledger import directory as cache_directory
from adjudge.judges.ledger.directory import filesystem, prepare

MOUNTS = (
    "/dev/vda / ext4 rw 0 0\n"
    "host:/export /home nfs4 rw 0 0\n"
    "tmpfs /home/ann/local tmpfs rw 0 0\n"
    "//host/share /mnt/two\\040words cifs rw 0 0\n"
)
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def prepared(path: Path) -> Path:
    return prepare(path, read_only=False, force=False)


def test_a_missing_directory_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    assert mode(prepared(tmp_path / "a" / "cache")) == 0o700


def test_a_directory_others_can_read_is_closed_to_them(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir(mode=0o755)

    assert mode(prepared(tmp_path / "cache")) == 0o700


@pytest.mark.parametrize("open_to", [0o770, 0o707, 0o777])
def test_a_directory_others_can_write_to_is_refused(tmp_path: Path, open_to: int) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(open_to)

    with pytest.raises(StorageError, match=r"others can write.*chmod 700"):
        prepared(tmp_path / "cache")


@AS_ROOT
def test_the_directory_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir(mode=0o700)
    os.chown(tmp_path / "cache", 12345, -1)

    with pytest.raises(StorageError, match="12345"):
        prepared(tmp_path / "cache")


@pytest.mark.parametrize("name", ["cache.db", "cache.db-wal", "leases"])
def test_a_link_in_place_of_a_file_of_the_cache_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "cache").mkdir(mode=0o700)
    (tmp_path / "cache" / name).symlink_to(tmp_path / "elsewhere")

    with pytest.raises(StorageError, match=name):
        prepared(tmp_path / "cache")


def test_a_file_in_place_of_the_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("")

    with pytest.raises(StorageError, match="cache"):
        prepared(tmp_path / "cache")


def test_a_name_that_diskcache_would_expand_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="variable"):
        prepared(tmp_path / "$HOME")


def test_reading_makes_and_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o755)
    prepare(tmp_path / "cache", read_only=True, force=False)

    assert mode(tmp_path / "cache") == 0o755


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/cache", "ext4"),
        ("/home/ann", "nfs4"),
        ("/home/ann/local/cache", "tmpfs"),
        ("/homeless", "ext4"),
        ("/mnt/two words/x", "cifs"),
    ],
)
def test_the_innermost_mount_names_the_file_system(path: str, kind: str) -> None:
    assert filesystem(Path(path), MOUNTS) == kind


def test_without_a_mount_table_the_file_system_is_unknown() -> None:
    assert filesystem(Path("/anywhere"), "") == ""


def test_a_network_file_system_is_refused_unless_forced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_directory, "_mounts", lambda: "host:/export / nfs4 rw 0 0\n")

    with pytest.raises(StorageError, match="nfs4"):
        prepared(tmp_path / "cache")

    assert prepare(tmp_path / "cache", read_only=False, force=True) == tmp_path / "cache"
