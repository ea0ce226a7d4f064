"""adjudge as a user runs it: `adjudge run` in a process of its own, with plan, verdict cache and results."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from adjudge_suite import good, written
from job import Ask, Conversation, Job, main


def contender(job: Job) -> Ask:
    """A new cache each time, but for a rerun."""
    script = str(Path(sys.executable).with_name("adjudge"))
    desk = Path(tempfile.mkdtemp())

    def ask(conversations: list[Conversation]) -> int:
        suite = written(job, conversations, within=desk if job.again else None)
        words = [script, "run", str(suite), "--out", str(suite.parent / ".adjudge")]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        return good(suite.parent)

    return ask


main(contender, processes=True)
