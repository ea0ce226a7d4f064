"""Anthropic messages: `{"system", "messages"}` a record, a list of messages, or a request and response."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.plain import as_text, is_list, is_mapping, items, mapping, string
from adjudge.pipeline.readers import native, openai
from adjudge.pipeline.readers.build import NotAConversationError, one_a_file, one_a_record
from adjudge.pipeline.readers.exchange import Exchange, exchange_of
from adjudge.pipeline.readers.source import Record, Source, Unreadable, first_of
from adjudge.pipeline.readers.turns import Turns, parts_of, reasoning_part

name = "anthropic"

_ROLES = {"system", "user", "assistant"}
_CALLS = {"tool_use", "server_tool_use", "mcp_tool_use"}
_BLOCKS = {"text", "image", "document", "search_result", "container_upload", "compaction"}
_TELLING = _CALLS | {
    *("thinking", "redacted_thinking", "document", "search_result", "container_upload"),
    *("tool_addition", "tool_removal"),
}
"""Types of blocks that speak for Anthropic; tool results do where they name a `tool_use_id`."""


def recognises(value: Any) -> bool:
    """Whether the first record has Anthropic's blocks, stop reasons or system prompt, and is not OpenAI's."""
    if native.recognises(value) or openai.recognises(value):
        return False
    first = first_of(value)
    found = exchange_of(first)
    if found is not None:
        kind = found.response.get("type")
        return _are_messages(found.request.get("messages")) and kind in ("message", "error")
    record = mapping(first)
    messages = record.get("messages", value if _is_message(first) else first)
    return _are_messages(messages) and ("system" in record or any(map(_is_telling, items(messages))))


def read(source: Source) -> Iterator[Conversation | Unreadable]:
    """A conversation from each record; from the whole file where its records are messages."""
    first = next((record.value for record in source.records() if isinstance(record, Record)), None)
    return (one_a_file if _is_message(first) else one_a_record)(source, _fields)


def block_part(block: dict[str, Any]) -> dict[str, Any]:
    """The part that a block is which is no call and no result."""
    kind = string(block.get("type")) or "unknown"
    if kind == "thinking":
        return reasoning_part(block.get("thinking"), **_without(block, "thinking"))
    source = mapping(block.get("source"))
    if kind == "document" and source.get("type") == "text":
        return {**block, "text": source.get("data"), "source": _without(source, "data")}
    if kind == "compaction" and isinstance(block.get("content"), str):
        return {**block, "text": block["content"]}
    return {**block, "type": kind}


def _fields(value: Any) -> dict[str, Any]:
    found = exchange_of(value)
    if found is not None:
        return _of_exchange(found)
    turns = Turns()
    record = {"messages": value} if is_list(value) else dict(mapping(value))
    messages = record.pop("messages", None)
    if not is_list(messages):
        raise NotAConversationError("'messages' is missing or no list")
    _add_messages(record.pop("system", None), messages, turns)
    native_fields = openai.beside(record, turns.notes)
    ended = mapping(messages[-1]).get("stop_reason") if messages else None
    return {
        **turns.fields(),
        **({"termination_reason": ended} if isinstance(ended, str) else {}),
        **native_fields,
        "metadata": turns.notes.into(record),
    }


def _of_exchange(found: Exchange) -> dict[str, Any]:
    turns = Turns()
    request, response = found.request, found.response
    _add_messages(request.get("system"), items(request.get("messages")), turns)
    if "content" in response:
        _add_message({"role": "assistant", "content": response["content"]}, turns)
    ended = response.get("stop_reason")
    return {
        **({"id": as_text(response["id"])} if response.get("id") else {}),
        **turns.fields(),
        **({"termination_reason": ended} if isinstance(ended, str) else {}),
        **found.outcome(),
        "metadata": turns.notes.into(found.metadata("messages", "system", "content", "role", "type")),
    }


def _add_messages(system: Any, messages: list[Any], turns: Turns) -> None:
    if system:
        turns.say("system", [block_part(block) for block in parts_of(system, 1)])
    for message in messages:
        _add_message(message, turns)
        last = message is messages[-1]
        for key, value in message.items():
            unread = key not in ("role", "content", "type") and not (last and key == "stop_reason")
            if unread and value not in (None, "", [], {}):
                turns.note(f"{key!r} left out")


def _add_message(message: Any, turns: Turns) -> None:
    """Add the turns of one message. What tools gave back is turns of its own, wherever it stands."""
    turn = len(turns) + 1
    role = string(mapping(message).get("role"))
    if role not in _ROLES:
        raise NotAConversationError(f"turn {turn}: not a message of the user, the assistant or the system")
    turns.close()
    blocks = parts_of(message.get("content"), turn)
    if not blocks:
        turns.say(role, None)
    for plain, group in groupby(blocks, lambda block: role != "assistant" and not _is_result(block)):
        if plain:
            turns.say(role, [block_part(block) for block in group])
            continue
        for block in group:
            add_block(block, turns)
    turns.close()


def add_block(block: dict[str, Any], turns: Turns) -> None:
    """Add what a block says, calls or gives back."""
    if _is_result(block):
        _add_result(block, turns)
        return
    if string(block.get("type")) in _CALLS:
        turns.call(block.get("id"), block.get("name"), block.get("input"))
        if block.get("server_name"):
            turns.note(f"a tool of the MCP server {block['server_name']!r}")
        return
    turns.part(block_part(block))
    if block.get("type") == "compaction":
        turns.incomplete = True
        turns.note("earlier turns were compacted and are not in the file")


def _add_result(block: dict[str, Any], turns: Turns) -> None:
    content = block.get("content")
    error = None
    if is_mapping(content):
        if string(content.get("type")).endswith("_error"):
            said = [content.get("error_code"), content.get("error_message")]
            error = ": ".join(as_text(part) for part in said if part) or as_text(content)
        content = None if error else as_text(content)
    parts = [block_part(part) for part in parts_of(content, len(turns) + 1)]
    turns.result(block.get("tool_use_id"), parts, failed=block.get("is_error") is True, error=error)


def _is_result(block: dict[str, Any]) -> bool:
    return string(block.get("type")).endswith("tool_result") and "tool_use_id" in block


def _is_message(value: Any) -> bool:
    message = mapping(value)
    content = message.get("content")
    known = isinstance(content, str) or (is_list(content) and all(map(_is_block, content)))
    return string(message.get("role")) in _ROLES and known


def _is_block(value: Any) -> bool:
    block = mapping(value)
    return string(block.get("type")) in _BLOCKS | _TELLING or _is_result(block)


def _are_messages(value: Any) -> bool:
    return bool(items(value)) and all(map(_is_message, items(value)))


def _is_telling(value: Any) -> bool:
    blocks = [mapping(block) for block in items(mapping(value).get("content"))]
    return "stop_reason" in mapping(value) or any(
        string(block.get("type")) in _TELLING or _is_result(block) or "source" in block for block in blocks
    )


def _without(mapped: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in mapped.items() if name != key}
