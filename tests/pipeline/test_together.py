"""Waiting for several things at once, with none left behind."""

from __future__ import annotations

import asyncio

import pytest

from adjudge.pipeline.grading.together import together


async def test_results_come_in_the_order_asked() -> None:
    first = asyncio.Event()

    async def late() -> str:
        await first.wait()
        return "late"

    async def early() -> str:
        first.set()
        return "early"

    assert await together([late(), early()]) == ["late", "early"]


async def test_the_first_error_ends_the_others_before_it_is_raised() -> None:
    ended = list[str]()

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append("endless")
            raise OSError("it fails while it ends") from None

    async def failing() -> None:
        raise ValueError("first")

    with pytest.raises(ValueError, match="first"):
        await together([endless(), failing()])

    assert ended == ["endless"]


async def test_being_canceled_ends_everything_that_was_waited_for() -> None:
    begun, ended = asyncio.Event(), list[str]()

    async def endless() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("endless")

    waiting = asyncio.ensure_future(together([endless()]))
    await begun.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    assert ended == ["endless"]
