"""openevals: `create_async_llm_as_judge` on an openai client; the floors' workers run it."""

from __future__ import annotations

import asyncio

from job import Ask, Conversation, Job, main, pool


def contender(job: Job) -> Ask:
    """One openai client for everything."""
    from openai import AsyncOpenAI
    from openevals.llm import create_async_llm_as_judge

    template = "Conversation:\n{inputs}\n\nIs this true of it? {outputs}"

    async def everything(conversations: list[Conversation]) -> int:
        client = AsyncOpenAI(base_url=job.api, api_key="none", max_retries=0)
        judge = create_async_llm_as_judge(prompt=template, judge=client, model="judge", feedback_key="true")

        async def one(conversation: Conversation, statement: str) -> bool:
            told = await judge(inputs=conversation.text, outputs=statement)
            return dict(told)["score"] is True

        return await pool(job.concurrency, conversations, one)

    return lambda conversations: asyncio.run(everything(conversations))


main(contender)
