"""How the form of a reply is asked for, and which way of asking has been found to work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from adjudge.judges.reply import reply_schema
from adjudge.judges.request import Output

Mode = Literal["json_schema", "json_object", "tool", "text"]
"""`response_format` with or without the schema, a forced tool call, or in words alone."""

TOOL = "submit_verdicts"


def modes_of(output: Output) -> tuple[Mode, ...]:
    """The modes that an `output` setting allows, the strictest first."""
    return ("json_schema", "json_object", "text") if output == "auto" else (output,)


def mode_arguments(mode: Mode, ids: tuple[str, ...]) -> dict[str, Any]:
    """The arguments of a chat completion that ask for verdicts on statements `ids` in that mode."""
    if mode == "text":
        return {}
    if mode == "json_object":
        return {"response_format": {"type": "json_object"}}
    schema = reply_schema(ids)
    if mode == "json_schema":
        named = {"name": "verdicts", "strict": True, "schema": schema}
        return {"response_format": {"type": "json_schema", "json_schema": named}}
    function = {"name": TOOL, "description": "Submit the verdicts.", "parameters": schema}
    choice = {"type": "function", "function": {"name": TOOL}}
    return {"tools": [{"type": "function", "function": function}], "tool_choice": choice}


class ModeMemory:
    """Which mode to ask in next: the strictest not yet refused, and for good the first that worked.

    Attributes:
        mode: the mode to ask in.
    """

    def __init__(self, modes: Sequence[Mode]) -> None:
        """`modes` that may be used, the preferred first; at least one."""
        self._modes = tuple(modes)
        self.mode: Mode = self._modes[0]
        self._proven = False

    def worked(self, mode: Mode) -> None:
        """A server took a request in `mode`: it is never given up."""
        self.mode = mode
        self._proven = True

    def refused(self, mode: Mode) -> bool:
        """A server refused `mode` as such. Whether the next request is asked in another one."""
        place = self._modes.index(mode)
        if self._proven or place + 1 == len(self._modes):
            return self.mode != mode
        if mode == self.mode:
            self.mode = self._modes[place + 1]
        return True
