"""The rules: what makes a statement hard to decide, why, and what to write instead."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from adjudge.pipeline.lint import english
from adjudge.pipeline.lint.wording import covered, is_english, words


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One thing to look for.

    Attributes:
        name: what it is called on the command line and in findings.
        reason: what is wrong with a statement that breaks it, as words after "the statement".
        instead: a pattern for a better wording.
    """

    name: str
    reason: str
    instead: str


RULES = {
    name: Rule(name=name, reason=reason, instead=instead)
    for name, reason, instead in (
        (
            "compound",
            "makes two claims: where one holds and the other does not, no answer is right",
            "one statement for each: `The agent does X.` and `The agent does Y.`",
        ),
        (
            "double-negative",
            "negates twice, which judges and people misread",
            "what happens: `The agent does X.`, `The agent does X before it does Y.`",
        ),
        (
            "vague",
            "leaves it to the judge what counts",
            "what can be seen: `The agent gives the price and the date.`",
        ),
        (
            "unfalsifiable",
            "speaks of effort, permission or possibility, so that no conversation shows it false",
            "what is done: `The agent does X.`",
        ),
        (
            "norm",
            "says what ought to be, not what is: a judge may call it met because it is a good rule",
            "what is true if all went well: `The agent does X.`, `The agent does not do X.`",
        ),
        (
            "hidden-state",
            "speaks of what the agent thinks, knows or wants, which no turn shows",
            "what is said or done: `The agent says that X.`",
        ),
        (
            "leading",
            "tells the judge what to answer",
            "what happens, without the answer: `The agent does X.`",
        ),
        (
            "instruction",
            "tells the judge what to do; it is not true or false of a conversation",
            "the sentence to be checked alone: `The agent does X.`",
        ),
        ("question", "is a question: `met` is no answer to it", "the sentence that you expect to be true"),
        (
            "placeholder",
            "has a place that nobody filled in; statements are no templates",
            "the value itself",
        ),
        (
            "elsewhere",
            "speaks of what is not in the conversation, which is all that a judge is shown",
            "`The agent says that X.`, or a `checks` grader for what its tools did",
        ),
        (
            "long",
            f"has more than {english.LONGEST} words, likely several claims",
            "the claim that matters, in one sentence",
        ),
        (
            "duplicate",
            "says the same as another one that is asked with it, so it counts twice",
            "one of them, or what makes them differ",
        ),
        (
            "absence-in-windows",
            "says what does not happen, of which one window of a long conversation shows too little",
            "`over_windows: all` beside it",
        ),
    )
}
"""Every rule by its name, in the order in which the findings of one statement are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A rule that a statement breaks, and the words that break it."""

    rule: str
    matched: str


_PLACEHOLDER = re.compile(
    r"\bTODO\b|\bFIXME\b|\bTBD\b|\$?\{\{?\s*[A-Za-z_][\w.\- ]*\}\}?|<(?!br>)[a-z][a-z0-9_\- ]*>"
    r"|\[(?:insert|your|placeholder)\b[^\]]*\]|(?i:lorem ipsum)"
)


def findings_of(text: str) -> Iterator[Finding]:
    """What is to be said of one statement; if it does not look English, only what holds in any language."""
    if text.rstrip().endswith(("?", "？", "؟")):
        yield Finding(rule="question", matched=(words(text) or ["?"])[0])
    placeholder = _PLACEHOLDER.search(text)
    if placeholder is not None:
        yield Finding(rule="placeholder", matched=placeholder[0])
    if not is_english(text):
        return
    said = covered(text)
    for rule, find in english.RULES.items():
        matched = find(said)
        if matched is not None:
            yield Finding(rule=rule, matched=matched)
