"""The contents and parts that Gemini's APIs make a conversation of, as turns."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from adjudge.pipeline.plain import as_text, is_list, is_mapping, items, mapping, string
from adjudge.pipeline.readers.build import NotAConversationError
from adjudge.pipeline.readers.turns import Turns, media_part, reasoning_part, text_part

_ROLES = {"user": "user", "model": "assistant", "function": "user", "system": "system"}
_KINDS = {
    *("text", "functionCall", "functionResponse", "inlineData", "fileData"),
    *("executableCode", "codeExecutionResult", "thoughtSignature"),
}
_CODE = "code_execution"


class Calls:
    """The calls that wait for their results.

    Where the source has no ids, calls get one: a result then belongs to the first waiting call of its name.
    """

    def __init__(self) -> None:
        self._made = 0
        self._waiting: defaultdict[str, list[str]] = defaultdict(list)

    def make(self, name: str, identity: Any) -> str:
        """The id of another call."""
        self._made += 1
        found = as_text(identity) if identity else f"call-{self._made}"
        self._waiting[name].append(found)
        return found

    def answer(self, name: str, identity: Any) -> str | None:
        """The id of the call that a result belongs to; None where nothing of its name waits."""
        waiting = self._waiting[name]
        found = as_text(identity) if identity else (waiting[0] if waiting else None)
        if found in waiting:
            waiting.remove(found)
        return found


def is_content(value: Any) -> bool:
    """Whether `value` is a content: a role and parts, which are told apart by their keys alone."""
    content = mapping(value)
    parts = content.get("parts", [])
    if not is_list(parts) or not content.keys() <= {"role", "parts"}:
        return False
    known = ("type" not in part and _KINDS & camel(part).keys() for part in map(mapping, parts))
    return is_mapping(value) and string(content.get("role", "user")) in _ROLES and all(known)


def camel(given: dict[str, Any]) -> dict[str, Any]:
    """`given` with its keys in camelCase, as on the wire; the Python SDK writes them in snake_case."""
    return {_camel(key): value for key, value in given.items()}


def add_content(content: Any, turns: Turns, calls: Calls) -> None:
    """Add what a content says, calls or gives back.

    Raises:
        NotAConversationError: it is no content.
    """
    turn = len(turns) + 1
    role = _ROLES.get(string(mapping(content).get("role", "user")))
    parts: Any = mapping(content).get("parts") or []
    if role is None or not is_list(parts) or not all(map(is_mapping, parts)):
        raise NotAConversationError(f"turn {turn}: a content has a role user or model and a list of parts")
    said: list[dict[str, Any]] = []
    for part in map(camel, parts):
        if "functionResponse" in part:
            _add_response(mapping(part["functionResponse"]), turns, calls)
        elif role == "assistant":
            _add_part(part, turns, calls)
        else:
            said.append(_part(part))
    if said:
        turns.say(role, said)
    elif not parts:
        turns.say(role, None)


def _add_part(part: dict[str, Any], turns: Turns, calls: Calls) -> None:
    """What the model says, thinks, calls or runs."""
    call = mapping(part.get("functionCall"))
    if not call and not {"executableCode", "codeExecutionResult"} & part.keys():
        turns.part(_part(part))
        return
    if part.get("thoughtSignature"):
        turns.part(reasoning_part(thoughtSignature=part["thoughtSignature"]))
    if call:
        turns.call(calls.make(string(call.get("name")), call.get("id")), call.get("name"), call.get("args"))
    elif "executableCode" in part:
        code = mapping(part["executableCode"])
        turns.call(calls.make(_CODE, code.get("id")), _CODE, _without(code, "id"))
    else:
        ran = mapping(part["codeExecutionResult"])
        failed = ran.get("outcome") not in (None, "OUTCOME_OK")
        output = ran.get("output")
        error = f"{ran['outcome']}: {output or ''}".rstrip(": ") if failed else None
        turns.result(
            calls.answer(_CODE, ran.get("id")), None if failed else as_text(output or ""), error=error
        )


def _add_response(given: dict[str, Any], turns: Turns, calls: Calls) -> None:
    """What a function gave back: by convention under `output`, and what went wrong under `error`."""
    name, response = string(given.get("name")), given.get("response")
    error = mapping(response).get("error")
    rest = _without(mapping(response), "error") if error else response
    rest = rest["output"] if is_mapping(rest) and rest.keys() == {"output"} else rest
    parts = [_part(camel(mapping(part))) for part in items(given.get("parts"))]
    if rest:
        parts.insert(0, text_part(as_text(rest)))
    identity = calls.answer(name, given.get("id"))
    turns.result(identity, parts, error=as_text(error) if error else None, name=name or None)


def _part(part: dict[str, Any]) -> dict[str, Any]:
    """The native part that one is which is no call and no result."""
    rest = {
        key: value for key, value in part.items() if key not in ("text", "thought", "inlineData", "fileData")
    }
    if "text" in part:
        return (reasoning_part if part.get("thought") is True else text_part)(part["text"], **rest)
    for key in ("inlineData", "fileData"):
        if key in part:
            data = camel(mapping(part[key]))
            named = {"filename": data.get("displayName"), "url": data.get("fileUri")}
            given = {name: value for name, value in named.items() if value}
            return media_part(
                data.get("mimeType"), **rest, **given, **({"data": data["data"]} if "data" in data else {})
            )
    if part.keys() == {"thoughtSignature"}:
        return reasoning_part(**part)
    return {**part, "type": next((key for key in part if key != "thoughtSignature"), "unknown")}


def _camel(key: str) -> str:
    head, *tail = key.split("_")
    return head + "".join(word[:1].upper() + word[1:] for word in tail)


def _without(given: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name != key}
