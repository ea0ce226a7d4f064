"""The time one verdict may take with its retries and waits, from its first request's turn on.

Waiting for that turn is not counted: a long queue is no fault of the judge.
"""

from __future__ import annotations

from math import inf


class Deadline:
    """Seconds left for one verdict, on the clock of its judge's governor.

    Attributes:
        seconds: what it may take in all.
        idle_since: when its last request ended, or when it was asked for: since then it waits.
    """

    __slots__ = ("_ends", "idle_since", "seconds")

    def __init__(self, seconds: float, now: float) -> None:
        """`now` is when the verdict was asked for, on the governor's clock."""
        self.seconds = seconds
        self.idle_since = now
        self._ends = inf

    @property
    def running(self) -> bool:
        """Whether the first request has gone out."""
        return self._ends < inf

    def start(self, now: float) -> None:
        """A request goes out."""
        self._ends = min(self._ends, now + self.seconds)

    def left(self, now: float) -> float:
        """Seconds left, at most `seconds`."""
        return min(self._ends - now, self.seconds)
