"""What this machine has of what a run needs. Says which keys are set, never what they are."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from adjudge.judges.failure import StorageError

PACKAGES = ("adjudge", "litellm", "pydantic", "tenacity", "diskcache", "aiohttp", "orjson")
COMPROMISED = {"litellm": ("1.82.7", "1.82.8")}
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "MISTRAL_API_KEY")
LITTLE_SPACE = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing looked at: `ok`, `-` where there is nothing to judge, or `look` where it hinders a run."""

    what: str
    said: str
    mark: Literal["ok", "-", "look"] = "ok"


def examine(home: Path, cache: Path) -> list[Finding]:
    """Look at Python, packages, keys, free space and the cache. Makes and changes nothing."""
    return [
        Finding(what="python", said=platform.python_version()),
        *_packages(),
        *_keys(),
        _space(home),
        _cache(cache),
    ]


def _packages() -> Iterator[Finding]:
    for name in PACKAGES:
        try:
            found = version(name)
        except PackageNotFoundError:
            yield Finding(what=name, said="not installed", mark="look")
            continue
        if found in COMPROMISED.get(name, ()):
            yield Finding(what=name, said=f"{found} is a compromised release: uninstall it now", mark="look")
        else:
            yield Finding(what=name, said=found)


def _keys() -> Iterator[Finding]:
    for name in KEYS:
        given = bool(os.environ.get(name, "").strip())
        yield Finding(what=name, said="set" if given else "not set", mark="ok" if given else "-")


def _space(home: Path) -> Finding:
    place = next(folder for folder in (home.absolute(), *home.absolute().parents) if folder.exists())
    free = shutil.disk_usage(place).free
    return Finding(
        what=f"free space at {place}",
        said=f"{free / 1e9:.1f} GB",
        mark="ok" if free >= LITTLE_SPACE else "look",
    )


def _cache(directory: Path) -> Finding:
    from adjudge.judges.ledger.ledger import Ledger

    what = f"cache {directory}"
    if not directory.exists():
        return Finding(what=what, said="not made yet", mark="-")
    warnings: list[str] = []
    try:
        with Ledger.open(directory, read_only=True, warn=warnings.append) as ledger:
            warnings += ledger.integrity()
    except StorageError as error:
        return Finding(what=what, said=str(error), mark="look")
    return Finding(what=what, said="; ".join(warnings) or "sound", mark="look" if warnings else "ok")
