"""Inspect AI logs: what the log's scorers ask about each sample's target is its test's statements."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.plain import items, mapping, string
from adjudge.pipeline.readers import inspect_log
from adjudge.pipeline.readers.source import Source, Unreadable
from adjudge.pipeline.reports.listing import everything
from adjudge.pipeline.seeding.seeds import Seeds

title = "Inspect log"

recognises = inspect_log.recognises

_ONE_OF = dict.fromkeys(
    ("match", "exact", "answer", "pattern", "f1", "math"), "The agent's final answer is {}."
)
"""Scorers that compare the answer with any of the targets."""

_FORMS = {
    **_ONE_OF,
    "includes": "The agent's final answer contains {}.",
    "choice": "The agent's final answer is the choice {}.",
    "model_graded_qa": "The agent's final answer meets this criterion: {}",
    "model_graded_fact": "The agent's final answer contains what this expert's answer says: {}",
}


def seed(source: Source, seeds: Seeds) -> Iterator[Conversation | Unreadable]:
    """A conversation from each sample of each epoch; its scores stay in the metadata."""
    for found in everything([source.path], inspect_log.name):
        yield found if isinstance(found, Unreadable) else seeds.ask(found, _asked(found.metadata, seeds))


def _asked(sample: dict[str, Any], seeds: Seeds) -> Iterator[str]:
    """A sentence from each scorer whose question is known, of a sample that has a target."""
    target = sample.get("target")
    targets = [string(one).strip() for one in items(target) or [target] if string(one).strip()]
    scorers = _scorers(sample)
    if targets and not scorers:
        seeds.leave_out("a target", "the log does not say which scorer it is for")
    for name, options in scorers.items() if targets else ():
        form = _FORMS.get(name)
        said = _said(name, targets, items(sample.get("choices")))
        if form is None or said is None:
            seeds.leave_out(f"target of {name}", "what this scorer asks is not known")
            continue
        for key in ("template", "instructions"):
            if options.get(key):
                seeds.leave_out(f"{key} of {name}", "the target is asked as the scorer's own one has it")
        yield form.format(said)


def _scorers(sample: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Options of the log's scorers by name; of older logs the names that the sample's scores have."""
    told = items(mapping(mapping(sample.get("log")).get("eval")).get("scorers"))
    names = {string(one.get("name")): mapping(one.get("options")) for one in map(mapping, told)}
    names = names or {name: {} for name in mapping(sample.get("scores"))}
    return {name.removeprefix("inspect_ai/"): options for name, options in names.items() if name}


def _said(name: str, targets: list[str], choices: list[Any]) -> str | None:
    if name.startswith("model_graded"):
        return "".join(targets)
    if name == "choice":
        places = [ord(target) - ord("A") for target in targets if len(target) == 1]
        if len(places) < len(targets) or not all(0 <= place < len(choices) for place in places):
            return None
        return " and ".join(_quoted(string(choices[place])) for place in places)
    return " or ".join(map(_quoted, targets))


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
