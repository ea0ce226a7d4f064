"""How many verdicts a second a run gets from a judge that takes its time, and how many it could.

    python benchmarks/throughput.py [--at 64 256] [--verdicts 3000 6000] [--latency 0.5]

A server in a process of its own answers every request after `--latency` seconds. `adjudge run` asks it as a
user does: ten statements a conversation of about 2 KB, verdicts stored in a cache on the disk, plan to exit
code. The ideal is requests in flight over latency.

`asking` is from the first request's arrival to the last reply's departure: slow start, tail and
everything between. `whole` is the process, with its imports and reports.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path

STATEMENTS = 10
TALK = (
    "I ordered the walnut desk on the {n}th and its left drawer arrived cracked. Can you tell me what is "
    "next, and whether I have to pay for sending it back? The order is W-{n}, under the name of Doe."
)
VERDICT = {"id": "s1", "rationale": "It does so in turn 2.", "citations": [], "decision": "met"}
SAID = {"role": "assistant", "content": json.dumps({"verdicts": [VERDICT]})}
BODY = json.dumps(
    {
        "id": "1",
        "object": "chat.completion",
        "model": "any",
        "choices": [{"index": 0, "finish_reason": "stop", "message": SAID}],
        "usage": {"prompt_tokens": 800, "completion_tokens": 60},
    }
).encode()
RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (
    len(BODY),
    BODY,
)


class Serving(asyncio.Protocol):
    """One connection: whatever is posted is answered after a while, one request at a time."""

    def __init__(self, latency: float, seen: list[float]) -> None:
        self._latency, self._seen = latency, seen
        self._read = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep `transport`."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Count what arrived; a whole request is answered later."""
        self._read += data
        head, found, body = self._read.partition(b"\r\n\r\n")
        if found and len(body) >= int(head.lower().partition(b"content-length:")[2].partition(b"\r")[0]):
            self._read = b""
            self._seen.append(time.monotonic())
            asyncio.get_running_loop().call_later(self._latency, self._answer)

    def _answer(self) -> None:
        if isinstance(self._transport, asyncio.WriteTransport):
            self._transport.write(RESPONSE)
            self._seen.append(time.monotonic())


def serve(latency: float, told: Connection) -> None:
    """Serve until told to stop; say the port first and, at the end, when the first and the last thing was."""

    async def until_told() -> None:
        seen: list[float] = []
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Serving(latency, seen), "127.0.0.1", 0, backlog=1024)
        told.send(server.sockets[0].getsockname()[1])
        await loop.run_in_executor(None, told.recv)
        told.send((seen[0], seen[-1], len(seen) // 2))

    asyncio.run(until_told())


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--at", type=int, nargs="*", default=[64, 256])
    parser.add_argument("--verdicts", type=int, nargs="*", default=[3000, 6000])
    parser.add_argument("--latency", type=float, default=0.5)
    options = parser.parse_args()
    print("| in flight | verdicts | ideal /s | asking /s | share | whole /s | share | CPU s |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|")
    for at, verdicts in zip(options.at, options.verdicts, strict=True):
        with tempfile.TemporaryDirectory() as place:
            print(measured(Path(place), at, verdicts, options.latency), flush=True)


def measured(desk: Path, at: int, verdicts: int, latency: float) -> str:
    """A line of the table."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(latency, theirs), daemon=True)
    process.start()
    write(desk, f"http://127.0.0.1:{ours.recv()}/v1", at, verdicts)
    began = time.monotonic()
    script = str(Path(sys.executable).with_name("adjudge"))
    words = [script, "run", str(desk / "suite.yaml"), "--out", str(desk / ".adjudge")]
    running = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(running.pid, 0)
    whole = time.monotonic() - began
    running.returncode = os.waitstatus_to_exitcode(status)
    ours.send(None)
    first, last, calls = ours.recv()
    process.join()
    if running.returncode or calls != verdicts:
        raise SystemExit(f"the run ended with {running.returncode} after {calls} calls")
    ideal = at / latency
    asking, through = verdicts / (last - first), verdicts / whole
    left = f"| {at} | {verdicts:,} | {ideal:.0f} | {asking:.1f} | {asking / ideal:.1%} "
    return f"{left}| {through:.1f} | {through / ideal:.1%} | {used.ru_utime + used.ru_stime:.1f} |"


def write(desk: Path, base: str, at: int, verdicts: int) -> None:
    """Write the suite and its conversations into `desk`."""
    with (desk / "conversations.jsonl").open("w") as file:
        for number in range(verdicts // STATEMENTS):
            said = [
                {"role": ("user", "assistant")[turn % 2], "content": TALK.format(n=number * 10 + turn)}
                for turn in range(9)
            ]
            file.write(json.dumps({"id": f"c{number}", "messages": said}) + "\n")
    statements = [f"Statement {n} holds of what the agent says about the order." for n in range(STATEMENTS)]
    judge = {"model": "openai/any", "api_base": base, "max_concurrency": at}
    grader = {"name": "behaviour", "type": "statements", "judge": "main", "statements": statements}
    suite = {
        "name": "throughput",
        "conversations": ["conversations.jsonl"],
        "judges": {"main": judge},
        "graders": [grader],
    }
    (desk / "suite.yaml").write_text(json.dumps(suite))


if __name__ == "__main__":
    main()
