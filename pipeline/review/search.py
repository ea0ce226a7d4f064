"""What of a conversation a search looks through: what was said in it, and what was said of it."""

from __future__ import annotations

from collections.abc import Iterator

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.grade import ResultRow
from adjudge.pipeline.plain import strings


def texts(row: ResultRow, conversation: Conversation, *, judgement: bool) -> Iterator[str]:
    """What a search looks through; what graders said only with `judgement`."""
    yield from filter(None, (row["conversation_id"], row["test"], row["title"], row["termination_reason"]))
    for message in conversation.shown:
        yield message.text
        yield message.error or ""
        for call in message.tool_calls:
            yield call.name
            yield from strings(call.arguments)
    for grade in row["grades"]:
        yield grade["grader"]
        for statement in grade.get("statements", []):
            yield statement["text"]
            if judgement:
                yield statement["rationale"] or ""
                yield from (citation["quote"] for citation in statement["citations"])
                yield statement["error"]["message"] if statement["error"] else ""
        for check in grade.get("checks", []) if judgement else []:
            yield check["label"]
            yield check["detail"]
        yield grade["error"]["message"] if judgement and grade["error"] else ""
