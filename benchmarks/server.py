"""A judge server on loopback that costs little and does no more than answer.

    python benchmarks/server.py [--latency SECONDS] [--sigma SIGMA] [--seed N]

Prints its address, then serves until it is ended. It speaks the OpenAI chat completions shape and
fills in whatever is asked for: the JSON schema of a response format or of a tool, the letter of a grade, or a
JSON object. Every answer is the good one: met, true, 1. Each is sent after `--latency` seconds, or after a
log-normal time with that median and `--sigma`, drawn from `--seed`.

`GET /stats` tells how many requests came since it was asked last, and the seconds from the first request's
arrival to the last answer's departure.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
import time
from dataclasses import dataclass, field
from typing import Any

import orjson

GOOD = ("met", "correct", "pass", "yes", "Y", "C", "A", "true")
TEXT = {"reason": "It does so in turn 2.", "pass": True, "score": 1, "value": "met"}
LOGPROBS = [
    {
        "token": "1",
        "logprob": 0.0,
        "bytes": [49],
        "top_logprobs": [{"token": str(n), "logprob": float(-n), "bytes": None} for n in range(1, 21)],
    }
]


@dataclass(slots=True, kw_only=True)
class Stats:
    """What the server saw: `requests`, and when the `first` came and the `last` answer went (monotonic)."""

    requests: int = 0
    first: float = 0.0
    last: float = 0.0


@dataclass(slots=True, kw_only=True)
class Serving:
    """What all connections share.

    Attributes:
        latency: seconds before an answer; the median where `sigma` is above 0.
        answers: bodies made so far, by what was asked for.
    """

    latency: float
    sigma: float
    random: random.Random
    stats: Stats = field(default_factory=Stats)
    answers: dict[bytes, bytes] = field(default_factory=dict[bytes, bytes])

    def wait(self) -> float:
        """Seconds until the next answer."""
        return self.latency * math.exp(self.random.gauss(0, self.sigma)) if self.sigma else self.latency

    def told(self) -> bytes:
        """The stats as a response; they begin anew."""
        stats, self.stats = self.stats, Stats()
        return response(orjson.dumps({"requests": stats.requests, "seconds": stats.last - stats.first}))

    def answer(self, body: bytes) -> bytes:
        """The response to the request `body`."""
        asked = orjson.loads(body)
        wanted = asked.get("tools"), asked.get("response_format"), asked.get("logprobs")
        grade = not any(wanted) and b"GRADE: " in body
        key = orjson.dumps((*wanted, grade))
        if key not in self.answers:
            self.answers[key] = response(json.dumps(completion(*wanted, grade)).encode())
        return self.answers[key]


class Connection(asyncio.Protocol):
    """One connection, kept alive: requests are answered one after the other."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._read = bytearray()
        self._needed = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep `transport`."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Take what arrived; answer once a request is whole."""
        self._read += data
        if len(self._read) < self._needed:
            return
        head, found, body = bytes(self._read).partition(b"\r\n\r\n")
        if not found:
            return
        length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
        self._needed = len(head) + 4 + int(length or 0)
        if len(self._read) < self._needed:
            return
        self._read.clear()
        self._needed = 0
        if head.startswith(b"GET "):
            self._write(self._serving.told())
            return
        stats = self._serving.stats
        stats.requests += 1
        stats.first = stats.first or time.monotonic()
        answer = self._serving.answer(body)
        wait = self._serving.wait()
        if wait:
            asyncio.get_running_loop().call_later(wait, self._send, answer)
        else:
            self._send(answer)

    def _send(self, answer: bytes) -> None:
        self._serving.stats.last = time.monotonic()
        self._write(answer)

    def _write(self, answer: bytes) -> None:
        if isinstance(self._transport, asyncio.WriteTransport):
            self._transport.write(answer)


def response(body: bytes) -> bytes:
    """`body` as a response that is read as JSON."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def completion(tools: Any, wanted: Any, logprobs: Any, grade: bool) -> dict[str, Any]:
    """A chat completion: a tool is called, a schema filled, a grade or an object written, as asked."""
    message: dict[str, Any] = {"role": "assistant", "content": None}
    if tools:
        function = tools[0]["function"]
        filled = json.dumps(instance(function["parameters"], function["parameters"]))
        called = {"name": function["name"], "arguments": filled}
        message["tool_calls"] = [{"id": "call_1", "type": "function", "function": called}]
    elif wanted and wanted["type"] == "json_schema":
        schema = wanted["json_schema"]["schema"]
        message["content"] = json.dumps(instance(schema, schema))
    else:
        message["content"] = "It does so in turn 2.\nGRADE: C" if grade else json.dumps(TEXT)
    choice: dict[str, Any] = {
        "index": 0,
        "finish_reason": "tool_calls" if tools else "stop",
        "message": message,
    }
    choice["logprobs"] = {"content": LOGPROBS} if logprobs else None
    usage = {"prompt_tokens": 800, "completion_tokens": 60, "total_tokens": 860}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "judge",
        "choices": [choice],
        "usage": usage,
    }


def instance(schema: Any, root: Any) -> Any:
    """A value that `schema` allows, and the good one where there is a choice."""
    if "$ref" in schema:
        return instance(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    if "enum" in schema:
        return next((good for good in GOOD if good in schema["enum"]), schema["enum"][0])
    if "const" in schema:
        return schema["const"]
    if "anyOf" in schema:
        return instance(schema["anyOf"][0], root)
    if "properties" in schema:
        filled: dict[str, Any] = {
            name: [] if name == "citations" else instance(part, root)
            for name, part in schema["properties"].items()
        }
        return filled
    kind = schema.get("type")
    if kind == "array":
        return [instance(schema["items"], root)]
    plain: dict[Any, Any] = {"boolean": True, "integer": 1, "number": 1}
    return plain.get(kind, "It does so in turn 2.")


async def serve(serving: Serving) -> None:
    """Serve on a free port of loopback, and print the address."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(serving), "127.0.0.1", 0, backlog=1024)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


def main() -> None:
    """Read the options and serve."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--latency", type=float, default=0.0)
    parser.add_argument("--sigma", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    drawn = random.Random(options.seed)
    asyncio.run(serve(Serving(latency=options.latency, sigma=options.sigma, random=drawn)))


if __name__ == "__main__":
    main()
