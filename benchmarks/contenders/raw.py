"""Floor: a hand-written HTTP client on asyncio, JSON checked by the standard library."""

from __future__ import annotations

import asyncio
import json

from job import Ask, Conversation, Job, chat, main, pairs

HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nHost: %b\r\nContent-Length: %d\r\n\r\n"


def contender(job: Job) -> Ask:
    """Connections of its own, one a worker."""
    host, _, port = job.base.removeprefix("http://").partition(":")

    async def everything(conversations: list[Conversation]) -> int:
        waiting = pairs(conversations)

        async def work() -> int:
            good = 0
            reader, writer = await asyncio.open_connection(host, int(port))
            for conversation, statement in waiting:
                body = json.dumps({"model": "judge", "messages": chat(conversation, statement)}).encode()
                writer.write(HEAD % (host.encode(), len(body)) + body)
                answered = await reader.readuntil(b"\r\n\r\n")
                length = int(answered.partition(b"Content-Length: ")[2].partition(b"\r")[0])
                said = json.loads(await reader.readexactly(length))["choices"][0]["message"]["content"]
                good += json.loads(said)["pass"] is True
            writer.close()
            return good

        return sum(await asyncio.gather(*(work() for _ in range(job.concurrency))))

    return lambda conversations: asyncio.run(everything(conversations))


main(contender)
