"""From the steps of traces to conversations: which calls of a model were the agent's, what was new in each.

Every call of a model repeats what was said before it. The steps of one conversation may stand in several
traces, beside calls that are no part of it: guardrails, titles, agents that are tools of this one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.plain import mapping, string
from adjudge.pipeline.readers.build import NotAConversationError, Notes, conversation
from adjudge.pipeline.readers.dialects import decoded, messages
from adjudge.pipeline.readers.openai import native_messages
from adjudge.pipeline.readers.parts import Message, words
from adjudge.pipeline.readers.source import Source, Unreadable
from adjudge.pipeline.readers.steps import Step
from adjudge.pipeline.readers.threads import Thread

_PROMPTS = {"system", "developer"}


def conversations(source: Source, steps: list[Step]) -> Iterator[Conversation | Unreadable]:
    """The conversations that `steps` tell of, in the order of the file.

    A trace in which no model was called and that is of no conversation is none, and is passed over.
    """
    found = False
    for identity, traces in _by_conversation(steps).items():
        own = [step for trace in traces for step in trace]
        if not any(step.kind == "model" or step.conversation for step in own):
            continue
        found, line = True, min((step.line for step in own if step.line is not None), default=None)
        try:
            yield conversation(source, line, {"id": identity, **_fields(traces)})
        except NotAConversationError as error:
            yield source.unreadable(line, f"conversation {identity!r}: {error}")
    if steps and not found:
        yield source.unreadable(None, "no call of a model in it: these traces are no conversations")


def _by_conversation(steps: list[Step]) -> dict[str, list[list[Step]]]:
    """The steps of each conversation, by trace, each in the order of time."""
    traces: defaultdict[str, list[Step]] = defaultdict(list)
    for step in steps:
        traces[step.trace].append(step)
    found: defaultdict[str, list[list[Step]]] = defaultdict(list)
    for trace, own in traces.items():
        parts: defaultdict[str, list[Step]] = defaultdict(list)
        for step, identity in _identified(own):
            parts[identity or trace].append(step)
        for identity, part in parts.items():
            found[identity].append(sorted(part, key=lambda step: step.begin))
    return {identity: sorted(own, key=lambda trace: trace[0].begin) for identity, own in found.items()}


def _identified(trace: list[Step]) -> Iterator[tuple[Step, str | None]]:
    """Each step of a trace, and its conversation: its own, else of what it is part of, else the first."""
    by_id = {step.id: step for step in trace}
    first = next((step.conversation for step in trace if step.conversation), None)
    for step in trace:
        around = (outer.conversation for outer in [step, *_around(step, by_id)] if outer.conversation)
        yield step, next(around, first)


def _around(step: Step, by_id: dict[str, Step]) -> Iterator[Step]:
    """The steps that `step` is part of, the innermost first."""
    seen = {step.id}
    while step.parent in by_id and step.parent not in seen:
        step = by_id[step.parent]
        seen.add(step.id)
        yield step


def _fields(traces: list[list[Step]]) -> dict[str, Any]:
    """The native fields of the conversation that these traces are."""
    notes, main, others = Notes(), Thread(), list[Thread]()
    for trace in traces:
        main = _continued(main, trace, others)
    if not main.messages:
        raise NotAConversationError(
            "no messages in its traces. Where they are log records, name both files by one glob; where "
            "content was not recorded, switch that on"
        )
    own = [step for trace in traces for step in trace]
    main.answer([step for step in own if step.kind == "tool"])
    if others:
        some = "one other exchange" if len(others) == 1 else f"{len(others)} other exchanges"
        notes.add(f"{some} with a model left out (a guardrail, a title, an agent within)")
    if main.prompts_vary:
        notes.add("the system prompt varies between calls of the model: the first is shown")
    for step in own:
        if step.kind == "model" and step.error is not None:
            notes.add(f"a call of the model failed: {step.error}")
    about = {key: value for step in own for key, value in step.about.items()}
    about["trace_ids"] = list(dict.fromkeys(step.trace for step in own))
    fields = {key: value for step in own for key, value in step.fields.items()}
    native = native_messages(main.messages, notes)
    return {**_ended(traces[-1], main), **fields, "messages": native, "metadata": notes.into(about)}


def _ended(trace: list[Step], main: Thread) -> dict[str, Any]:
    """How the last trace ended: what broke it, what it gave in the end where that is not the last words."""
    root = _roots(trace)[-1]
    if root.error is not None:
        return {"status": "failed", "error": root.error}
    last = next((words(m) for m in reversed(main.messages) if m["role"] == "assistant"), "")
    gave = mapping(root.gave)
    plain = string(next(iter(gave.values())) if len(gave) == 1 else root.gave)
    told = root.kind == "other" and plain.strip() and decoded(plain) == plain
    return {"agent_output": plain} if told and plain.strip() != last.strip() else {}


def _roots(trace: list[Step]) -> list[Step]:
    """The steps that are part of no other, else those whose surroundings are not in the file."""
    known = {step.id for step in trace}
    orphans = [step for step in trace if step.parent not in known]
    return [step for step in orphans if step.parent is None] or orphans or trace


def _continued(main: Thread, trace: list[Step], others: list[Thread]) -> Thread:
    """The conversation so far and what one more trace adds to it; what is no part of it goes to `others`."""
    by_id = {step.id: step for step in trace}
    around = {step.id: list(_around(step, by_id)) for step in trace}
    wrapping = {outer.id for step in trace if step.kind == "model" for outer in around[step.id]}
    before, fresh = len(main.messages), list[Thread]()
    calls = [step for step in trace if step.kind == "model" and step.id not in wrapping]
    for step in calls:
        depth = sum(outer.kind == "tool" for outer in around[step.id])
        said = _said(step)
        if not any(thread.depth == depth and thread.take(said) for thread in [main, *fresh]):
            fresh.append(Thread.of(said, depth))
    roots = _roots(trace)
    chosen = main if len(main.messages) > before or not fresh else _chosen(fresh, roots)
    others += [thread for thread in fresh if thread is not chosen and thread.messages]
    if not main.messages:
        main = chosen
    elif chosen is not main:
        main.append(chosen)
    for root in roots:
        whole = _said(root)
        if not main.take(whole) and not (main.messages and calls):
            main.append(Thread.of(whole, 0))
    return main


def _chosen(threads: list[Thread], roots: list[Step]) -> Thread:
    """The thread that is the conversation with the agent.

    The one least within tools; of those, one that ends as the whole trace does; of those, the longest; of
    equals, the later one.
    """
    ends = "\n".join(words(message) for root in roots for message in messages(root.gave, "assistant"))

    def rank(place: int) -> tuple[int, bool, int, int]:
        thread = threads[place]
        last = words(thread.messages[-1]) if thread.messages else ""
        return -thread.depth, bool(last) and last in ends, len(thread.messages), place

    return threads[max(range(len(threads)), key=rank)]


def _said(step: Step) -> list[Message]:
    """What a step was given and gave, as messages. What it gave may be all of it, with what it was given."""
    given, gave = messages(step.given, "user"), messages(step.gave, "assistant")
    prompts = [message for message in gave if message["role"] in _PROMPTS]
    said = [message for message in gave if message["role"] not in _PROMPTS]
    if any(message["role"] == "user" for message in said):
        return [*prompts, *(message for message in given if message["role"] in _PROMPTS), *said]
    if step.kind == "model" and step.end is not None:
        said = [{**message, "timestamp": step.end} for message in said]
    return [*prompts, *given, *said]
