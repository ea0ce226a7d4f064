"""A loopback model server that answers, fails and stalls as told: for testing suites without a model.

```python
from adjudge.testing import FaultServer, Reply, met, not_met

async with FaultServer([Reply(status=503), not_met()]) as server:  # 503 once, then "not met" for ever
    ...  # a judge with model "openai/any" and api_base server.url
    assert server.calls["The agent confirms the order number."] == 2
```

`with FaultServer(...) as server:` runs it in a thread, for synchronous tests. It speaks OpenAI chat
completions, Anthropic messages, Gemini generateContent and Ollama chat, chosen by the path of each request.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Self

from adjudge._replies import Fault, Reply, Request, response, verdicts

__all__ = ["Fault", "FaultServer", "Reply", "Request", "Script", "met", "not_met", "says", "verdicts"]

_TRICKLE_SECONDS = 0.01


Script = Callable[[Request], Reply] | Sequence[Reply] | Reply | None
"""One reply for ever, replies in turn (the last repeats), or a function of the request."""


def met() -> Reply:
    """Every statement asked about is met."""
    return Reply()


def not_met() -> Reply:
    """No statement asked about is met."""
    return Reply(decision="not_met")


def says(text: str, *, finish: str | None = "stop") -> Reply:
    """The model says `text`."""
    return Reply(text=text, finish=finish)


class FaultServer:
    """A model server on 127.0.0.1 that follows a script.

    Attributes:
        requests: what was received, oldest first (empty with `keep=False`).
        calls: how often each statement text was asked about.
        count: how many requests were received.
    """

    def __init__(self, script: Script = None, *, keep: bool = True, port: int = 0) -> None:
        """Serve `script`.

        Args:
            script: what is answered.
            keep: whether requests are kept; else they are only counted, for benchmarks.
            port: where to listen; 0 takes a free one.
        """
        self.requests: list[Request] = []
        self.calls: Counter[str] = Counter()
        self.count = 0
        self._script = script
        self._keep = keep
        self._port = port
        self._serving: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread: threading.Thread | None = None
        self._stop: Callable[[], object] = lambda: None

    @property
    def origin(self) -> str:
        """`http://127.0.0.1:port`."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def url(self) -> str:
        """The `api_base` of an OpenAI-compatible judge: `origin` with `/v1`."""
        return f"{self.origin}/v1"

    async def __aenter__(self) -> Self:
        self._serving = await asyncio.start_server(self._serve, "127.0.0.1", self._port, backlog=1024)
        self._port = self._serving.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._serving is None:
            return
        self._serving.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._serving.wait_closed()

    def __enter__(self) -> Self:
        ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run(ready)), daemon=True)
        self._thread.start()
        ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        if self._thread is not None:
            self._thread.join()

    async def _run(self, ready: threading.Event) -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        self._stop = lambda: loop.call_soon_threadsafe(stop.set)
        async with self:
            ready.set()
            await stop.wait()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        try:
            while (request := await _read(reader)) and await self._answer(request, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client is gone, or the server closes: either is their right
        finally:
            writer.close()

    async def _answer(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; True where the connection can carry another."""
        reply = self._reply(request)
        if reply.delay:
            await asyncio.sleep(reply.delay)
        if reply.fault in {"hang", "reset", "close", "half_close"}:
            await _drop(reply.fault, writer)
            return False
        head, body = response(reply, request)
        if reply.fault is None:
            writer.write(head + body)
            await writer.drain()
            return True
        await _spoil(reply.fault, head, body, writer)
        return reply.fault in {"trickle", "trickle_head"}

    def _reply(self, request: Request) -> Reply:
        script, place = self._script, self.count
        self.count += 1
        if self._keep:
            self.requests.append(request)
            self.calls.update(request.statements.values())
        if script is None:
            return Reply()
        if isinstance(script, Reply):
            return script
        if callable(script):
            return script(request)
        return script[min(place, len(script) - 1)]


async def _read(reader: asyncio.StreamReader) -> Request | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").rstrip().split("\r\n")
    pairs = (line.partition(":") for line in lines)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Request(path=first.split(" ")[1], headers=headers, body=body)


async def _drop(fault: str, writer: asyncio.StreamWriter) -> None:
    if fault == "hang":
        await asyncio.Event().wait()
    if fault == "half_close":
        writer.write_eof()
        await asyncio.Event().wait()
    if fault == "reset":
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()


async def _spoil(fault: str, head: bytes, body: bytes, writer: asyncio.StreamWriter) -> None:
    if fault == "cut":
        writer.write(head + body[: len(body) // 2])
    elif fault == "cut_chunk":
        lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"content-length")]
        chunked = b"\r\n".join([lines[0], b"Transfer-Encoding: chunked", *lines[1:]])
        writer.write(chunked + b"%x\r\n" % len(body) + body[: len(body) // 2])
    else:
        start = 0 if fault == "trickle_head" else len(head)
        writer.write(head[:start])
        for byte in (head + body)[start:]:
            await asyncio.sleep(_TRICKLE_SECONDS)
            writer.write(bytes([byte]))
            await writer.drain()
    await writer.drain()
