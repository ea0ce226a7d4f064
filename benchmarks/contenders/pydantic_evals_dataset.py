"""pydantic-evals: a dataset with a case a conversation and an LLMJudge a statement."""

from __future__ import annotations

import asyncio

from job import STATEMENTS, Ask, Conversation, Job, main


def contender(job: Job) -> Ask:
    """The task gives the conversation back, the judges look at it."""
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_evals import Case, Dataset
    from pydantic_evals.evaluators import LLMJudge

    def ask(conversations: list[Conversation]) -> int:
        judge = OpenAIChatModel("judge", provider=OpenAIProvider(base_url=job.api, api_key="none"))
        judges = [
            LLMJudge(rubric=statement, model=judge, assertion={"evaluation_name": f"s{n}"})
            for n, statement in enumerate(STATEMENTS)
        ]
        dataset = Dataset(
            name="benchmark",
            cases=[Case(name=talk.id, inputs=talk.text) for talk in conversations],
            evaluators=judges,
        )

        async def shown(text: str) -> str:
            return text

        at_once = max(1, job.concurrency // len(STATEMENTS))
        told = asyncio.run(dataset.evaluate(shown, max_concurrency=at_once, progress=False))
        return sum(found.value for case in told.cases for found in case.assertions.values())

    return ask


main(contender)
