"""adjudge: grade agent conversations with model judges, with numbers that can be believed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adjudge.judges.failure import AdjudgeError, Failure, StorageError, UsageError
    from adjudge.judges.protocol import Judge
    from adjudge.judges.request import JudgeRequest
    from adjudge.judges.scripted import ScriptedJudge
    from adjudge.judges.verdict import Answer, Verdict
    from adjudge.pipeline.api import agrade, arun, grade, run
    from adjudge.pipeline.checks import Check, NoRequiredChecks, check, optional
    from adjudge.pipeline.conversation import CalledTool, Conversation, Message, StatementSpec
    from adjudge.pipeline.rundir import Run

__all__ = [
    "AdjudgeError",
    "Answer",
    "CalledTool",
    "Check",
    "Conversation",
    "Failure",
    "Judge",
    "JudgeRequest",
    "Message",
    "NoRequiredChecks",
    "Run",
    "ScriptedJudge",
    "StatementSpec",
    "StorageError",
    "UsageError",
    "Verdict",
    "agrade",
    "arun",
    "check",
    "grade",
    "optional",
    "run",
]

_HOMES = {
    "AdjudgeError": "adjudge.judges.failure",
    "Answer": "adjudge.judges.verdict",
    "CalledTool": "adjudge.pipeline.conversation",
    "Check": "adjudge.pipeline.checks",
    "Conversation": "adjudge.pipeline.conversation",
    "Failure": "adjudge.judges.failure",
    "Judge": "adjudge.judges.protocol",
    "JudgeRequest": "adjudge.judges.request",
    "Message": "adjudge.pipeline.conversation",
    "NoRequiredChecks": "adjudge.pipeline.checks",
    "Run": "adjudge.pipeline.rundir",
    "ScriptedJudge": "adjudge.judges.scripted",
    "StatementSpec": "adjudge.pipeline.conversation",
    "StorageError": "adjudge.judges.failure",
    "UsageError": "adjudge.judges.failure",
    "Verdict": "adjudge.judges.verdict",
    "agrade": "adjudge.pipeline.api",
    "arun": "adjudge.pipeline.api",
    "check": "adjudge.pipeline.checks",
    "grade": "adjudge.pipeline.api",
    "optional": "adjudge.pipeline.checks",
    "run": "adjudge.pipeline.api",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for, so that `adjudge --help` waits for none of them."""
    if name == "__version__":
        return import_module("importlib.metadata").version("adjudge")
    if name not in _HOMES:
        raise AttributeError(f"module 'adjudge' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
