"""Whether a verdict costs much more than it has to: ratios of CPU time, each to a floor of the same minute.

    python benchmarks/guard.py

Ends with 1 if a ratio is above its limit in `limits.json`. The limits are generous: they are there for
a step that was done once and is now done for each verdict, not for a few per cent.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import cached
from contest import CONTENDERS, ENVIRONMENTS, FLOOR, HERE, Cost, measured, server


def main() -> None:
    """Measure both ratios, say them, and judge."""
    limits: dict[str, float] = json.loads((HERE / "limits.json").read_text())
    bad = False
    for (what, limit), ratio in zip(limits.items(), (live(), rerun()), strict=True):
        bad = bad or ratio > limit
        print(f"{what}: {ratio:.1f} (limit {limit:g}){' ABOVE ITS LIMIT' if ratio > limit else ''}")
    raise SystemExit(bad)


def live() -> float:
    """CPU of a verdict of `adjudge.run`, in that of the aiohttp floor; the least of two runs each."""
    ENVIRONMENTS.mkdir(exist_ok=True)
    by_name = {contender.name: contender for contender in CONTENDERS}
    with server() as base:
        ours, floor = (
            min(
                cost(measured(by_name[name], base, conversations=many, size=2048, concurrency=64)).each
                for _ in range(2)
            )
            for name, many in (("adjudge.run, library", 60), (FLOOR, 200))
        )
    return ours / floor


def cost(found: Cost | str) -> Cost:
    """`found`, which must be one."""
    if isinstance(found, str):
        raise SystemExit(found)
    return found


def rerun() -> float:
    """CPU of `adjudge run` with 2,000 verdicts that are all cached, in that of reading them from sqlite."""
    with tempfile.TemporaryDirectory() as place:
        desk = cached.filled(Path(place), 2000)
        ours = cached.least(3, *cached.command("run", desk))
        floor = cached.least(3, sys.executable, "-c", cached.FLOOR, str(desk))
    return ours.seconds / floor.seconds


if __name__ == "__main__":
    main()
