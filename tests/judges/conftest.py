"""Virtual time for the tests of waiting: an hour passes at once, and always in the same order."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Mapping

import pytest

from adjudge.judges.request import Evidence, JudgeRequest, Model, Prompt

IN_VIRTUAL_TIME = {"test_governor.py", "test_governed.py", "test_retry.py", "test_storm.py"}


class _Selector(selectors.DefaultSelector):
    """Where a real selector would wait for a timer, it moves the clock."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise RuntimeError("everybody waits for something that never comes")
            self.now += timeout
        return ready


class _VirtualTimeLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._timekeeper = _Selector()
        super().__init__(self._timekeeper)

    def time(self) -> float:
        return self._timekeeper.now


def pytest_asyncio_loop_factories(
    item: pytest.Item,
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """The tests named above run in virtual time, all others in real time."""
    return (
        {"virtual": _VirtualTimeLoop}
        if item.path.name in IN_VIRTUAL_TIME
        else {"real": asyncio.new_event_loop}
    )


@pytest.fixture(scope="session")
def question() -> JudgeRequest:
    """A request about one statement."""
    return JudgeRequest(
        evidence=Evidence(text='{"turn":1}', digest="e", turns=(("Hello.",),)),
        statements=("The agent greets.",),
        prompt=Prompt(name="p", system="", user="{evidence}{statements}", digest="p"),
        model=Model(name="openai/any"),
    )
