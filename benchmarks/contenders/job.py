"""The job that every contender does, and the one way its cost is told. Standard library only.

A contender is a script of this directory. It is called with one JSON object, the job, and prints another, the
cost:

    {"base": "http://127.0.0.1:1234", "conversations": 20, "size": 2048, "concurrency": 64, "again": false}
    {"verdicts": 200, "asked": 200, "cpu": 0.1, "seconds": 0.2, "startup": 0.5, "megabytes": 60}

Each script defines what is asked about a list of conversations and hands that to `main`. One conversation
goes first: it takes the imports and whatever else happens once, which is `startup`. The others are measured.
With `again` they are asked twice, and the second time is measured: a rerun.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import urllib.request
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass

ASKED = (
    "I ordered the walnut desk on the {n}th and its left drawer arrived cracked. Can you tell me what "
    "happens now, and whether I have to pay for sending it back? The order is W-{n}, under the name of Doe."
)
ANSWERED = (
    "Thank you for telling us. I have found order W-{n}: one walnut desk, delivered last week. Before we "
    "talk about a refund, please confirm the last four digits of the card it was paid with."
)
STATEMENTS = tuple(
    f"The agent {what}."
    for what in (
        "confirms the order number before it discusses the refund",
        "asks for the last four digits of the card",
        "is polite throughout",
        "never promises a date",
        "says that the order was delivered last week",
        "names the product that the customer ordered",
        "does not ask for the customer's password",
        "thanks the customer",
        "does not blame the customer for the crack",
        "answers in the language of the customer",
    )
)
INSTRUCTION = "You judge a conversation. Say in JSON whether the statement is true of it, with a reason."


@dataclass(frozen=True)
class Conversation:
    """One conversation: `turns` are chat messages."""

    id: str
    turns: list[dict[str, str]]

    @property
    def text(self) -> str:
        """All of it, a line a turn."""
        return "\n".join(f"{turn['role']}: {turn['content']}" for turn in self.turns)


@dataclass(frozen=True)
class Job:
    """What is to be done: `conversations` of `size` bytes, ten statements each, so many calls in flight."""

    base: str
    conversations: int
    size: int
    concurrency: int
    again: bool = False

    @property
    def api(self) -> str:
        """Base address of the OpenAI-compatible interface."""
        return f"{self.base}/v1"

    def made(self) -> Iterator[Conversation]:
        """The conversations, and one before them."""
        turns = max(2, round(self.size / 200))
        for number in range(self.conversations + 1):
            yield Conversation(
                f"c{number}",
                [
                    {
                        "role": ("user", "assistant")[turn % 2],
                        "content": (ASKED, ANSWERED)[turn % 2].format(n=number * turns + turn),
                    }
                    for turn in range(turns)
                ],
            )


Ask = Callable[[list[Conversation]], int]
"""Asks all statements of the conversations, and says how many verdicts came that are good."""


def main(contender: Callable[[Job], Ask], *, processes: bool = False) -> None:
    """Do the job of the command line and print its cost.

    Args:
        contender: imports what it needs and gives what asks.
        processes: each asking is a process with a start of its own, which is taken off what is measured.
    """
    os.environ.update(OPENAI_API_KEY="none", DO_NOT_TRACK="1")
    job = Job(**json.loads(sys.argv[1]))
    who = resource.RUSAGE_CHILDREN if processes else resource.RUSAGE_SELF
    with redirect_stdout(sys.stderr):
        ask = contender(job)
        first, *others = job.made()
        ask([first])
        startup = spent(who)
        if processes:
            ask([first])
            startup = min(startup, spent(who) - startup)
        if job.again:
            ask(others)
        stats(job)
        before = spent(who)
        verdicts = ask(others)
        cpu = spent(who) - before - (startup if processes else 0)
        seen = stats(job)
    cost = {
        "verdicts": verdicts,
        "asked": seen["requests"],
        "cpu": cpu,
        "seconds": seen["seconds"],
        "startup": startup,
        "megabytes": resource.getrusage(who).ru_maxrss / 1024,
    }
    print(json.dumps(cost), flush=True)
    os._exit(0)  # some take seconds to leave, which is nobody's cost of asking


def spent(who: int) -> float:
    """CPU seconds of this process, or of those it waited for."""
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def stats(job: Job) -> dict[str, float]:
    """What the server saw since it was asked last."""
    with urllib.request.urlopen(f"{job.base}/stats") as told:
        return json.load(told)


def chat(conversation: Conversation, statement: str) -> list[dict[str, str]]:
    """The messages that ask a floor's question."""
    asked = f"<conversation>\n{conversation.text}\n</conversation>\nStatement: {statement}"
    return [{"role": "system", "content": INSTRUCTION}, {"role": "user", "content": asked}]


def pairs(conversations: Iterable[Conversation]) -> Iterator[tuple[Conversation, str]]:
    """All that is to be asked, in order."""
    return ((conversation, statement) for conversation in conversations for statement in STATEMENTS)


async def pool(
    concurrency: int,
    conversations: list[Conversation],
    one: Callable[[Conversation, str], Awaitable[bool]],
) -> int:
    """Ask everything with so many workers; how many verdicts are good."""
    waiting = pairs(conversations)
    good = 0

    async def work() -> None:
        nonlocal good
        for conversation, statement in waiting:
            said = await one(conversation, statement)
            good += said

    await asyncio.gather(*(work() for _ in range(concurrency)))
    return good
