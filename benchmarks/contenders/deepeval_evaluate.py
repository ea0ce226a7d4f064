"""DeepEval: `evaluate()` with a ConversationalGEval a statement."""

from __future__ import annotations

import os

from job import STATEMENTS, Ask, Conversation, Job, main


def contender(job: Job) -> Ask:
    """Telemetry off; the steps are given, so that none are asked for."""
    os.environ.update(DEEPEVAL_TELEMETRY_OPT_OUT="YES", DEEPEVAL_DISABLE_DOTENV="1", ERROR_REPORTING="NO")
    from deepeval import evaluate
    from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig
    from deepeval.metrics import ConversationalGEval
    from deepeval.models import GPTModel
    from deepeval.test_case import ConversationalTestCase, MultiTurnParams, Turn

    shown = [MultiTurnParams.ROLE, MultiTurnParams.CONTENT]
    judge = GPTModel(model="gpt-4o-mini", api_key="none", base_url=job.api)

    def ask(conversations: list[Conversation]) -> int:
        cases = [
            ConversationalTestCase(turns=[Turn(**turn) for turn in talk.turns]) for talk in conversations
        ]
        metrics = [
            ConversationalGEval(
                name=f"s{n}",
                evaluation_params=shown,
                evaluation_steps=[statement],
                model=judge,
                threshold=0.1,
            )
            for n, statement in enumerate(STATEMENTS)
        ]
        told = evaluate(
            cases,
            metrics,
            async_config=AsyncConfig(
                max_concurrent=max(1, job.concurrency // len(STATEMENTS)), throttle_value=0
            ),
            display_config=DisplayConfig(show_indicator=False, print_results=False),
            cache_config=CacheConfig(write_cache=job.again, use_cache=job.again),
        )
        return sum(metric.success for case in told.test_results for metric in case.metrics_data or ())

    return ask


main(contender)
