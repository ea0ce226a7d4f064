"""Members of zip archives that are packed with Zstandard (method 93), which Python's zipfile can't undo."""

from __future__ import annotations

from pathlib import Path
from struct import unpack
from zipfile import BadZipFile, ZipInfo
from zlib import crc32

METHOD = 93

_HEADER = b"PK\x03\x04"
_HEADER_SIZE = 30
_LARGEST_WINDOW = 128 << 20


def unpacked(path: Path, member: ZipInfo) -> bytes:
    """The content of a member of the archive at `path`: as many bytes as `member` says, and no more is made.

    Raises:
        BadZipFile: it is encrypted, damaged, or of another size than the archive says.
    """
    from zstandard import ZstdDecompressor, ZstdError

    if member.flag_bits & 1:
        raise BadZipFile(f"{member.filename!r} is encrypted")
    with path.open("rb") as file:
        file.seek(member.header_offset)
        header = file.read(_HEADER_SIZE)
        if len(header) < _HEADER_SIZE or not header.startswith(_HEADER):
            raise BadZipFile(f"{member.filename!r} is not where the archive says")
        file.seek(sum(unpack("<HH", header[-4:])), 1)
        packed = file.read(member.compress_size)
    undo = ZstdDecompressor(max_window_size=_LARGEST_WINDOW)
    try:
        with undo.stream_reader(packed, read_across_frames=True) as stream:
            content = stream.read(member.file_size + 1)
    except ZstdError as error:
        raise BadZipFile(f"{member.filename!r} is damaged: {error}") from None
    if len(content) != member.file_size or crc32(content) != member.CRC:
        raise BadZipFile(f"{member.filename!r} is damaged: it is not what the archive says")
    return content
