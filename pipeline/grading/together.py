"""Waiting for several things at once, with none left behind."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

_T = TypeVar("_T")


async def together(coroutines: Iterable[Coroutine[Any, Any, _T]]) -> list[_T]:
    """The results, in order. The first error, or being canceled, ends the others and waits for their end.

    `asyncio.gather` lets them run on: one that fails while the program ends is a traceback nobody asked for.

    Raises:
        BaseException: the first error, as it is.
    """
    tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
