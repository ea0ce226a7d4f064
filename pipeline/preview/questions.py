"""Every question a suite would ask, without asking it: for dry runs and for explaining cache misses."""

from __future__ import annotations

from collections.abc import Iterator

from adjudge.pipeline.evidence import render_for
from adjudge.pipeline.grading.questions import Question, questions
from adjudge.pipeline.planning.freeze import Freezing
from adjudge.pipeline.planning.plan import PlanHead, PlannedConversation, PlannedGrader


def questions_of(
    head: PlanHead, freezing: Freezing, limit: int | None = None
) -> Iterator[tuple[PlannedConversation, list[tuple[PlannedGrader, Question]]]]:
    """Each conversation of a suite with the questions its `statements` graders ask.

    Raises:
        UsageError: see `Freezing.conversations`.
    """
    graders = {grader.name: grader for grader in (*head.graders, *head.canaries)}
    models, limits, options = head.models(), head.limits(), head.evidence_options()
    for conversation, planned in freezing.conversations(limit):
        asked: list[tuple[PlannedGrader, Question]] = []
        if planned.evidence:
            evidence = render_for(conversation, options, head.takes())
            for grader in map(graders.__getitem__, (*planned.graders, *planned.canaries)):
                if grader.type == "statements":
                    asked += (
                        (grader, question)
                        for question in questions(
                            grader,
                            head.effective(grader, planned),
                            evidence,
                            models=models,
                            limits=limits,
                            prompt=head.prompts[grader.prompt].prompt(),
                            conversation=planned.id,
                        )
                    )
        yield planned, asked
