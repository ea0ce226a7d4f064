"""LangChain and LangGraph messages in any of their three encodings: a list, or a state that holds one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.plain import as_text, is_list, is_mapping, items, kind_of, mapping, string
from adjudge.pipeline.readers import anthropic, native, openai
from adjudge.pipeline.readers.build import NotAConversationError, one_a_file, one_a_record
from adjudge.pipeline.readers.source import Record, Source, Unreadable, first_of
from adjudge.pipeline.readers.turns import Turns, parts_of, reasoning_part

name = "langchain"

_ROLES = {
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "system": "system",
    "developer": "developer",
    "tool": "tool",
    "function": "tool",
}
_TYPES = {"human", "ai", "system", "tool", "function", "chat", "remove"}
_READ = {
    *("type", "content", "id", "name", "role", "status", "tool_call_id", "tool_calls"),
    *("invalid_tool_calls", "additional_kwargs", "example"),
}
_CALLS = {"tool_use", "tool_call", "function_call", "input_json_delta"}
"""Types of blocks that repeat the message's tool calls."""


def recognises(value: Any) -> bool:
    """Whether the first record is messages of LangChain, or holds them, or the file is one list of them."""
    if native.recognises(value) or openai.recognises(value):
        return False
    first = first_of(value)
    messages = _state(first).get("messages", value if is_message(first) else first)
    return is_message(messages) or (bool(items(messages)) and all(map(is_message, items(messages))))


def read(source: Source) -> Iterator[Conversation | Unreadable]:
    """A conversation from each record; from the whole file where its records are messages.

    Of several states of one thread the fullest is read: the others are what came before it.
    """
    first = next((record.value for record in source.records() if isinstance(record, Record)), None)
    if is_message(first):
        return one_a_file(source, _fields)
    return one_a_record(source, _Threads(source).add)


def is_message(value: Any) -> bool:
    """Whether `value` is a message in one of the three encodings."""
    message = unwrapped(value)
    known = string(message.get("type")) in _TYPES
    return (
        known and ("content" in message or message.get("type") == "remove") and "role" not in mapping(value)
    )


def unwrapped(value: Any) -> dict[str, Any]:
    """A message as `model_dump` writes it, of any of the three encodings; empty if it is none."""
    message = mapping(value)
    if is_mapping(message.get("kwargs")) and is_list(message.get("id")):
        return {
            **message["kwargs"],
            "type": _type(message["kwargs"].get("type") or (message["id"] or [""])[-1]),
        }
    if is_mapping(message.get("data")) and "content" in message["data"]:
        return {**message["data"], "type": _type(message.get("type"))}
    return {**message, "type": _type(message.get("type"))} if message else {}


def add_messages(messages: list[Any], turns: Turns) -> None:
    """Add messages. Of several with one id the last counts, at the place of the first, as in LangGraph.

    Raises:
        NotAConversationError: one of them is no message.
    """
    placed: dict[Any, dict[str, Any]] = {}
    for number, value in enumerate(messages):
        message = unwrapped(value)
        identity = string(message.get("id"))
        if message.get("type") == "remove":
            turns.notes.add(f"the agent forgot the message {identity!r} later; it is kept")
            continue
        if identity and identity in placed:
            turns.notes.add(f"an earlier form of the message {identity!r} left out")
        placed[identity or number] = message
    for message in placed.values():
        _add_message(message, turns)


class _Threads:
    """Reads the fullest state of each thread; states that name no thread, all of them."""

    def __init__(self, source: Source) -> None:
        fullest: dict[str, tuple[int, int]] = {}
        places = Counter[str]()
        for record in source.records():
            if isinstance(record, Record) and (thread := _thread(record.value)):
                places[thread] += 1
                size = len(items(_state(record.value).get("messages")))
                fullest[thread] = max(fullest.get(thread, (0, 0)), (size, places[thread]))
        self._chosen = {(thread, place) for thread, (_, place) in fullest.items()}
        self._places = Counter[str]()

    def add(self, value: Any) -> dict[str, Any] | None:
        thread = _thread(value)
        self._places[thread] += 1
        if thread and (thread, self._places[thread]) not in self._chosen:
            return None
        return _fields(value)


def _fields(value: Any) -> dict[str, Any]:
    turns = Turns()
    messages = value if is_list(value) else _state(value).get("messages")
    if not is_list(messages):
        raise NotAConversationError("'messages' is missing or no list")
    add_messages(messages, turns)
    record = dict(mapping(value))
    if is_mapping(record.pop("values", None)):
        kept = {key: held for key, held in _state(value).items() if key != "messages"}
        record |= {"values": kept} if kept else {}
    record.pop("messages", None)
    thread = _thread(value)
    beside = openai.beside(record, turns.notes)
    ended = _ended(messages)
    return {
        **({"id": thread} if thread else {}),
        **turns.fields(),
        **({"termination_reason": ended} if ended else {}),
        **beside,
        "metadata": turns.notes.into(record),
    }


def _state(value: Any) -> dict[str, Any]:
    """The graph's state that a record is, or holds as `values`."""
    record = mapping(value)
    return mapping(record.get("values")) if "messages" not in record else record


def _thread(value: Any) -> str:
    """The id of the thread that a record names, or empty."""
    record = mapping(value)
    config = mapping(mapping(record.get("config")).get("configurable"))
    holders = (record, config, mapping(record.get("checkpoint")), mapping(record.get("metadata")))
    return next((string(held["thread_id"]) for held in holders if string(held.get("thread_id"))), "")


def _add_message(message: dict[str, Any], turns: Turns) -> None:
    kind = string(message.get("type"))
    role = _ROLES.get(string(message.get("role")) if kind == "chat" else kind)
    if role is None:
        raise NotAConversationError(
            f"turn {len(turns) + 1}: not a message of LangChain: {kind_of(kind or None)}"
        )
    extra = mapping(message.get("additional_kwargs"))
    if extra.get("__openai_role__") == "developer":
        role = "developer"
    turns.close()
    parts = parts_of(message.get("content"), len(turns) + 1)
    if role == "assistant":
        _add_reply(message, parts, extra, turns)
    elif role == "tool":
        failed = message.get("status") == "error"
        said = [anthropic.block_part(part) for part in parts]
        turns.result(message.get("tool_call_id"), said, failed=failed, name=_name(message))
    else:
        turns.say(role, [anthropic.block_part(part) for part in parts], **_named(message))
    left = [key for key, value in message.items() if key not in _READ and value not in (None, "", [], {})]
    for key in left:
        turns.note(f"{key!r} left out")


def _add_reply(message: dict[str, Any], parts: list[Any], extra: dict[str, Any], turns: Turns) -> None:
    calls = items(message.get("tool_calls"))
    if not calls:
        calls = [_openai_call(call, turns) for call in items(extra.get("tool_calls"))]
    failed = items(message.get("invalid_tool_calls"))
    turns.say("assistant", None, **_named(message))
    for key, kind in (("reasoning_content", "reasoning"), ("refusal", "refusal")):
        if isinstance(extra.get(key), str) and extra[key]:
            turns.part({"type": kind, "text" if kind == "reasoning" else kind: extra[key]})
    for part in parts:
        if part.get("type") == "reasoning":
            turns.part(_reasoning(part))
        elif not (string(part.get("type")) in _CALLS and (calls or failed)):
            anthropic.add_block(part, turns)
    for call in map(mapping, calls):
        turns.call(call.get("id"), call.get("name"), call.get("args"))
    for call in map(mapping, failed):
        turns.call(call.get("id"), call.get("name"), call.get("args"))
        turns.note(f"a call's arguments could not be read: {as_text(call.get('error') or 'not JSON')}")


def _openai_call(call: Any, turns: Turns) -> dict[str, Any]:
    function = mapping(mapping(call).get("function"))
    passed = openai.arguments(function.get("arguments"), len(turns) + 1, turns.notes)
    return {"id": mapping(call).get("id"), "name": function.get("name"), "args": passed}


def _reasoning(part: dict[str, Any]) -> dict[str, Any]:
    """Reasoning as LangChain writes it, or as OpenAI's Responses do, with a summary."""
    said = [mapping(piece).get("text") for piece in items(part.get("summary"))]
    words = part.get("reasoning") or "\n\n".join(piece for piece in said if isinstance(piece, str))
    kept = {key: value for key, value in part.items() if key not in ("type", "reasoning", "summary")}
    return reasoning_part(words or None, **kept)


def _ended(messages: list[Any]) -> str:
    """Why the model stopped, where the last message is its reply; else empty."""
    last = unwrapped(messages[-1]) if messages else {}
    told = mapping(last.get("response_metadata"))
    return string(told.get("finish_reason") or told.get("stop_reason")) if last.get("type") == "ai" else ""


def _named(message: dict[str, Any]) -> dict[str, Any]:
    found = _name(message)
    return {"name": found} if found else {}


def _name(message: dict[str, Any]) -> str | None:
    return string(message.get("name")) or None


def _type(kind: Any) -> str:
    """`AIMessageChunk`, `HumanMessage` or `ai`: the type in one word."""
    return string(kind).removesuffix("Chunk").removesuffix("Message").lower()
