"""ragas: a DiscreteMetric's `ascore`; the floors' workers run it."""

from __future__ import annotations

import asyncio
import os

from job import Ask, Conversation, Job, main, pool


def contender(job: Job) -> Ask:
    """Telemetry off; one openai client for everything."""
    os.environ["RAGAS_DO_NOT_TRACK"] = "true"
    from openai import AsyncOpenAI
    from ragas.llms import llm_factory
    from ragas.metrics import DiscreteMetric

    template = "Conversation:\n{text}\n\nIs this true of it? {statement}"
    metric = DiscreteMetric(name="true", prompt=template, allowed_values=["met", "not_met"])

    async def everything(conversations: list[Conversation]) -> int:
        client = AsyncOpenAI(base_url=job.api, api_key="none", max_retries=0)
        judge = llm_factory("judge", client=client)

        async def one(conversation: Conversation, statement: str) -> bool:
            told = await metric.ascore(llm=judge, text=conversation.text, statement=statement)
            return told.value == "met"

        return await pool(job.concurrency, conversations, one)

    return lambda conversations: asyncio.run(everything(conversations))


main(contender)
