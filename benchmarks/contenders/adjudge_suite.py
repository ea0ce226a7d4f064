"""The suite that adjudge is given: the job's conversations as JSON lines, ten statements, one judge."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from job import STATEMENTS, Conversation, Job


def written(job: Job, conversations: list[Conversation], *, within: Path | None = None) -> Path:
    """The suite, in a directory of its own, or anew in `within`."""
    desk = within or Path(tempfile.mkdtemp())
    with (desk / "conversations.jsonl").open("w") as file:
        for talk in conversations:
            file.write(json.dumps({"id": talk.id, "messages": talk.turns}) + "\n")
    judge = {"model": "openai/judge", "api_base": job.api, "max_concurrency": job.concurrency}
    grader = {"name": "behaviour", "type": "statements", "judge": "main", "statements": list(STATEMENTS)}
    suite = {
        "name": "benchmark",
        "conversations": ["conversations.jsonl"],
        "judges": {"main": judge},
        "graders": [grader],
    }
    (desk / "suite.yaml").write_text(json.dumps(suite))
    return desk / "suite.yaml"


def good(desk: Path) -> int:
    """How many verdicts of the last run of `desk` are `met`."""
    last = max((desk / ".adjudge" / "runs").iterdir(), key=lambda run: run.stat().st_mtime_ns)
    with (last / "results.jsonl").open() as rows:
        return sum(json.loads(row)["grades"][0]["met"] or 0 for row in rows)
