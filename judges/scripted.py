"""The scripted judge: the public fake for tests and examples. It calls no model and costs nothing."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import get_args

from adjudge.judges.failure import Failure, UsageError
from adjudge.judges.request import JudgeRequest
from adjudge.judges.verdict import Answer, Attempt, Decision, Usage, Verdict

Vote = Decision | Verdict | Failure
"""What a script says of a statement. A decision becomes a verdict; a failure fails the whole request."""

Reply = Vote | list[Vote]
"""What a script says of a request: one vote for all its statements, or one for each of them, in order."""

ByStatement = Mapping[str, Vote]
ByCall = Sequence[Reply]
ByFunction = Callable[[JudgeRequest], Reply | Awaitable[Reply]]


class ScriptedJudge:
    """A judge that answers from a script and remembers what it was asked.

    Attributes:
        requests: every request so far, oldest first.
    """

    def __init__(self, script: ByStatement | ByCall | ByFunction) -> None:
        """`script` is one of:

        - a mapping from statement text to its vote;
        - a sequence of replies, one a call; the last one repeats;
        - a function of the request, plain or async, that returns the reply.
        """
        self.requests: list[JudgeRequest] = []
        self._script = script

    async def judge(self, request: JudgeRequest, /) -> Answer | Failure:
        """What the script says, as one attempt.

        Raises:
            UsageError: the script says nothing about `request`.
        """
        self.requests.append(request)
        reply = self._reply(request)
        if inspect.isawaitable(reply):
            reply = await reply
        count = len(request.statements)
        votes: list[Vote] = reply if isinstance(reply, list) else [reply] * count
        if len(votes) != count:
            raise UsageError(f"the script has {len(votes)} votes for {count} statements")
        verdicts: list[Verdict] = []
        for vote in votes:
            if isinstance(vote, Failure):
                return vote if vote.attempts else replace(vote, attempts=(_attempt(vote),))
            verdicts.append(vote if isinstance(vote, Verdict) else _verdict(vote))
        return Answer(verdicts=tuple(verdicts), attempts=(_attempt(None),))

    def _reply(self, request: JudgeRequest) -> Reply | Awaitable[Reply]:
        if callable(self._script):
            return self._script(request)
        if isinstance(self._script, Mapping):
            missing = [text for text in request.statements if text not in self._script]
            if missing:
                raise UsageError(f"the script has no vote for the statement {missing[0]!r}; add it")
            return [self._script[text] for text in request.statements]
        if not self._script:
            raise UsageError("the script is empty; give it a reply")
        return self._script[min(len(self.requests), len(self._script)) - 1]


def _verdict(decision: Decision) -> Verdict:
    if decision not in get_args(Decision):
        raise UsageError(f"the script says {decision!r}, which is none of {', '.join(get_args(Decision))}")
    return Verdict(decision=decision, rationale="scripted")


def _attempt(failure: Failure | None) -> Attempt:
    return Attempt(
        cause=failure.cause if failure else None,
        message=failure.message if failure else "",
        usage=Usage(input_tokens=0, output_tokens=0, cached_input_tokens=0),
        cost_usd=0.0,
        served_model="scripted",
    )
