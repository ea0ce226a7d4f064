"""A program for the tests of kills: asks a scripted judge so many questions through a ledger.

Arguments: directory of the cache, file that logs calls, run, how many questions, how many at once, the
longest a call takes in milliseconds (`-1`: for ever, and each says `asking`), and the statement of SQL before
which it kills itself (`0`: none). Prints `ready`, then the key of each answer as it is acknowledged, then
`done`. A call is logged, and so paid for, before it is answered.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sqlite3
import sys
from itertools import count
from pathlib import Path
from typing import Any

from adjudge.judges.failure import Failure, StorageError
from adjudge.judges.ledger.judge import LedgerJudge
from adjudge.judges.ledger.ledger import Ledger
from adjudge.judges.ledger.recorded import Recordings
from adjudge.judges.request import Evidence, JudgeRequest, Model, Prompt
from adjudge.judges.verdict import Answer, Attempt, Verdict
from adjudge.pipeline.grading.together import together

EVIDENCE = Evidence(text="", digest="e", turns=())
PROMPT = Prompt(name="p", system="", user="", digest="p")
MODEL = Model(name="openai/any")


def question(number: int) -> JudgeRequest:
    """The question of that number."""
    statements = (f"The agent says {number}.",)
    return JudgeRequest(
        evidence=EVIDENCE, statements=statements, prompt=PROMPT, model=MODEL, unit=str(number)
    )


class Paid:
    """Logs each call, takes its time, and finds everything met."""

    def __init__(self, log: Path, milliseconds: int) -> None:
        self._log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._milliseconds = milliseconds

    async def judge(self, request: JudgeRequest, /) -> Answer | Failure:
        os.write(self._log, request.key.encode() + b"\n")
        if self._milliseconds < 0:
            say("asking")
            await asyncio.Event().wait()
        await asyncio.sleep(random.uniform(0, self._milliseconds / 1000))
        return Answer(
            verdicts=(Verdict(decision="met", rationale=request.statements[0] * 20),), attempts=(Attempt(),)
        )


def say(text: str) -> None:
    """One line, whole, at once."""
    os.write(1, f"{text}\n".encode())


async def ask_all(judge: LedgerJudge, questions: int, at_once: int) -> None:
    """Ask every question, so many at once."""
    numbers = iter(range(questions))

    async def ask_on() -> None:
        for number in numbers:
            request = question(number)
            if isinstance(await judge.judge(request), Answer):
                say(request.key)

    await together(ask_on() for _ in range(at_once))


def die_before(statement: int) -> None:
    """Kill this process before its n-th statement of SQL, whoever makes it."""
    seen = count(1)

    def run(sql: str) -> None:
        if next(seen) == statement:
            os.kill(os.getpid(), signal.SIGKILL)

    def connect(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        connection = real(*args, **kwargs)
        connection.set_trace_callback(run)
        return connection

    real, sqlite3.connect = sqlite3.connect, connect


def main() -> int:
    """Run as described above; 4 if the disk fails."""
    directory, log, run, questions, at_once, milliseconds, statement = sys.argv[1:]
    die_before(int(statement))
    try:
        with Ledger.open(Path(directory)) as ledger:
            judge = LedgerJudge(Paid(Path(log), int(milliseconds)), ledger, Recordings(), run=run)
            say("ready")
            asyncio.run(ask_all(judge, int(questions), int(at_once)))
    except StorageError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    say("done")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
