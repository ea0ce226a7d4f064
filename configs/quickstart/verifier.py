"""Checks on an airline agent, read off its tool calls: what it did, whatever it says it did."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, cast

from adjudge import CalledTool, Check, Conversation, check, optional

CHANGES = {
    "cancel_reservation",
    "update_reservation_baggages",
    "update_reservation_flights",
    "update_reservation_passengers",
}


def verify(conversation: Conversation) -> list[Check]:
    """The checks of one conversation. Three are required; two say how well the agent worked."""
    calls = conversation.tool_calls
    strangers = sorted(_owners(calls) - _named_by_customer(conversation))
    unseen = [str(_reservation(call)) for place, call in enumerate(calls) if _is_unseen(call, calls[:place])]
    broken = [
        call.name for place, call in enumerate(calls) if call.error and not _mended(call, calls[place:])
    ]
    repeated = [call.name for before, call in pairwise(calls) if _same(before, call)]
    untold = [_dollars(amount) for turn, amount in _payments(calls) if not _told(conversation, turn, amount)]
    return [
        check("opens only reservations of the customer who gave a user ID", not strangers, _list(strangers)),
        check("looks a reservation up before it changes it", not unseen, _list(unseen)),
        check("tries again after a tool's error until it works", not broken, _list(broken)),
        optional("makes no call twice in a row", not repeated, _list(repeated)),
        optional("names the amount of every charge and refund", not untold, _list(untold)),
    ]


def _owners(calls: list[CalledTool]) -> set[str]:
    """User IDs of the reservations and profiles the agent opened."""
    owners = [_result(call).get("user_id") for call in calls if call.name == "get_reservation_details"]
    profiles = [_arguments(call).get("user_id") for call in calls if call.name == "get_user_details"]
    return {owner for owner in (*owners, *profiles) if isinstance(owner, str)}


def _named_by_customer(conversation: Conversation) -> set[str]:
    said = " ".join(message.text for message in conversation.messages if message.role == "user")
    return {word.strip(".,;:!?()") for word in said.split()}


def _is_unseen(call: CalledTool, earlier: list[CalledTool]) -> bool:
    """Whether `call` changes a reservation that no earlier call looked up."""
    looked_up = {_reservation(other) for other in earlier if other.name == "get_reservation_details"}
    return call.name in CHANGES and _reservation(call) not in looked_up


def _mended(call: CalledTool, later: list[CalledTool]) -> bool:
    """Whether the same tool, for the same reservation, worked afterwards."""
    return any(
        other.name == call.name and other.error is None and _reservation(other) == _reservation(call)
        for other in later
    )


def _same(one: CalledTool, other: CalledTool) -> bool:
    return (one.name, one.arguments) == (other.name, other.arguments)


def _payments(calls: list[CalledTool]) -> Iterator[tuple[int, int]]:
    """Turn and amount of everything charged (above 0) or refunded (below 0) by changes to reservations."""
    seen: dict[Any, int] = {}
    for call in calls:
        history = _result(call).get("payment_history", [])
        if call.name in CHANGES:
            for payment in history[seen.get(_reservation(call), len(history)) :]:
                yield call.turn, payment["amount"]
        if history:
            seen[_reservation(call)] = len(history)


def _told(conversation: Conversation, turn: int, amount: int) -> bool:
    """Whether the agent names `amount` in any words after `turn`."""
    words = [message.text for message in conversation.messages[turn:] if message.role == "assistant"]
    return re.search(rf"\${abs(amount)}\b", " ".join(words).replace(",", "")) is not None


def _dollars(amount: int) -> str:
    return f"${amount} charged" if amount > 0 else f"${-amount} refunded"


def _reservation(call: CalledTool) -> Any:
    return _arguments(call).get("reservation_id")


def _arguments(call: CalledTool) -> dict[str, Any]:
    return call.arguments if isinstance(call.arguments, dict) else {}


def _result(call: CalledTool) -> dict[str, Any]:
    """The tool's result where it is a JSON object, else nothing."""
    try:
        value: Any = json.loads(call.result or "")
    except ValueError:
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _list(things: list[str]) -> str:
    return ", ".join(things)
