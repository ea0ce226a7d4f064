"""Images, audio and files that stand in a conversation's parts, looked at before they are passed on."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from hashlib import sha256

from adjudge.judges.media import Media, MediaKind
from adjudge.pipeline.conversation import Part
from adjudge.pipeline.plain import is_mapping

LARGEST = 5 << 20
"""Bytes of one piece of media that are passed on at most."""

LARGEST_IN_ALL = 20 << 20
"""Bytes of media of one conversation that are passed on at most."""

_TYPES = frozenset(
    {"image", "image_url", "input_image", "audio", "input_audio", "file", "input_file", "document", "video"}
)
_DATA_KEYS = frozenset({"data", "file_data"})
_ADDRESS_KEYS = frozenset({"url", "uri", "image_url", "file_uri", "fileUri", "file_url"})
_DEPTH = 3

_MAGIC: tuple[tuple[bytes, MediaKind, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image", "image/png"),
    (b"\xff\xd8\xff", "image", "image/jpeg"),
    (b"GIF87a", "image", "image/gif"),
    (b"GIF89a", "image", "image/gif"),
    (b"ID3", "audio", "audio/mpeg"),
    (b"\xff\xfb", "audio", "audio/mpeg"),
    (b"\xff\xf3", "audio", "audio/mpeg"),
    (b"\xff\xf2", "audio", "audio/mpeg"),
    (b"%PDF-", "file", "application/pdf"),
)
_RIFF: dict[bytes, tuple[MediaKind, str]] = {
    b"WEBP": ("image", "image/webp"),
    b"WAVE": ("audio", "audio/wav"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """Media whose bytes stand in the conversation.

    Attributes:
        kind: by what its bytes are, whatever the conversation calls it.
        media_type: the same, in full.
        content: the bytes.
    """

    kind: MediaKind
    media_type: str
    content: bytes


class Passing:
    """The media of one conversation that is passed on to a judge.

    Attributes:
        media: what is passed on so far, in the order of the turns.
    """

    def __init__(self, takes: Collection[MediaKind]) -> None:
        """For a judge that takes media of these kinds."""
        self.media: list[Media] = []
        self._takes = takes
        self._bytes = 0

    def add(self, turn: int, part: Part) -> Media | str | None:
        """The media in a part of a turn; why none is passed on; None where the part is no media at all."""
        found = embedded(part)
        why = self._refused(found) if isinstance(found, Embedded) else found
        if not isinstance(found, Embedded) or why is not None:
            return why
        before = sum(1 for media in self.media if media.turn == turn and media.kind == found.kind)
        media = Media(
            kind=found.kind,
            turn=turn,
            number=before + 1,
            media_type=found.media_type,
            data=base64.b64encode(found.content).decode(),
            digest=sha256(found.content).hexdigest(),
        )
        self.media.append(media)
        self._bytes += len(found.content)
        return media

    def _refused(self, found: Embedded) -> str | None:
        if found.kind not in self._takes:
            return f"the judge takes no {'audio' if found.kind == 'audio' else found.kind + 's'}"
        if self._bytes + len(found.content) > LARGEST_IN_ALL:
            return f"the conversation has more than {LARGEST_IN_ALL >> 20} MiB of media"
        return None


def embedded(part: Part) -> Embedded | str | None:
    """The media in `part`; why there is none to pass on; None where the part is no media at all.

    Only what stands in the part is used: an address is never fetched, a file is never opened. The bytes must
    be what judges take: PNG, JPEG, GIF or WebP, WAV or MP3, PDF.
    """
    strings = list(_strings(part.model_extra or {}, _DEPTH))
    bare = _DATA_KEYS if part.type in _TYPES else frozenset[str]()
    data = next((found for key, text in strings if (found := _encoded(key, text, bare))), None)
    if data is not None:
        return _read(data)
    if part.type not in _TYPES or part.text:
        return None
    if any(key in _ADDRESS_KEYS for key, _ in strings):
        return "it is elsewhere, and addresses are not fetched"
    return "its data is not in the record"


def _strings(value: dict[str, object], depth: int) -> Iterator[tuple[str, str]]:
    """The strings in a part with their keys, down to some depth: formats wrap media in an object or two."""
    for key, inner in value.items():
        if isinstance(inner, str):
            yield key, inner
        elif is_mapping(inner) and depth > 1:
            yield from _strings(inner, depth - 1)


def _encoded(key: str, text: str, bare: frozenset[str]) -> str | None:
    """The base64 in a string of a part: of a data URL, or all of it under one of the keys `bare`."""
    if text[:5].lower() == "data:":
        return text.partition(",")[2]
    return text if key in bare else None


def _read(data: str) -> Embedded | str:
    if len(data) > LARGEST * 3 // 2:
        return _too_large()
    try:
        packed = "".join(data.split()).translate(str.maketrans("-_", "+/"))
        content = base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True)
    except (binascii.Error, ValueError):
        return "its data is not base64"
    if len(content) > LARGEST:
        return _too_large()
    found = _what_it_is(content)
    if found is None:
        return "its bytes are no PNG, JPEG, GIF, WebP, WAV, MP3 or PDF"
    kind, media_type = found
    return Embedded(kind=kind, media_type=media_type, content=content)


def _too_large() -> str:
    return f"it is larger than {LARGEST >> 20} MiB"


def _what_it_is(content: bytes) -> tuple[MediaKind, str] | None:
    if content[:4] == b"RIFF":
        return _RIFF.get(content[8:12])
    return next(((kind, name) for magic, kind, name in _MAGIC if content.startswith(magic)), None)
