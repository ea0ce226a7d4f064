"""Logs packed with Zstandard are read as others are; what claims to be one and is not is refused."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from zipfile import ZIP_STORED, BadZipFile, ZipFile
from zlib import crc32

import pytest
from zstandard import ZstdCompressor

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.evidence import render
from adjudge.pipeline.readers import read_conversations
from adjudge.pipeline.readers.source import Unreadable
from adjudge.pipeline.readers.zstd import METHOD, unpacked

REAL = Path(__file__).parents[1] / "data" / "readers" / "inspect_log" / "log_formats.eval"


def archive(path: Path, members: Mapping[str, bytes], **lies: int) -> Path:
    """A zip whose members are packed with Zstandard. `lies`: what it says of each in place of the truth."""
    packed = {name: ZstdCompressor().compress(content) for name, content in members.items()}
    with ZipFile(path, "w", compression=ZIP_STORED) as written:
        for name, content in packed.items():
            written.writestr(name, content)
    whole = bytearray(path.read_bytes())
    with ZipFile(path) as stored:
        entries = [(entry.header_offset, entry.filename) for entry in stored.infolist()]
        central = stored.start_dir
    for offset, name in entries:
        content = members[name]
        flags, crc = lies.get("flags", 0), lies.get("crc", crc32(content))
        about = (crc, len(packed[name]), lies.get("size", len(content)))
        for place in (offset + 6, central + 8):
            struct.pack_into("<HH", whole, place, flags, METHOD)
            struct.pack_into("<III", whole, place + 8, *about)
        central += 46 + len(name.encode())
    path.write_bytes(whole)
    return path


def first_fault(path: Path) -> str:
    (found,) = read_conversations(path, "inspect_log")
    assert isinstance(found, Unreadable)
    return found.reason


def test_a_log_is_the_same_however_it_is_packed(tmp_path: Path) -> None:
    with ZipFile(REAL) as real:
        members = {name: real.read(name) for name in real.namelist()}
    repacked = archive(tmp_path / REAL.name, members)

    shown = [render(run).text for run in read_conversations(repacked) if isinstance(run, Conversation)]

    assert shown
    assert shown == [render(run).text for run in read_conversations(REAL) if isinstance(run, Conversation)]


def test_a_bomb_is_no_more_than_the_archive_says_it_is(tmp_path: Path) -> None:
    bomb = archive(tmp_path / "bomb.eval", {"header.json": bytes(64 << 20)}, size=1000)

    assert bomb.stat().st_size < 10_000
    assert "not what the archive says" in first_fault(bomb)


def test_a_member_that_says_it_is_huge_is_not_unpacked(tmp_path: Path) -> None:
    huge = archive(tmp_path / "huge.eval", {"header.json": b"{}"}, size=1 << 30)

    assert "larger than 256 MiB" in first_fault(huge)


@pytest.mark.parametrize(
    ("lies", "why"),
    [({"crc": 1}, "damaged"), ({"size": 1}, "damaged"), ({"flags": 1}, "encrypted")],
    ids=["sum", "size", "encrypted"],
)
def test_a_member_that_is_not_what_the_archive_says_is_refused(
    tmp_path: Path, lies: dict[str, int], why: str
) -> None:
    assert why in first_fault(archive(tmp_path / "log.eval", {"header.json": b"{}"}, **lies))


def test_what_is_not_packed_with_zstandard_after_all_is_refused(tmp_path: Path) -> None:
    file = archive(tmp_path / "log.eval", {"header.json": b"{}"})
    file.write_bytes(file.read_bytes().replace(b"\x28\xb5\x2f\xfd", b"noth"))

    with ZipFile(file) as opened, pytest.raises(BadZipFile, match="damaged"):
        unpacked(file, opened.getinfo("header.json"))
