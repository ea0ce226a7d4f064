"""Botium scripts: `.convo.txt`, CSV, Markdown and JSON. What a bot is expected to say, not what it said."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple
from zlib import error as ZlibError  # noqa: N812 - every other error is called so

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.plain import as_text, is_list, is_mapping, items, mapping
from adjudge.pipeline.readers.botium_script import (
    SENDERS,
    Layout,
    Script,
    Step,
    layout_of,
    of_csv,
    of_markdown,
    of_object,
    of_text,
)
from adjudge.pipeline.readers.build import NotAConversationError, Notes
from adjudge.pipeline.readers.runs import one_a_run
from adjudge.pipeline.readers.source import MAX_RECORD, Record, Source, Unreadable, first_of

name = "botium"

_INPUTS = {"BUTTON", "MEDIA", "FORM"}
_HOOKS = {
    *("PAUSE", "WAITFORBOT", "INCLUDE", "CLEAR_QUEUE", "UPDATE_CUSTOM", "ORDERED_LIST_TO_BUTTON"),
    *("SET_SCRIPTING_MEMORY", "CLEAR_SCRIPTING_MEMORY", "ASSIGN_SCRIPTING_MEMORY", "CONVO_STEP_PARAMETERS"),
    *("CONDITIONAL_STEP_TIME_BASED", "CONDITIONAL_STEP_BUSINESS_HOURS", "CONDITIONAL_STEP_CAPABILITY"),
}
_WORDS = "TEXT"
"""The assertion that is the bot's words."""

_ASSERTERS = {
    *("BUTTONS", "MEDIA", "CARDS", "FORMS", "PAUSE_ASSERTER", "JSON_PATH", "RESPONSE_LENGTH", "ENTITIES"),
    *("ENTITY_VALUES", "ENTITY_CONTENT", "INTENT", "INTENT_UNIQUE", "INTENT_CONFIDENCE", "BOT_CONSUMED"),
    *("BOT_UNCONSUMED_COUNT", "BUTTONS_COUNT", "MEDIA_COUNT", "CARDS_COUNT", "JSON_PATH_COUNT", "WER"),
}


class _Command(NamedTuple):
    """A line that is no words: an assertion, an input or a hook."""

    name: str
    arguments: str
    optional: bool
    negated: bool


def recognises(value: Any) -> bool:
    """Whether the first record has convos with steps, or the text has Botium's sections, rows or lists."""
    if isinstance(value, bytes):
        return layout_of(value.decode(errors="replace")) is not None
    convos = items(mapping(first_of(value)).get("convos"))
    return bool(convos) and all(is_list(mapping(convo).get("steps")) for convo in convos)


def read(source: Source) -> Iterator[Conversation | Unreadable]:
    """A conversation from each script: `me` is the user, `bot` the assistant.

    What the bot must not say, and what is only checked about it, are parts that are named so.
    """
    try:
        with source.open() as file:
            text = file.read(MAX_RECORD).decode().replace("\r\n", "\n")
    except (EOFError, OSError, ZlibError, UnicodeDecodeError) as error:
        yield source.unreadable(None, f"damaged: {error}")
        return
    layout = layout_of(text)
    if layout is None and text.lstrip()[:1] in ("{", "["):
        yield from _of_records(source)
        return
    try:
        for script in _scripts(text, layout):
            convert = partial(_fields, {}, _identity(source, script))
            yield from one_a_run(source, script.line, [script], convert)
    except NotAConversationError as error:
        yield source.unreadable(None, str(error))


def _scripts(text: str, layout: Layout | None) -> Iterable[Script]:
    if layout == "markdown":
        return of_markdown(text)
    return [of_text(text)] if layout == "text" else of_csv(text)


def _identity(source: Source, script: Script) -> dict[str, Any]:
    """The id of a script: its own; that of the file, where it is the only one; else by its line."""
    stem = source.stem.removesuffix(".convo")
    return {"id": script.identity or (stem if script.line == 1 else f"{stem}-{script.line}")}


def _of_records(source: Source) -> Iterator[Conversation | Unreadable]:
    for record in source.records():
        if not isinstance(record, Record):
            yield record
        elif not is_list(mapping(record.value).get("convos")):
            yield source.unreadable(record.line, "'convos' is missing or no list")
        else:
            convos = record.value["convos"]
            utterances = mapping(record.value.get("utterances"))
            yield from one_a_run(source, record.line, convos, partial(_of_object, utterances, record.line))


def _of_object(utterances: dict[str, Any], line: int, value: Any) -> dict[str, Any]:
    return _fields(utterances, {}, of_object(value, line))


def _fields(utterances: dict[str, Any], identity: dict[str, Any], script: Script) -> dict[str, Any]:
    reading = _Reading(utterances)
    for step in script.steps:
        reading.add(step)
    metadata = {"description": script.description} if script.description else {}
    return {**identity, "test": script.title or None, **reading.fields(metadata)}


class _Reading:
    """The messages of one script in the making."""

    def __init__(self, utterances: dict[str, Any]) -> None:
        self._utterances = utterances
        self._used: dict[str, Any] = {}
        self._messages: list[dict[str, Any]] = []
        self._wordless = False
        self._notes = Notes()
        self._notes.add("a script: what the bot is expected to say; that it was said is not recorded")

    def fields(self, metadata: dict[str, Any]) -> dict[str, Any]:
        """Native fields of the script."""
        used = {"utterances": self._used} if self._used else {}
        incomplete = {"agent_pov_incomplete": True} if self._wordless else {}
        return {"messages": self._messages, **incomplete, "metadata": self._notes.into({**metadata, **used})}

    def add(self, step: Step) -> None:
        """Add the turn that a step is; what only steers the test is noted."""
        if step.sender not in SENDERS:
            raise NotAConversationError(f"a step is of {step.sender!r}, not of one of {', '.join(SENDERS)}")
        turn = len(self._messages) + 1
        words: list[str] = []
        parts: list[dict[str, Any]] = []
        for line in step.lines:
            command = _command(line, step.sender)
            if command is not None and command.optional:
                self._notes.add("the bot may leave this out", turn)
            if command is None:
                words.append(as_text(line))
            elif command.name in _HOOKS or step.sender not in ("me", "bot"):
                self._notes.add(f"'{' '.join(filter(None, command[:2]))}' left out", turn)
            elif command.name == _WORDS and not command.negated:
                words.append(command.arguments)
            else:
                parts.append(_part(command, step.sender))
        text = "\n".join(words).strip()
        if step.sender in ("me", "bot"):
            self._say(step.sender, text, parts)
        elif text:
            self._notes.add(f"the section {step.sender!r} left out: {text!r}")

    def _say(self, sender: str, text: str, parts: list[dict[str, Any]]) -> None:
        turn = len(self._messages) + 1
        text, optional, negated = _marks(text) if sender == "bot" else (text, False, False)
        if optional:
            self._notes.add("the bot may leave this out", turn)
        if negated:
            parts, text = [{"type": "must_not_say", "text": text}, *parts], ""
        if text in self._utterances:
            self._used[text] = self._utterances[text]
            self._notes.add(f"{text!r} stands for one of its utterances, which are in the metadata", turn)
        if sender == "bot" and not text:
            self._wordless = True
            self._notes.add("what the bot says is not in the script", turn)
        content = [*([{"type": "text", "text": text}] if text else []), *parts] if parts else text
        self._messages.append({"role": "user" if sender == "me" else "assistant", "content": content})


def _command(line: Any, sender: str) -> _Command | None:
    """What a line commands; None where it is words."""
    if is_mapping(line):
        return _of_mapping(line)
    text, optional, negated = _marks(as_text(line))
    word, _, arguments = text.partition(" ")
    asserted = sender == "bot" and (word in _ASSERTERS or word.startswith(f"{_WORDS}_") or word == _WORDS)
    known = word in _HOOKS or asserted or (sender == "me" and word in _INPUTS)
    if not word or (not known and sender in ("me", "bot")):
        return None
    return _Command(word, arguments.strip(), optional, negated)


def _of_mapping(line: dict[str, Any]) -> _Command:
    """A command as an object: `{"asserter": name, "args": ...}`, or `{name: args}`."""
    key = next((key for key in line if key.lower() in ("asserter", "logichook", "userinput")), None)
    if key is not None:
        marked = line.get("optional") is True, line.get("not") is True
        return _Command(as_text(line[key]), _joined(line.get("args")), *marked)
    given, arguments = next(iter(line.items()), ("", None))
    marked_so = re.sub(r"^(\??)NOT_", r"\1!", re.sub(r"^OPTIONAL_", "?", given))
    command, optional, negated = _marks(marked_so)
    return _Command(command, _joined(arguments), optional, negated)


def _joined(arguments: Any) -> str:
    """Arguments as Botium writes them on one line."""
    if is_list(arguments):
        return "|".join(map(as_text, arguments))
    return "" if arguments is None else as_text(arguments)


def _marks(text: str) -> tuple[str, bool, bool]:
    """A text without its marks, whether it is optional (`?`) and whether it is negated (`!`).

    A doubled mark is one that is meant literally.
    """
    optional = text.startswith("?") and not text.startswith("??")
    text = text.removeprefix("?")
    negated = text.startswith("!") and not text.startswith("!!")
    return text.removeprefix("!"), optional, negated


def _part(command: _Command, sender: str) -> dict[str, Any]:
    if sender == "me":
        return {"type": command.name.lower(), "text": command.arguments}
    kind = "must_not_be" if command.negated else "expected"
    return {"type": kind, "name": command.name, "text": command.arguments}
