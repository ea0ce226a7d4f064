"""What of a conversation a judge is shown: a header, then one JSON line a turn, numbered from 1 (J5)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import JsonValue

from adjudge.judges.media import MEDIA_KINDS, Media, MediaKind
from adjudge.judges.prompt import json_line
from adjudge.judges.request import Evidence, digest
from adjudge.pipeline.conversation import Conversation, Message, Part
from adjudge.pipeline.media import Passing
from adjudge.pipeline.plain import strings

_REASONING = frozenset({"reasoning", "thinking", "redacted_thinking"})

SHOWN_AFTER = "shown_after_the_text"
"""Key of the first line that lists the media shown after the last."""

_REASONING_SHOWN = (
    'Parts of type "reasoning" are what the agent thought. Nobody in the conversation saw them; they are '
    "nothing that it said or did."
)

_NAMING = ("name", "filename", "title", "media_type", "mime_type", "format", "url", "transcript", "refusal")
"""Keys that say what a part that is not text is; they stand in the part or one level below."""

_DATA = re.compile(r'(data:[^,;\s"]*(?:;[\w=.-]+)*;base64,)((?:[A-Za-z0-9+/=_-]+|\\+[nr/])+)')


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceOptions:
    """What of a conversation is shown.

    Attributes:
        tool_results: `full`, `none`, or how many characters of each result (1 or more); a cut is recorded.
        system_prompt: whether system and developer turns are shown. A judge that can't see the agent's
            instructions can't judge statements about them.
        timestamps: whether a turn's timestamp is shown, where it has one.
        metadata: names of the metadata fields shown in the header.
        media: whether images, audio and files are named only (`placeholders`), or passed to judges that take
            them (`pass`).
        reasoning: whether what the agent thought, where it is recorded in words, is shown as a part of its
            own (`visible`) or not at all (`none`).
    """

    tool_results: Literal["full", "none"] | int = "full"
    system_prompt: bool = True
    timestamps: bool = True
    metadata: tuple[str, ...] = ()
    media: Literal["placeholders", "pass"] = "placeholders"
    reasoning: Literal["none", "visible"] = "none"

    def __post_init__(self) -> None:
        if isinstance(self.tool_results, int) and self.tool_results < 1:
            raise ValueError(f"tool_results needs 1 or more characters, not {self.tool_results}")


def render(
    conversation: Conversation,
    options: EvidenceOptions | None = None,
    takes: Collection[MediaKind] = MEDIA_KINDS,
) -> Evidence:
    """The evidence of `conversation`: turn n is the n-th of its `shown` messages, always.

    Equal conversations and options give equal text. Hidden reasoning is shown only where the options say so;
    images, audio and files are named, and passed on as `media` where the options say so; the base64 of data
    URLs is cut out of any text. The header and `left_out` say what is not shown.

    Args:
        takes: the media that the judge takes beside text.
    """
    rendering = _Rendering(options or EvidenceOptions(), takes)
    shown = conversation.shown
    turns = tuple([rendering.turn(number, message) for number, message in enumerate(shown, 1)])
    left_out = rendering.summary()
    media = rendering.media
    lines = [json_line({**_header(conversation, rendering.options, left_out), **media_header(media)})]
    lines += [turn[0] for turn in turns]
    if conversation.agent_output is not None and conversation.agent_output != _last_words(shown):
        lines.append(json_line({"agent_output": conversation.agent_output}))
    text = "\n".join(lines)
    return Evidence(text=text, digest=digest(text), turns=turns, left_out=left_out, media=media)


def render_for(
    conversation: Conversation, options: EvidenceOptions, takes: Mapping[str, Collection[MediaKind]]
) -> dict[str, Evidence]:
    """The evidence as each judge is shown it, by its name. `takes` has the media that each takes.

    It differs only where media is passed on, and then between judges that take different kinds.
    """
    whole = render(conversation, options)
    if not whole.media:
        return dict.fromkeys(takes, whole)
    alike = {kinds: render(conversation, options, kinds) for kinds in map(frozenset, takes.values())}
    return {name: alike[frozenset(kinds)] for name, kinds in takes.items()}


def media_header(media: Collection[Media]) -> dict[str, Any]:
    """What the first line says of the media shown after the last."""
    if not media:
        return {}
    shown = [{"label": one.label, "media_type": one.media_type, "sha256": one.digest} for one in media]
    return {SHOWN_AFTER: shown}


def _header(
    conversation: Conversation, options: EvidenceOptions, left_out: tuple[str, ...]
) -> dict[str, Any]:
    header: dict[str, Any] = {
        "turns": len(conversation.shown),
        "by_role": Counter([message.role for message in conversation.shown]),
        "status": conversation.status,
    }
    if conversation.termination_reason is not None:
        header["termination_reason"] = conversation.termination_reason
    if conversation.error is not None:
        header["error"] = conversation.error
    if conversation.agent_pov_incomplete is not None:
        header["incomplete"] = conversation.agent_pov_incomplete
    metadata = {
        name: conversation.metadata[name] for name in options.metadata if name in conversation.metadata
    }
    if metadata:
        header["metadata"] = metadata
    if options.reasoning == "visible":
        header["reasoning"] = _REASONING_SHOWN
    if left_out:
        header["left_out"] = left_out
    return header


def _last_words(messages: list[Message]) -> str | None:
    return next((message.text for message in reversed(messages) if message.role == "assistant"), None)


class _Rendering:
    """Turns into lines, and a tally of what is not shown on the way."""

    def __init__(self, options: EvidenceOptions, takes: Collection[MediaKind]) -> None:
        self.options = options
        self._passing = Passing(takes)
        self._left_out: dict[tuple[str, str], list[tuple[int, int]]] = {}

    @property
    def media(self) -> tuple[Media, ...]:
        """The media passed on with the turns so far."""
        return tuple(self._passing.media)

    def turn(self, number: int, message: Message) -> tuple[str, ...]:
        """The line of one turn, then the unescaped strings in it."""
        line: dict[str, Any] = {"turn": number, "role": message.role}
        words: list[str] = []
        if message.name is not None:
            line["name"] = message.name
        if message.timestamp is not None and self.options.timestamps:
            line["timestamp"] = message.timestamp
        if message.tool_call_id is not None:
            line["tool_call_id"] = message.tool_call_id
        hidden = self._hidden(message)
        if hidden is None:
            words += self._content(number, message, line)
        else:
            line["left_out"] = f"{hidden}, {len(message.text)} characters"
            self._leave_out(hidden, "not selected", number, len(message.text))
        if message.tool_calls:
            line["tool_calls"] = [
                {"id": call.id, "name": call.name, "arguments": call.arguments} for call in message.tool_calls
            ]
            words += [text for call in message.tool_calls for text in strings(call.arguments)]
        if message.error is not None:
            line["error"] = message.error
            words.append(message.error)
        return (self._without_data(number, json_line(line)), *words)

    def summary(self) -> tuple[str, ...]:
        """What was left out, one line a kind: what, where, how much, why."""
        return tuple(_summed(what, why, places) for (what, why), places in self._left_out.items())

    def _hidden(self, message: Message) -> str | None:
        if message.role == "tool":
            return "tool result" if self.options.tool_results == "none" else None
        if message.role in {"system", "developer"} and not self.options.system_prompt:
            return "system prompt"
        return None

    def _content(self, number: int, message: Message, line: dict[str, Any]) -> list[str]:
        """Put the content of `message` into `line`; the strings of it that are shown."""
        content, tool = message.content, message.role == "tool"
        if content is None or (content == "" and message.tool_calls):
            return []
        pieces = [content] if isinstance(content, str) else self._pieces(number, content)
        limit = self.options.tool_results
        if tool and isinstance(limit, int):
            pieces = [
                self._cut(number, piece, limit, line) if isinstance(piece, str) else piece for piece in pieces
            ]
        texts = [piece for piece in pieces if isinstance(piece, str)]
        if len(texts) < len(pieces):
            line["parts"] = pieces
            named = [text for piece in pieces if not isinstance(piece, str) for text in strings(piece)]
            return texts + named
        line["result" if tool else "text"] = words = "\n".join(texts)
        return [words]

    def _pieces(self, number: int, parts: list[Part]) -> list[str | dict[str, Any]]:
        """The text of text parts, placeholders for the others, nothing for reasoning."""
        pieces: list[str | dict[str, Any]] = []
        for part in parts:
            if part.type == "text":
                pieces += [part.text] if part.text else []
            elif part.type in _REASONING:
                pieces += self._thought(number, part)
            elif self.options.media == "pass":
                pieces.append(self._passed(number, part))
            else:
                pieces.append(_placeholder(part))
                if not part.text:
                    self._leave_out(f"{part.type} part", "not text, so only named", number)
        return pieces

    def _thought(self, number: int, part: Part) -> list[str | dict[str, Any]]:
        """Reasoning as a part of its own where it is selected and readable."""
        why = "nothing that was said or done"
        if self.options.reasoning == "visible":
            if part.text and not _is_sealed(part):
                return [{"type": "reasoning", "text": part.text}]
            why = "encrypted, redacted or empty"
        self._leave_out("hidden reasoning", why, number, len(part.text or ""))
        return []

    def _passed(self, number: int, part: Part) -> dict[str, Any]:
        """The placeholder of a part, with the label of the media passed on for it, or why there is none."""
        found, named = self._passing.add(number, part), _placeholder(part)
        if isinstance(found, Media):
            return {**named, "shown": found.label}
        if found is not None:
            self._leave_out(f"{part.type} part", f"not shown: {found}", number)
            return {**named, "not_shown": found}
        if not part.text:
            self._leave_out(f"{part.type} part", "not text, so only named", number)
        return named

    def _cut(self, number: int, text: str, limit: int, line: dict[str, Any]) -> str:
        text = self._without_data(number, text)
        if len(text) > limit:
            over = len(text) - limit
            line["left_out"] = f"the last {over} of {len(text)} characters of the result"
            self._leave_out("rest of tool result", f"each result is cut at {limit} characters", number, over)
        return text[:limit]

    def _without_data(self, number: int, text: str) -> str:
        """`text`, which may be a line of JSON, with the base64 of data URLs cut out."""
        if ";base64," not in text:
            return text

        def cut(found: re.Match[str]) -> str:
            self._leave_out("base64 data", "not text", number, len(found[2]))
            return f"{found[1]}[{len(found[2])} characters not shown]"

        return _DATA.sub(cut, text)

    def _leave_out(self, what: str, why: str, turn: int, characters: int = 0) -> None:
        self._left_out.setdefault((what, why), []).append((turn, characters))


def _is_sealed(part: Part) -> bool:
    """Whether the words of a reasoning part are none: encrypted, or redacted by the model's provider."""
    own = part.model_extra or {}
    return part.type == "redacted_thinking" or own.get("redacted") is True or own.get("encrypted") is True


def _placeholder(part: Part) -> dict[str, Any]:
    """What names a part that is not text: its type, and short fields such as a file name or a transcript."""
    own: dict[str, JsonValue] = part.model_extra or {}
    levels = [own, *(value for value in own.values() if isinstance(value, dict))]
    named = {name: value for level in levels for name in _NAMING if (value := _named(level.get(name)))}
    return {"type": part.type, **({"text": part.text} if part.text else {}), **named}


def _named(value: JsonValue) -> str:
    """The text of a naming field; of a data URL only what stands before the data."""
    if not isinstance(value, str):
        return ""
    return value.partition(",")[0] if value.startswith("data:") else value


def _summed(what: str, why: str, places: list[tuple[int, int]]) -> str:
    turns = list(dict.fromkeys(turn for turn, _ in places))
    characters = sum(size for _, size in places)
    where = f"turn{'s' if len(turns) > 1 else ''} {', '.join(map(str, turns[:10]))}"
    more = f" and {len(turns) - 10} more" if len(turns) > 10 else ""
    size = f"; {characters} characters" if characters else ""
    return f"{what} ({where}{more}{size}): {why}"
