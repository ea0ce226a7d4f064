"""Floor: aiohttp, orjson, and pydantic for the verdict; nothing else. What others are measured by."""

from __future__ import annotations

import asyncio

from job import Ask, Conversation, Job, chat, main, pool


def contender(job: Job) -> Ask:
    """One session for everything."""
    import orjson
    from aiohttp import ClientSession, TCPConnector
    from pydantic import BaseModel

    class Verdict(BaseModel):
        reason: str
        score: int

    async def everything(conversations: list[Conversation]) -> int:
        async with ClientSession(connector=TCPConnector(limit=job.concurrency)) as session:

            async def one(conversation: Conversation, statement: str) -> bool:
                body = orjson.dumps({"model": "judge", "messages": chat(conversation, statement)})
                headers = {"Content-Type": "application/json"}
                async with session.post(f"{job.api}/chat/completions", data=body, headers=headers) as told:
                    said = orjson.loads(await told.read())["choices"][0]["message"]["content"]
                return Verdict.model_validate_json(said).score == 1

            return await pool(job.concurrency, conversations, one)

    return lambda conversations: asyncio.run(everything(conversations))


main(contender)
