"""Conversations as a run froze them, and what each judge is shown of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from adjudge.judges.failure import StorageError
from adjudge.judges.request import Evidence
from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.evidence import render, render_for
from adjudge.pipeline.planning.plan import PlanHead, PlannedConversation


def frozen_conversation(line: bytes, planned: PlannedConversation, path: Path) -> Conversation:
    """The conversation in a line of `path`, a run's `conversations.jsonl`.

    Raises:
        StorageError: it is none.
    """
    try:
        return Conversation.model_validate_json(line)
    except ValidationError:
        raise StorageError(f"{str(path)!r} is damaged at {planned.id!r}; start a new run") from None


def frozen_evidence(
    head: PlanHead, conversation: Conversation, planned: PlannedConversation
) -> Mapping[str, Evidence]:
    """What each judge is shown, by its name.

    Raises:
        StorageError: it is not what the run was planned with.
    """
    options, takes = head.evidence_options(), head.takes()
    evidence = render(conversation, options)
    if evidence.digest != planned.evidence:
        raise StorageError(
            f"the evidence of {planned.id!r} is not what run {head.run_id!r} was planned with: its "
            "conversations.jsonl was changed, or another version of adjudge planned it; start a new run"
        )
    return render_for(conversation, options, takes) if evidence.media else dict.fromkeys(takes, evidence)
