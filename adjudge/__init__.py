"""adjudge: grade agent conversations with model judges, with numbers that can be believed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adjudge.judges.failure import AdjudgeError
    from adjudge.pipeline.checks import Check, NoRequiredChecks, check, optional
    from adjudge.pipeline.conversation import CalledTool, Conversation, Message

__all__ = [
    "AdjudgeError",
    "CalledTool",
    "Check",
    "Conversation",
    "Message",
    "NoRequiredChecks",
    "check",
    "optional",
]

_HOMES = {
    "AdjudgeError": "adjudge.judges.failure",
    "CalledTool": "adjudge.pipeline.conversation",
    "Check": "adjudge.pipeline.checks",
    "Conversation": "adjudge.pipeline.conversation",
    "Message": "adjudge.pipeline.conversation",
    "NoRequiredChecks": "adjudge.pipeline.checks",
    "check": "adjudge.pipeline.checks",
    "optional": "adjudge.pipeline.checks",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for, so that `adjudge --help` waits for none of them."""
    if name == "__version__":
        return import_module("importlib.metadata").version("adjudge")
    if name not in _HOMES:
        raise AttributeError(f"module 'adjudge' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
