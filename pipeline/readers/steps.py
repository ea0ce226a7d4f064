"""One step of a trace, whatever wrote it: a span, a run, an observation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a trace: a span, a run, an observation.

    Attributes:
        trace: the trace it is part of.
        id: unique within the trace.
        parent: the step it is part of; a step whose parent is not in the file is a root.
        kind: a call of a model, a run of a tool, or anything around them.
        begin: when it began, as text that sorts.
        end: when it ended, as ISO 8601 text.
        given: what it was given, as the trace has it: a model's messages, a tool's arguments.
        gave: what it gave back.
        error: what went wrong, or None.
        tool: a tool's name.
        call: the id of the call that a tool's run answers.
        line: the line of the file it was read from.
        conversation: the conversation it says it is of, or None.
        about: what else it says of the conversation; kept in the metadata.
        fields: native fields it gives the conversation, such as `test`.
    """

    trace: str
    id: str
    parent: str | None = None
    kind: Literal["model", "tool", "other"] = "other"
    begin: str = ""
    end: str | None = None
    given: Any = None
    gave: Any = None
    error: str | None = None
    tool: str | None = None
    call: str | None = None
    line: int | None = None
    conversation: str | None = None
    about: dict[str, Any] = field(default_factory=dict[str, Any])
    fields: dict[str, Any] = field(default_factory=dict[str, Any])
