"""The native conversation: what is graded, whatever format it came in (spec section 7)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, PrivateAttr

Role = Literal["system", "developer", "user", "assistant", "tool"]
Status = Literal["completed", "failed", "canceled"]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Part(BaseModel):
    """One piece of a message's content. `type` names it; other keys are kept as they are.

    `text` parts carry `text`; `reasoning` parts are never shown to a judge; anything else (image,
    audio, file, ...) is shown as a placeholder that names it.
    """

    model_config = ConfigDict(extra="allow", frozen=True, strict=True, allow_inf_nan=False)

    type: str
    text: str | None = None


class ToolCall(_Record):
    """A call the agent made. `arguments` is what it passed: an object, or the text where it is not JSON."""

    id: str | None = None
    name: str
    arguments: JsonValue = None


class Message(_Record):
    """One turn.

    Attributes:
        role: who speaks; `tool` for a tool's result.
        content: text, parts, or None.
        tool_calls: calls made in this turn.
        tool_call_id: on a `tool` message, the call it answers.
        name: the speaker's or the tool's name.
        timestamp: as recorded: ISO 8601 text, or a number with its own meaning in the source.
        error: on a `tool` message, what went wrong.
    """

    role: Role
    content: str | list[Part] | None = None
    tool_calls: list[ToolCall] = Field(default_factory=list[ToolCall])
    tool_call_id: str | None = None
    name: str | None = None
    timestamp: str | int | float | None = None
    error: str | None = None

    @property
    def text(self) -> str:
        """The words of this turn: its text content, parts joined by newlines. Empty if it has none."""
        if self.content is None:
            return ""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content if part.type == "text" and part.text)


class CalledTool(_Record):
    """A tool call beside its result, for verifiers and reports.

    Attributes:
        turn: number of the turn that made the call, from 1.
        result: text of the result, or None where the conversation has none.
        error: what went wrong, or None.
        result_turn: number of the turn that holds the result, or None.
    """

    turn: int
    id: str | None
    name: str
    arguments: JsonValue
    result: str | None
    error: str | None
    result_turn: int | None = None


OverWindows = Literal["any", "all"]
"""What decides a statement about a conversation judged in windows: any window that meets it, or all (J7)."""


Overflow = Literal["errored", "windows"]
"""What becomes of a conversation that is longer than its judge can read (J7)."""


class StatementSpec(_Record):
    """A statement as people write it in a suite or a conversation: a sentence, or a sentence with flags."""

    text: Annotated[str, Field(min_length=1, description="What must be true.")]
    required: Annotated[bool, Field(description="Whether the grade fails without it.")] = False
    over_windows: Annotated[
        OverWindows | None,
        Field(
            description="How the windows of a long conversation decide it (`overflow: windows`). any: met if "
            "one window meets it, as for what must happen. all: met only if every window meets it, as for "
            "what must never happen. null: it needs the whole conversation, and a longer one is an error."
        ),
    ] = None


Statements = dict[str, list[StatementSpec | str]]
"""Extra statements by grader name, as tests and conversations carry them."""


class Conversation(BaseModel):
    """One finished, failed or canceled exchange with an agent.

    Attributes:
        id: unique within a run.
        messages: the exchange, oldest first. A message's turn number is its place, from 1.
        agent_messages: the agent's own record of the same exchange; shown to judges instead of
            `messages` where present. The two are never merged.
        test: the scenario it ran, or None.
        rollout: the n-th repeat of that scenario, or None.
        status: `completed` has its trace and is graded, also when it hit a limit (S9).
        termination_reason: how it ended, such as `timeout` or `max_turns`.
        agent_pov_incomplete: whether the evidence is known to be incomplete; None is unknown.
        agent_output: the agent's final output, where the harness recorded one apart.
        error: what broke, for a failed conversation.
        statements: extra statements by grader.
        graders: the graders selected for it; None selects all, an empty list selects none.
        metadata: anything else, never interpreted.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    id: Annotated[str, Field(min_length=1)]
    messages: list[Message] = Field(default_factory=list[Message])
    agent_messages: list[Message] | None = None
    test: str | None = None
    rollout: int | None = None
    status: Status = "completed"
    termination_reason: str | None = None
    agent_pov_incomplete: bool | None = None
    agent_output: str | None = None
    error: str | None = None
    statements: Statements = Field(default_factory=dict)
    graders: list[str] | None = None
    metadata: dict[str, Any] = Field(default_factory=dict[str, Any])
    _line: int | None = PrivateAttr(default=None)

    @property
    def line(self) -> int | None:
        """The line of its file it begins on, from 1, where its reader knows."""
        return self._line

    def at_line(self, line: int | None) -> Self:
        """This conversation, knowing the line it was read from."""
        self._line = line
        return self

    @property
    def shown(self) -> list[Message]:
        """The messages a judge is shown: the agent's own record where there is one."""
        return self.messages if self.agent_messages is None else self.agent_messages

    @cached_property
    def tool_calls(self) -> list[CalledTool]:
        """Every tool call beside its result, in the order they were made."""
        return list(_called_tools(self.shown))

    @property
    def tool_errors(self) -> int:
        """How many tool results carry an error (S12: shown, never scored)."""
        return sum(1 for message in self.shown if message.role == "tool" and message.error is not None)

    @property
    def final_text(self) -> str:
        """`agent_output`, or the words of the agent's last turn that has any; else empty."""
        if self.agent_output is not None:
            return self.agent_output
        spoken = (m.text for m in reversed(self.shown) if m.role == "assistant" and m.text)
        return next(spoken, "")


def _called_tools(messages: list[Message]) -> Iterator[CalledTool]:
    """Join calls to results: by id where both have one, else to the next result that has none."""
    for place, message in enumerate(messages):
        later = _results_after(messages, place) if message.tool_calls else {}
        for call in message.tool_calls:
            turn = next((turn for turn, m in later.items() if m.tool_call_id == call.id), None)
            result = None if turn is None else later.pop(turn)
            yield CalledTool(
                turn=place + 1,
                id=call.id,
                name=call.name,
                arguments=call.arguments,
                result=None if result is None else result.text,
                error=None if result is None else result.error,
                result_turn=turn,
            )


def _results_after(messages: list[Message], place: int) -> dict[int, Message]:
    """The tool results after the message at `place`, by the number of their turn."""
    return {turn: m for turn, m in enumerate(messages[place + 1 :], place + 2) if m.role == "tool"}
