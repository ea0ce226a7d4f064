"""What `adjudge convert`, `adjudge conversations` and `adjudge init` do."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.display import visible
from adjudge.pipeline.files import whole_file
from adjudge.pipeline.policy import NOTHING, UNDECIDED
from adjudge.pipeline.readers.source import Unreadable
from adjudge.pipeline.reports.listing import convert, everything, listed, named, readings


def convert_files(paths: Sequence[Path], form: str, to: Path | None) -> int:
    """Write files as native JSONL. Returns 0, or 3 where a record could not be read.

    Raises:
        UsageError: a file can't be read, or its format is not known.
        StorageError: `to` can't be written.
    """
    found = everything(paths, form)
    if to is None:
        unreadable = convert(found, sys.stdout.buffer)
    else:
        with whole_file(to) as file:
            unreadable = convert(found, file)
    _say(unreadable)
    return UNDECIDED if unreadable else 0


def list_files(paths: Sequence[Path], form: str) -> int:
    """Print what files hold. Returns 0, 3 where a record could not be read, 5 where there was none.

    Raises:
        UsageError: a file can't be read, or its format is not known.
    """
    count, unreadable = 0, list[Unreadable]()
    for reading in readings(paths, form):
        sys.stdout.write(named([str(file) for file in reading.files], reading.format) + "\n")
        for found in reading.records:
            if isinstance(found, Conversation):
                count += 1
                sys.stdout.write(listed(found) + "\n")
            else:
                unreadable.append(found)
    sys.stdout.write(f"{count} conversations, {len(unreadable)} records that could not be read\n")
    _say(unreadable)
    if unreadable:
        return UNDECIDED
    return 0 if count else NOTHING


def init(directory: Path, source: Path | None) -> int:
    """Write a suite to start from into `directory`. Returns 0, or 3 where a record could not be read.

    Raises:
        UsageError, StorageError: see `write_starter` and `seed_suite`.
    """
    if source is None:
        from adjudge.pipeline.suite.starter import write_starter

        _say_files(write_starter(directory))
        return 0
    from adjudge.pipeline.seeding import seed_suite

    seeded = seed_suite(directory, source)
    for line in seeded.left_out:
        sys.stderr.write(f"adjudge: warning: not taken over: {visible(line)}\n")
    _say(seeded.unreadable)
    _say_files(seeded.files)
    found = f"{seeded.statements} statements were taken over"
    sys.stderr.write(f"{found}\n" if seeded.statements else f"adjudge: warning: {found}; write some\n")
    return UNDECIDED if seeded.unreadable else 0


def _say_files(files: Sequence[Path]) -> None:
    for path in files:
        sys.stdout.write(f"{visible(str(path))}\n")
    sys.stderr.write(f"\nNow: adjudge run {visible(str(files[0]))}\n")


def _say(unreadable: Sequence[Unreadable]) -> None:
    for record in unreadable:
        sys.stderr.write(f"adjudge: warning: {visible(str(record))}\n")
