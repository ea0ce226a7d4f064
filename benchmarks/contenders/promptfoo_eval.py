"""promptfoo: `promptfoo eval` a process, a test a conversation with ten llm-rubric assertions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from job import STATEMENTS, Ask, Conversation, Job, main

AT_ONCE = 3
"""Assertions of one test that it asks at a time, as it comes."""


def contender(job: Job) -> Ask:
    """Telemetry, updates and sharing off; its database in a directory of its own."""
    script = Path(__file__).parents[2] / ".benchmarks/promptfoo/node_modules/.bin/promptfoo"
    desk = Path(tempfile.mkdtemp())
    off = ("TELEMETRY", "UPDATE", "REMOTE_GENERATION", "SHARING", "DEBUG_LOG", "ERROR_LOG")
    environment = os.environ | {f"PROMPTFOO_DISABLE_{what}": "1" for what in off}
    environment["PROMPTFOO_CONFIG_DIR"] = str(desk)

    def ask(conversations: list[Conversation]) -> int:
        config = {"apiBaseUrl": job.api, "apiKey": "none"}
        judge = {"id": "openai:chat:judge", "config": config}
        suite = {
            "prompts": ["{{text}}"],
            "providers": ["echo"],
            "defaultTest": {"options": {"provider": judge}},
            "tests": [
                {
                    "vars": {"text": talk.text},
                    "assert": [{"type": "llm-rubric", "value": statement} for statement in STATEMENTS],
                }
                for talk in conversations
            ],
        }
        (desk / "suite.json").write_text(json.dumps(suite))
        words = [str(script), "eval", "-c", "suite.json", "-o", "out.json", "--no-table", "--no-progress-bar"]
        words += ["-j", str(max(1, job.concurrency // AT_ONCE))] + ["--no-cache"] * (not job.again)
        subprocess.run(words, check=True, stdout=sys.stderr, cwd=desk, env=environment)
        rows = json.loads((desk / "out.json").read_text())["results"]["results"]
        return sum(found["pass"] for row in rows for found in row["gradingResult"]["componentResults"])

    return ask


main(contender, processes=True)
