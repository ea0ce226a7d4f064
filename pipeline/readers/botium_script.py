"""Botium scripts in their layouts: sections of a text, rows of a CSV, lists of a Markdown, JSON objects."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Literal

from adjudge.pipeline.plain import as_text, is_list, is_mapping, items, kind_of, mapping, string
from adjudge.pipeline.readers.build import NotAConversationError

Layout = Literal["text", "csv", "markdown"]

SENDERS = ("begin", "include", "me", "bot", "end")
"""Who or what a step may be of."""

_SECTION = re.compile(r"^[ \t]*#[ \t]*(\S*)", re.MULTILINE)
_HEADING = re.compile(r"^#[ \t]+(.*?)[ \t]*$", re.MULTILINE)
_ITEM = re.compile(r"([ \t]*)[-*][ \t]+(.*?)\s*")
_SEPARATORS = ",;\t"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one side does.

    Attributes:
        sender: one of `SENDERS`.
        lines: what it says, line by line, or objects that name an assertion, an input or a hook.
    """

    sender: str
    lines: list[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """One scripted conversation.

    Attributes:
        line: the line it begins on, from 1.
        identity: the conversation's id, where the layout has one.
        title: its name.
        description: what it is about.
        steps: in order.
    """

    line: int
    identity: str = ""
    title: str = ""
    description: str = ""
    steps: list[Step] = field(default_factory=list[Step])


def layout_of(text: str) -> Layout | None:
    """The layout of a file that is no JSON, by its sections, headings or column names; None for none."""
    if any(_HEADING.finditer(text)) and re.search(r"^# Convos\s*$", text, re.MULTILINE):
        return "markdown" if re.search(r"^- (me|bot)\s*$", text, re.MULTILINE) else None
    sections = _SECTION.findall(text)
    if sections and sections[0] in SENDERS and {"me", "bot"} & set(sections):
        return "text"
    columns = _columns(text.partition("\n")[0])[1]
    return "csv" if {"conversationid", "sender", "text"} <= set(columns) else None


def of_text(text: str) -> Script:
    """The script of a `.convo.txt`: its title and description, then sections such as `#me` and `#bot`.

    Raises:
        NotAConversationError: a section has another name.
    """
    head: list[str] = []
    steps: list[Step] = []
    lines = head
    for number, line in enumerate(map(str.strip, text.split("\n")), 1):
        if not line.startswith("#"):
            lines.append(line)
            continue
        sender = line[1:].strip().partition(" ")[0]
        if sender not in SENDERS:
            allowed = ", ".join(SENDERS)
            raise NotAConversationError(f"line {number}: the section {sender!r} must be one of {allowed}")
        steps.append(Step(sender=sender, lines=[]))
        lines = steps[-1].lines
    title = head[0] if head else ""
    return Script(line=1, title=title, description="\n".join(head[1:]).strip(), steps=steps)


def of_csv(text: str) -> Iterator[Script]:
    """The scripts of a CSV: rows with a conversation's id, sender and text, or with a question and an answer.

    Raises:
        NotAConversationError: it has other columns, or is no CSV from some line on.
    """
    separator, columns = _columns(text.partition("\n")[0])
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    found = _rows(rows, columns)
    if {"conversationid", "sender", "text"} <= set(columns):
        for identity, group in groupby(found, lambda row: row[1].get("conversationid", "")):
            own = list(group)
            steps = [Step(sender=row.get("sender", ""), lines=[row.get("text", "")]) for _, row in own]
            yield Script(line=own[0][0], identity=identity, steps=steps)
        return
    if not {"question", "answer"} <= set(columns):
        raise NotAConversationError(
            "the columns must be conversationId, sender and text, or question and answer"
        )
    for line, row in found:
        asked = Step(sender="me", lines=[row.get("question", "")])
        yield Script(line=line, steps=[asked, Step(sender="bot", lines=[row.get("answer", "")])])


def of_markdown(text: str) -> Iterator[Script]:
    """The scripts of a Markdown: a heading each, and lists of `me` and `bot` with what they say below."""
    script: Script | None = None
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("## "):
            if script:
                yield script
            script = Script(line=number, title=line[3:].strip())
        item = _ITEM.fullmatch(line)
        if item and script:
            _add_item(script.steps, len(item[1].expandtabs(4)), item[2])
    if script:
        yield script


def of_object(value: Any, line: int) -> Script:
    """The script that an element of `convos` is.

    Raises:
        NotAConversationError: it has no steps, or a step is of nobody.
    """
    convo = mapping(value)
    if not is_list(convo.get("steps")):
        raise NotAConversationError("a convo has no 'steps'")
    title, about = string(convo.get("name")), string(convo.get("description"))
    return Script(line=line, title=title, description=about, steps=list(map(_step, convo["steps"])))


def _step(value: Any) -> Step:
    sender = next((sender for sender in SENDERS if sender in mapping(value)), None)
    if sender is None:
        raise NotAConversationError(f"a step must be of one of {', '.join(SENDERS)}, not {kind_of(value)}")
    lines = value[sender]
    return Step(sender=sender, lines=items(lines) if is_list(lines) else [lines])


def _add_item(steps: list[Step], depth: int, said: str) -> None:
    """Add an item of a list: a sender, what it says, or below that what belongs to it."""
    if depth == 0:
        steps.append(Step(sender=said, lines=[]))
        return
    lines = steps[-1].lines if steps else []
    if depth < 4 or not lines:
        lines.append(said)
    elif is_mapping(lines[-1]):
        next(iter(lines[-1].values())).append(said)
    else:
        lines[-1] = {as_text(lines[-1]): [said]}


def _columns(header: str) -> tuple[str, list[str]]:
    """The separator of a CSV and the names of its columns, without case, dashes and underscores."""
    separator = max(_SEPARATORS, key=header.count)
    return separator, [re.sub(r"[\s_\"-]", "", column).lower() for column in header.split(separator)]


def _rows(rows: Any, columns: list[str]) -> Iterator[tuple[int, dict[str, str]]]:
    try:
        for row in rows:
            if row and rows.line_num > 1:
                yield rows.line_num, dict(zip(columns, row, strict=False))
    except csv.Error as error:
        raise NotAConversationError(f"line {rows.line_num}: no CSV: {error}") from None
