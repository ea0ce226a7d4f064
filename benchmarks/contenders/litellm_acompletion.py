"""Floor: `litellm.acompletion` as it comes."""

from __future__ import annotations

import asyncio
import json
import os

from job import Ask, Conversation, Job, chat, main, pool


def contender(job: Job) -> Ask:
    """Its own clients; the map of prices that it ships with."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    import litellm

    litellm.suppress_debug_info = True

    async def one(conversation: Conversation, statement: str) -> bool:
        told = await litellm.acompletion(
            model="openai/judge",
            messages=chat(conversation, statement),
            api_base=job.api,
            api_key="none",
            num_retries=0,
        )
        return json.loads(told.choices[0].message.content)["pass"] is True

    return lambda conversations: asyncio.run(pool(job.concurrency, conversations, one))


main(contender)
