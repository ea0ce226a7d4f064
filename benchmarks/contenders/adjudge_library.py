"""adjudge from Python: `adjudge.run`, plan, verdict cache and results included; its imports are start-up."""

from __future__ import annotations

import tempfile
from pathlib import Path

from adjudge_suite import good, written
from job import Ask, Conversation, Job, main


def contender(job: Job) -> Ask:
    """A new cache each time, but for a rerun."""
    import adjudge

    desk = Path(tempfile.mkdtemp())

    def ask(conversations: list[Conversation]) -> int:
        suite = written(job, conversations, within=desk if job.again else None)
        adjudge.run(suite, out=suite.parent / ".adjudge")
        return good(suite.parent)

    return ask


main(contender)
