"""autoevals: an LLMClassifier with chain of thought; it has no runner, so the floors' workers run it."""

from __future__ import annotations

import asyncio

from job import Ask, Conversation, Job, main, pool


def contender(job: Job) -> Ask:
    """One openai client for everything."""
    from autoevals import LLMClassifier
    from openai import AsyncOpenAI

    template = "Conversation:\n{{{input}}}\n\nIs this true of it? {{{output}}}"

    async def everything(conversations: list[Conversation]) -> int:
        client = AsyncOpenAI(base_url=job.api, api_key="none", max_retries=0)
        scorer = LLMClassifier(
            "true", template, {"Y": 1, "N": 0}, model="gpt-4o", use_cot=True, client=client
        )

        async def one(conversation: Conversation, statement: str) -> bool:
            return (await scorer.eval_async(statement, input=conversation.text)).score == 1

        return await pool(job.concurrency, conversations, one)

    return lambda conversations: asyncio.run(everything(conversations))


main(contender)
