"""A thread of messages that grows by what is new in each call of a model."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Self

from adjudge.pipeline.plain import as_text, is_list, items, mapping, string
from adjudge.pipeline.readers.dialects import decoded
from adjudge.pipeline.readers.parts import Message, words
from adjudge.pipeline.readers.steps import Step

_PROMPTS = {"system", "developer"}
_SAME_PROMPT = 64
"""Characters that two system prompts begin alike with, if they are one with other details filled in."""


class Thread:
    """Messages in order, none of them twice.

    Attributes:
        messages: OpenAI chat messages.
        depth: how many tools the calls were made within.
        prompts_vary: whether a system prompt came again with other words behind the same beginning.
    """

    def __init__(self, depth: int = 0) -> None:
        self.messages: list[Message] = []
        self.depth = depth
        self.prompts_vary = False
        self._keys: list[str] = []

    @classmethod
    def of(cls, said: list[Message], depth: int) -> Self:
        """A thread that begins with what was said."""
        thread = cls(depth)
        thread._add(said)
        return thread

    def take(self, said: list[Message]) -> bool:
        """Add what is new in a call's messages, if the call goes on where this thread ends.

        It does if its first messages are here, in this order and up to the last words of this thread, or if
        it begins with the result of a tool that was called here. Others may stand between: histories leave
        out calls or old turns. Without any messages it does, and adds nothing.

        Returns:
            whether it goes on.
        """
        spoken = [message for message in said if message["role"] not in _PROMPTS]
        if not spoken:
            return not said
        known = self._known([_key(message) for message in spoken])
        if known is None and not self._answers(spoken[0]):
            return False
        prompts = self._new_prompts(said)
        if prompts and not any(message["role"] in _PROMPTS for message in self.messages):
            self._add(prompts, at=0)
            prompts = []
        new = spoken[known or 0 :]
        results = next((n for n, message in enumerate(new) if message["role"] != "tool"), len(new))
        self._add([*new[:results], *prompts, *new[results:]] if new else [])
        return True

    def append(self, other: Thread) -> None:
        """Add all of another thread; system prompts that are here already are not repeated."""
        prompts = self._new_prompts(other.messages)
        self._add([m for m in other.messages if m["role"] not in _PROMPTS or m in prompts])

    def answer(self, tools: list[Step]) -> None:
        """Add what the runs of tools say of the calls made here: results that no call of a model repeated,
        when they came, and what went wrong.
        """
        runs: defaultdict[str, list[Step]] = defaultdict(list)
        for step in tools:
            runs[step.call or _call_key(step.tool, step.given)].append(step)
        for place in range(len(self.messages) - 1, -1, -1):
            calls, results = items(self.messages[place].get("tool_calls")), self._results(place)
            for number, call in reversed(list(enumerate(calls))):
                called = mapping(call.get("function"))
                by_id = runs.get(string(call.get("id")), [])
                found = by_id or runs.get(_call_key(called.get("name"), called.get("arguments")), [])
                if found:
                    self._answer(call.get("id"), found.pop(), results, number)

    def _results(self, place: int) -> range:
        """Where the results stand that follow on the message at `place`."""
        end = place + 1
        while end < len(self.messages) and self.messages[end]["role"] == "tool":
            end += 1
        return range(place + 1, end)

    def _answer(self, identity: Any, run: Step, results: range, number: int) -> None:
        """Complete the result of a call, or add it behind `results`. Without an id it is the `number`-th."""
        told = {"timestamp": run.end, "name": run.tool, "error": run.error}
        told = {key: value for key, value in told.items() if value is not None}
        later = (
            range(results.start, len(self.messages)) if identity is not None else results[number : number + 1]
        )
        for place in later:
            result = self.messages[place]
            if result["role"] == "tool" and result.get("tool_call_id") == identity:
                self.messages[place] = {**told, **result}
                return
        content = None if run.gave is None else as_text(run.gave)
        result = {"role": "tool", "tool_call_id": identity, "content": content, **told}
        self._add([result], at=results.stop)

    def _known(self, keys: list[str]) -> int | None:
        """How many of the first `keys` are here, up to the last words; None if the two part ways."""
        last_words = next((n for n in range(len(self._keys) - 1, -1, -1) if _is_spoken(self.messages[n])), 0)
        end = set(self._keys[last_words:])
        ends = (n for n in range(len(keys), 0, -1) if keys[n - 1] in end)
        return next((n for n in ends if self._holds(keys, n, last_words)), None)

    def _holds(self, keys: list[str], count: int, last_words: int) -> bool:
        """Whether the first `count` keys are here in this order, the last no earlier than `last_words`."""
        place = len(self._keys)
        for number in range(count - 1, -1, -1):
            first = last_words if number == count - 1 else 0
            place = next((n for n in range(place - 1, first - 1, -1) if self._keys[n] == keys[number]), -1)
            if place < 0:
                return False
        return True

    def _answers(self, message: Message) -> bool:
        """Whether a message is the result of a call made here."""
        identity = message.get("tool_call_id")
        calls = (call.get("id") for m in self.messages for call in items(m.get("tool_calls")))
        return message["role"] == "tool" and identity is not None and identity in calls

    def _new_prompts(self, said: list[Message]) -> list[Message]:
        """The system prompts among `said` that are not here, also not with other details filled in."""
        here = [words(message) for message in self.messages if message["role"] in _PROMPTS]
        new: list[Message] = []
        for message in said:
            text = words(message)
            if message["role"] not in _PROMPTS or text in here:
                continue
            if any(known[:_SAME_PROMPT] == text[:_SAME_PROMPT] for known in here):
                self.prompts_vary = True
            else:
                here.append(text)
                new.append(message)
        return new

    def _add(self, said: list[Message], at: int | None = None) -> None:
        place = len(self.messages) if at is None else at
        self.messages[place:place] = said
        self._keys[place:place] = [_key(message) for message in said]


def _is_spoken(message: Message) -> bool:
    return message["role"] == "user" or (message["role"] == "assistant" and bool(words(message).strip()))


def _key(message: Message) -> str:
    """What two writings of one message have in common."""
    if message["role"] == "tool" and message.get("tool_call_id") is not None:
        return f"tool {message['tool_call_id']}"
    calls = [call.get("id") or _call_key(*_called(call)) for call in items(message.get("tool_calls"))]
    content = message.get("content")
    others = [mapping(part).get("type") for part in content] if is_list(content) else []
    named = sorted(str(kind) for kind in others if kind not in ("text", "reasoning", "redacted_thinking"))
    return as_text([message["role"], words(message).strip(), calls, named])


def _called(call: Any) -> tuple[Any, Any]:
    called = mapping(mapping(call).get("function"))
    return called.get("name"), called.get("arguments")


def _call_key(name: Any, arguments: Any) -> str:
    """A call that has no id, by what is called."""
    return as_text([name, decoded(arguments)])
