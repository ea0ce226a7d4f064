"""Of several questions that begin alike one goes ahead, so that the provider knows the rest already."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from adjudge.judges.failure import Failure
from adjudge.judges.protocol import Judge
from adjudge.judges.room import size_of
from adjudge.judges.verdict import Answer
from adjudge.pipeline.grading.questions import Question

PATIENCE = 30.0
"""Seconds that the others wait at most: a slow reply must not hold up nine."""

_Prefix = tuple[str, str, str]


class Warming:
    """The questions about one conversation, and which of their beginnings are on their way to the provider.

    Providers that keep prefixes read what they have seen before at a fraction of its price, once the first
    request is answered. Evidence comes first in every request (J4), so one question a prefix goes alone.
    """

    def __init__(self, keeps_from: Mapping[str, int]) -> None:
        """`keeps_from`: by judge, from how many tokens of evidence on it pays to wait; others never do."""
        self._keeps_from = keeps_from
        self._ahead: dict[_Prefix, asyncio.Event] = {}

    def sharing(self, asked: Sequence[Question]) -> list[Question]:
        """`asked`, with a word to the judge in each that is not alone with its beginning."""
        if not any(question.judge in self._keeps_from for question in asked):
            return list(asked)
        alike = Counter(map(_prefix, asked))
        return [
            replace(question, request=replace(question.request, shares_prefix=True))
            if self._pays(question) and (alike[_prefix(question)] > 1 or _prefix(question) in self._ahead)
            else question
            for question in asked
        ]

    def at_once(self, asked: Sequence[Question]) -> int:
        """How many of `asked`, as `sharing` gives them, wait for none of the others; 1 or more."""
        alone = sum(not question.request.shares_prefix for question in asked)
        ahead = {_prefix(question) for question in asked if question.request.shares_prefix}
        return max(1, alone + len(ahead - self._ahead.keys()))

    async def ask(self, judge: Judge, question: Question) -> Answer | Failure:
        """Ask, at once or after the one that goes ahead was answered, whatever came of it."""
        if not question.request.shares_prefix:
            return await judge.judge(question.request)
        ahead = self._ahead.get(_prefix(question))
        if ahead is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(ahead.wait(), PATIENCE)
            return await judge.judge(question.request)
        ahead = self._ahead[_prefix(question)] = asyncio.Event()
        try:
            return await judge.judge(question.request)
        finally:
            ahead.set()

    def _pays(self, question: Question) -> bool:
        least = self._keeps_from.get(question.judge)
        return least is not None and size_of(question.request.evidence) >= least


def _prefix(question: Question) -> _Prefix:
    request = question.request
    return question.judge, request.prompt.digest, request.evidence.digest
