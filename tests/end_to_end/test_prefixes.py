"""Calls about one conversation begin alike; where the provider keeps that, one goes ahead of the others."""

from __future__ import annotations

import json
from itertools import takewhile
from time import monotonic
from typing import TYPE_CHECKING

from adjudge.testing import Reply, Request

if TYPE_CHECKING:
    from tests.end_to_end.conftest import Desk

STATEMENTS = ("The agent greets.", "The agent asks for the order.", "The agent is polite.", "The agent pays.")
SECONDS = 0.2
PRICE = {"input": 1.0, "output": 0.0, "cached_input": 0.1}


def prepared(desk: Desk, *ids: str) -> None:
    """Conversations well above the length from which providers keep beginnings."""
    texts = {name: f"This is {name}. " + "Please help me with it. " * 300 for name in ids}
    desk.conversations(
        *({"id": name, "messages": [{"role": "user", "content": text}]} for name, text in texts.items())
    )
    desk.suite(desk.grader(*STATEMENTS), judges={"main": desk.judge(price=PRICE)})


def test_all_calls_about_a_conversation_share_everything_up_to_the_statements(desk: Desk) -> None:
    prepared(desk, "c1")

    desk.run()

    sent = [request.json["messages"] for request in desk.server.requests]
    letters = zip(*(messages[1]["content"] for messages in sent), strict=False)
    shared = "".join(first for first, *_ in takewhile(lambda same: len(set(same)) == 1, letters))
    assert len(sent) == len(STATEMENTS)
    assert len({messages[0]["content"] for messages in sent}) == 1
    assert "</evidence-" in shared
    assert all(len(messages[1]["content"]) - len(shared) < 1000 for messages in sent)
    assert len(shared) > 6000


def test_one_call_goes_ahead_and_the_others_are_read_from_the_providers_cache(desk: Desk) -> None:
    prepared(desk, "c1", "c2")
    arrived: dict[str, list[float]] = {"c1": [], "c2": []}

    def answer(request: Request) -> Reply:
        name = "c1" if "This is c1." in json.dumps(request.json) else "c2"
        kept = bool(arrived[name]) and monotonic() >= arrived[name][0] + SECONDS
        arrived[name].append(monotonic())
        return Reply(delay=SECONDS, usage=(2000, 10), cached_tokens=1800 if kept else 0)

    desk.answer = answer

    assert desk.run().code == 0
    for first, *others in arrived.values():
        assert len(others) == len(STATEMENTS) - 1
        assert min(others) >= first + SECONDS
    usage = desk.summary()["usage"]
    assert usage["cached_input_tokens"] == 2 * 3 * 1800
    assert round(desk.summary()["cost_usd"] * 1e6, 6) == 2 * (2000 + 3 * (200 + 180))
