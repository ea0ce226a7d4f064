"""The items that OpenAI's Responses and Realtime APIs make a conversation of, as turns."""

from __future__ import annotations

from typing import Any

from adjudge.pipeline.plain import as_text, is_list, is_mapping, items, mapping, string
from adjudge.pipeline.readers.build import NotAConversationError
from adjudge.pipeline.readers.openai import arguments
from adjudge.pipeline.readers.turns import (
    Turns,
    error_text,
    parts_of,
    reasoning_part,
    text_part,
)

_ROLES = {"system", "developer", "user", "assistant"}
_WORDS = {"input_text", "output_text", "text", "summary_text", "reasoning_text"}
_PARTS = _WORDS | {"refusal", "input_image", "input_audio", "input_file", "output_audio", "audio"}
_SPECIAL = {"compaction", "item_reference", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response"}
_OUTPUTS = ("output", "outputs", "results", "result")
_NOT_ARGUMENTS = {"type", "id", "call_id", "status", "error", "name", "server_label", *_OUTPUTS}


def is_item(value: Any) -> bool:
    """Whether `value` is an item: a message with these APIs' parts, a call, what it gave back, reasoning."""
    item = mapping(value)
    kind = string(item.get("type"))
    if "role" in item:
        parts = item.get("content")
        known = all(string(mapping(part).get("type")) in _PARTS for part in items(parts))
        named = kind in ("", "message") and string(item["role"]) in _ROLES and "toolInvocations" not in item
        return named and known and (is_list(parts) or isinstance(parts, str))
    if kind == "reasoning":
        return "summary" in item or "encrypted_content" in item
    if kind.endswith("_call"):
        return "id" in item or "call_id" in item
    return kind in _SPECIAL or (kind.endswith("_output") and "call_id" in item)


def add_item(item: Any, turns: Turns) -> None:
    """Add what an item says, calls or gives back.

    Raises:
        NotAConversationError: it is no object, or a message of nobody known.
    """
    if not is_mapping(item):
        raise NotAConversationError(f"turn {len(turns) + 1}: an item must be an object")
    kind = string(item.get("type")) or "message"
    if kind == "message":
        _add_message(item, turns)
    elif kind == "reasoning":
        turns.part(_reasoning(item))
    elif kind.endswith("_call"):
        _add_call(item, kind, turns)
    elif kind.endswith("_output") and "call_id" in item:
        _add_output(item, turns)
    elif kind == "mcp_approval_response":
        turns.say("user", as_text(item))
    elif kind == "mcp_list_tools":
        turns.note("the list of an MCP server's tools left out")
    else:
        turns.part({**item, "type": kind})
        if kind in ("compaction", "item_reference"):
            turns.incomplete = True
            turns.note(f"turns that the {kind.replace('_', ' ')} stands for are not in the file")


def item_part(part: dict[str, Any]) -> dict[str, Any]:
    """The native part that a part of a message is. Speech is its transcript, where there is one."""
    kind = string(part.get("type"))
    if kind in _WORDS:
        return text_part(part.get("text"), **{key: value for key, value in part.items() if value != []})
    if kind.endswith("audio") and part.get("transcript") is not None:
        return text_part(part["transcript"], spoken=True)
    if kind.endswith("audio"):
        return {**part, "type": "audio"}
    if kind == "input_image":
        return {**part, "type": "image", "url": part.get("image_url")}
    if kind == "input_file":
        return {**part, "type": "file"}
    return {**part, "type": kind or "unknown"}


def _add_message(item: dict[str, Any], turns: Turns) -> None:
    role = string(item.get("role"))
    if role not in _ROLES:
        raise NotAConversationError(f"turn {len(turns) + 1}: an item is a message without a known role")
    phase = {"phase": item["phase"]} if item.get("phase") else {}
    parts = [{**item_part(part), **phase} for part in parts_of(item.get("content"), len(turns) + 1)]
    turns.say(role, parts)
    if item.get("status") == "incomplete":
        turns.note("the message was cut off")


def _reasoning(item: dict[str, Any]) -> dict[str, Any]:
    """Hidden reasoning: its text or summary where it is given, else only its encrypted form."""
    said = [*items(item.get("content")), *items(item.get("summary"))]
    words = [text for text in (mapping(part).get("text") for part in said) if isinstance(text, str)]
    kept = {key: value for key, value in item.items() if key not in ("type", "content", "summary")}
    return reasoning_part("\n\n".join(words) if words else None, **kept)


def _add_call(item: dict[str, Any], kind: str, turns: Turns) -> None:
    """A call: of the agent's own tools, answered by another item, or of a hosted one, with its result."""
    if "arguments" in item:
        passed = arguments(item["arguments"], len(turns) or 1, turns.notes)
    elif "input" in item:
        passed = item["input"]
    else:
        passed = {key: value for key, value in item.items() if key not in _NOT_ARGUMENTS}
    turns.call(item.get("call_id") or item.get("id"), item.get("name") or kind.removesuffix("_call"), passed)
    if item.get("server_label"):
        turns.note(f"a tool of the MCP server {item['server_label']!r}")
    if "call_id" not in item:
        _add_hosted_result(item, kind, turns)


def _add_hosted_result(item: dict[str, Any], kind: str, turns: Turns) -> None:
    error = item.get("error")
    given = next((item[key] for key in _OUTPUTS if item.get(key) is not None), None)
    if error is not None or item.get("status") == "failed":
        turns.result(item.get("id"), None, error=error_text(error) if error else "failed")
    elif given is None or kind == "image_generation_call":
        # The provider's tool did run: a turn without words says so, where no turn would say that it did not.
        turns.result(item.get("id"), [{"type": kind, "status": item.get("status")}])
        turns.note(f"the result of {item.get('name') or kind.removesuffix('_call')!r} is not in the file")
    else:
        turns.result(item.get("id"), _output_parts(given))


def _add_output(item: dict[str, Any], turns: Turns) -> None:
    turns.result(item["call_id"], _output_parts(item.get("output")))
    if item.get("status") == "incomplete":
        turns.note("the result was cut off")


def _output_parts(given: Any) -> list[dict[str, Any]]:
    """A result's parts: text, a list of parts of a message, or any other JSON value as text."""
    if is_list(given) and given and all(string(mapping(part).get("type")) in _PARTS for part in given):
        return [item_part(part) for part in given]
    return [] if given is None else [text_part(as_text(given))]
