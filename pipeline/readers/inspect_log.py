"""Inspect AI logs: `.json`, or `.eval`, which is a zip with a file a sample."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile
from zlib import error as ZlibError  # noqa: N812 - every other error is called so

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.plain import as_text, items, mapping
from adjudge.pipeline.readers import zstd
from adjudge.pipeline.readers.inspect_sample import sample_fields
from adjudge.pipeline.readers.runs import one_a_run
from adjudge.pipeline.readers.source import (
    MAX_RECORD,
    NotJsonError,
    Record,
    Source,
    Unreadable,
    first_of,
    parse,
)

name = "inspect_log"

_ZIP = b"PK\x03\x04"
_NAME_AT = 30
"""Where in a zip the name of its first member stands."""

_MEMBER = re.compile(rb"_journal/|samples/|header\.json|summaries\.json|reductions\.json|results\.json")
_SAMPLE = re.compile(r"samples/(.+)_epoch_(\d+)\.json")
_CHUNKED = re.compile(r"samples/.+_epoch_\d+/sample\.json")
_DAMAGE = (BadZipFile, EOFError, KeyError, NotImplementedError, OSError, RuntimeError, ValueError, ZlibError)
"""What a zip raises that is damaged, or meant to do damage."""

_CONVERT = "convert the log with 'inspect log convert --to json'"


def recognises(value: Any) -> bool:
    """Whether the file is a zip that begins with a member of a log, or the first record is a log."""
    if isinstance(value, bytes):
        return value.startswith(_ZIP) and _MEMBER.match(value, _NAME_AT) is not None
    log = mapping(first_of(value))
    return {"version", "status", "eval"} <= log.keys() and "task" in mapping(log["eval"])


def read(source: Source) -> Iterator[Conversation | Unreadable]:
    """A conversation from each sample of each epoch."""
    if _is_packed(source):
        yield from _of_zip(source)
        return
    for record in source.records():
        if isinstance(record, Record):
            log = mapping(record.value)
            samples = items(log.get("samples"))
            if not samples:
                yield source.unreadable(record.line, _without_samples(log))
            yield from one_a_run(source, record.line, samples, partial(sample_fields, source, log))
        else:
            yield record


def _is_packed(source: Source) -> bool:
    try:
        with source.path.open("rb") as file:
            return file.read(len(_ZIP)) == _ZIP
    except OSError:
        return False


def _of_zip(source: Source) -> Iterator[Conversation | Unreadable]:
    try:
        with ZipFile(source.path) as archive:
            members = sorted(dict.fromkeys(archive.namelist()), key=_place)
            start = "header.json" if "header.json" in members else "_journal/start.json"
            log = mapping(_member(source, archive, start))
            samples = [
                member for member in members if _SAMPLE.fullmatch(member) or _CHUNKED.fullmatch(member)
            ]
            if not samples:
                yield source.unreadable(None, _without_samples(log))
            for member in samples:
                yield from _of_member(source, archive, member, log)
    except _DAMAGE as error:
        yield source.unreadable(None, f"not a log that can be read: {error}")


def _of_member(
    source: Source, archive: ZipFile, member: str, log: dict[str, Any]
) -> Iterator[Conversation | Unreadable]:
    try:
        if _CHUNKED.fullmatch(member):
            raise NotJsonError(f"a sample in chunks; {_CONVERT}")
        sample = _member(source, archive, member)
    except _DAMAGE as error:
        yield source.unreadable(None, f"{member!r}: {error}")
    else:
        yield from one_a_run(source, None, [sample], partial(sample_fields, source, log))


def _place(member: str) -> tuple[int, int, str]:
    """Where a sample stands: by epoch, then by id, numbers in their order."""
    match = _SAMPLE.fullmatch(member)
    if match is None:
        return 0, 0, member
    return int(match[2]), int(match[1]) if match[1].isdecimal() else 0, member


def _member(source: Source, archive: ZipFile, member: str) -> Any:
    about = archive.getinfo(member)
    if about.file_size > MAX_RECORD:
        raise NotJsonError(f"larger than {MAX_RECORD >> 20} MiB")
    if about.compress_type == zstd.METHOD:
        return parse(zstd.unpacked(source.path, about))
    if about.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise NotJsonError(
            f"packed in a way that can't be read here (method {about.compress_type}); {_CONVERT}"
        )
    return parse(archive.read(member))


def _without_samples(log: dict[str, Any]) -> str:
    return f"the log has no samples (its status is {as_text(log.get('status'))!r})"
