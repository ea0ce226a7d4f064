"""ShareGPT: `{"conversations": [{"from", "value"}, ...]}` a record, a system prompt and images beside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.plain import as_text, is_list, is_mapping, items, kind_of, mapping, string
from adjudge.pipeline.readers import native, openai
from adjudge.pipeline.readers.build import NotAConversationError, one_a_record
from adjudge.pipeline.readers.source import NotJsonError, Source, Unreadable, first_of, parse
from adjudge.pipeline.readers.turns import Turns, text_part

name = "sharegpt"

_ROLES = {"human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant", "system": "system"}
_CALLS = {"function_call", "tool_call"}
_RESULTS = {"observation", "tool", "tool_response", "function_response"}
_MEDIA = {"images": "image", "videos": "video", "audios": "audio"}


def recognises(value: Any) -> bool:
    """Whether the first record has a list of turns that say whom they are from."""
    if native.recognises(value) or openai.recognises(value):
        return False
    given = [mapping(turn) for turn in items(_turns_of(mapping(first_of(value))))]
    return bool(given) and all(isinstance(turn.get("from"), str) and "value" in turn for turn in given)


def read(source: Source) -> Iterator[Conversation | Unreadable]:
    """A conversation from each record."""
    return one_a_record(source, _fields)


def _fields(value: Any) -> dict[str, Any]:
    record = dict(mapping(value))
    given = _turns_of(record)
    if not is_list(given):
        raise NotAConversationError("'conversations' is missing or no list")
    record.pop("conversations" if "conversations" in record else "items")
    turns = Turns()
    if system := record.pop("system", None):
        turns.say("system", as_text(system))
    media = {kind: list(items(record.get(key))) for key, kind in _MEDIA.items()}
    for turn in given:
        _add_turn(turn, media, turns)
    for kind, left in media.items():
        if left:
            turns.notes.add(f"{len(left)} {kind} files that no turn marks are named in the metadata alone")
    if "chosen" in record and "rejected" in record:
        turns.notes.add(
            "'chosen' and 'rejected' are replies to compare, kept in the metadata: neither was said"
        )
    beside = openai.beside(record, turns.notes)
    return {**turns.fields(), **beside, "metadata": turns.notes.into(record)}


def _turns_of(record: dict[str, Any]) -> Any:
    return record.get("conversations", record.get("items"))


def _add_turn(given: Any, media: dict[str, list[Any]], turns: Turns) -> None:
    if not is_mapping(given) or not isinstance(given.get("from", given.get("role")), str):
        raise NotAConversationError(f"turn {len(turns) + 1}: a turn says whom it is from")
    speaker = string(given.get("from", given.get("role")))
    words = given.get("value", given.get("content"))
    if not isinstance(words, str):
        raise NotAConversationError(f"turn {len(turns) + 1}: 'value' must be text, not {kind_of(words)}")
    calls = _calls(words) if speaker in _CALLS else []
    if calls:
        for call in calls:
            turns.call(None, call["name"], call.get("arguments"))
    elif speaker in _RESULTS:
        turns.result(None, words)
    else:
        _add_words(speaker, words, media, turns)
    for key, value in given.items():
        if key not in ("from", "value", "role", "content") and value not in (None, "", [], {}):
            turns.note(f"{key!r} left out")


def _add_words(speaker: str, words: str, media: dict[str, list[Any]], turns: Turns) -> None:
    """What somebody says; the images and the like that it marks are named after it, in their order."""
    parts = [text_part(words)]
    for kind, files in media.items():
        marked = words.count(f"<{kind}>")
        parts += [{"type": kind, **({"url": files.pop(0)} if files else {})} for _ in range(marked)]
    turns.close()
    known = _ROLES.get(speaker)
    turns.say(known or "assistant", parts, **({} if known else {"name": speaker}))
    if speaker in _CALLS:
        turns.note("a call that is not JSON with a name, shown as text")
    elif not known:
        turns.note(f"{speaker!r} is shown as the assistant of that name")


def _calls(words: str) -> list[dict[str, Any]]:
    """The calls that a turn makes, one or a list; none if it is no JSON of calls."""
    try:
        value = parse(words.encode())
    except NotJsonError:
        return []
    found = [mapping(call) for call in (value if is_list(value) else [value])]
    return found if all(isinstance(call.get("name"), str) for call in found) else []
