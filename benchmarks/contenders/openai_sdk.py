"""Floor: the openai SDK as it comes, one client."""

from __future__ import annotations

import asyncio
import json

from job import Ask, Conversation, Job, chat, main, pool


def contender(job: Job) -> Ask:
    """One client for everything."""
    from openai import AsyncOpenAI

    async def everything(conversations: list[Conversation]) -> int:
        async with AsyncOpenAI(base_url=job.api, api_key="none", max_retries=0) as client:

            async def one(conversation: Conversation, statement: str) -> bool:
                told = await client.chat.completions.create(
                    model="judge",
                    messages=chat(conversation, statement),  # pyright: ignore[reportArgumentType]
                )
                return json.loads(told.choices[0].message.content or "")["pass"] is True

            return await pool(job.concurrency, conversations, one)

    return lambda conversations: asyncio.run(everything(conversations))


main(contender)
