"""Inspect AI: `eval()`, a sample a conversation with ten `model_graded_qa` scorers."""

from __future__ import annotations

import tempfile

from job import STATEMENTS, Ask, Conversation, Job, main


def contender(job: Job) -> Ask:
    """The conversation is the output that is graded; its log is written, as it always is."""
    from inspect_ai import Task, eval  # noqa: A004
    from inspect_ai.dataset import Sample
    from inspect_ai.model import GenerateConfig, ModelOutput, get_model
    from inspect_ai.scorer import model_graded_qa
    from inspect_ai.solver import Generate, Solver, TaskState, solver

    config = GenerateConfig(max_connections=job.concurrency, cache=True if job.again else None)
    judge = get_model("openai/judge", base_url=job.api, api_key="none", config=config, responses_api=False)
    logs = tempfile.mkdtemp()

    @solver
    def shown() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            state.output = ModelOutput.from_content("shown", state.metadata["text"])
            return state

        return solve

    template = "Conversation:\n{answer}\n\nIs this true of it? %s\n\n{instructions}"
    scorers = [model_graded_qa(template % statement, model=judge) for statement in STATEMENTS]

    def ask(conversations: list[Conversation]) -> int:
        samples = [
            Sample(id=talk.id, input="Is it true?", target="true", metadata={"text": talk.text})
            for talk in conversations
        ]
        (log,) = eval(
            Task(dataset=samples, solver=shown(), scorer=scorers),
            model="mockllm/model",
            max_samples=job.concurrency,
            max_connections=job.concurrency,
            log_dir=logs,
            display="none",
        )
        scores = [score.value for sample in log.samples or () for score in (sample.scores or {}).values()]
        return scores.count("C")

    return ask


main(contender)
