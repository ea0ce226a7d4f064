"""phoenix-evals: `async_evaluate_dataframe` with a classifier, a row a verdict, its own rate limit lifted."""

from __future__ import annotations

import asyncio

from job import Ask, Conversation, Job, main, pairs


def contender(job: Job) -> Ask:
    """At its default rate it begins at about 5 calls a second however many workers there are."""
    import pandas as pd
    from phoenix.evals import LLM, async_evaluate_dataframe, create_classifier

    template = "Conversation:\n{text}\n\nIs this true of it? {statement}"

    def ask(conversations: list[Conversation]) -> int:
        judge = LLM(
            provider="openai",
            model="gpt-4o",
            base_url=job.api,
            api_key="none",
            initial_per_second_request_rate=100_000,
        )
        scorer = create_classifier("true", template, judge, {"met": 1.0, "not_met": 0.0})
        asked = [{"text": talk.text, "statement": statement} for talk, statement in pairs(conversations)]
        told = asyncio.run(
            async_evaluate_dataframe(
                pd.DataFrame(asked), [scorer], concurrency=job.concurrency, hide_tqdm_bar=True
            )
        )
        return sum('"met"' in str(score) or "'met'" in str(score) for score in told["true_score"])

    return ask


main(contender)
