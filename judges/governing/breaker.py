"""The circuit breaker of one judge: an outage stops calls instead of burning attempts (C4)."""

from __future__ import annotations

from collections import deque
from math import inf
from typing import Literal

CONSECUTIVE = 10
"""So many transport failures in a row open the breaker."""

WINDOW = 40
"""So many last outcomes are looked at; it opens when half of them are transport failures."""

FIRST_PAUSE = 15.0
LONGEST_PAUSE = 300.0

BreakerState = Literal["closed", "open", "half_open"]


class Breaker:
    """Opens when an outage shows, then lets one probe through after 15 s, 30 s, 60 s, ... up to 5 minutes.

    An outage that will outlast `patience` seconds is not waited for (`wait` says so), so the first pause is
    at most a twentieth of it: a judge whose verdicts may take 20 s is probed after 1 s, 2 s, 4 s and 8 s.
    It is told the time and never asks for it.
    """

    def __init__(self, patience: float) -> None:
        """`patience`: seconds an outage may last before it is given up on, above 0."""
        self._patience = patience
        self._streak = 0
        self._recent: deque[bool] = deque(maxlen=WINDOW)
        self._opened = inf
        self._until = -inf
        self._reopened = 0
        self._probing = False

    def state(self, now: float) -> BreakerState:
        """`closed` lets everything through, `open` nothing, `half_open` one probe."""
        if not self._is_open:
            return "closed"
        return "open" if now < self._until else "half_open"

    def passes(self, now: float) -> bool:
        """Whether a request may go out now."""
        return not self._is_open or (now >= self._until and not self._probing)

    @property
    def room(self) -> float:
        """Requests that may be in flight: while failures follow each other, no more than would open it."""
        return max(1, CONSECUTIVE - self._streak) if self._streak else inf

    def wait(self, now: float) -> float:
        """Seconds until a request may go out, as far as known; infinite when the outage is given up on."""
        if not self._is_open or now >= self._until:
            return 0.0
        return inf if self._until - self._opened > self._patience else self._until - now

    def begin(self) -> bool:
        """A request goes out. Returns whether it is the probe; `passes` was true."""
        self._probing = self._is_open
        return self._probing

    def abandon(self, probe: bool) -> None:
        """A request ended without telling anything about the server: the next one may be the probe."""
        if probe:
            self._probing = False

    def answered(self, probe: bool) -> bool:
        """The server answered, if only to refuse. Returns whether that ended an outage."""
        if self._is_open and not probe:
            return False
        self._streak = 0
        self._recent.append(False)
        if probe:
            self._recent.clear()
            self._opened, self._until, self._reopened, self._probing = inf, -inf, 0, False
        return probe

    def failed(self, probe: bool, now: float) -> bool:
        """The transport failed. Returns whether that opened the breaker, anew or again."""
        if probe:
            self._probing = False
            self._reopened += 1
        elif self._is_open:
            return False
        else:
            self._streak += 1
            self._recent.append(True)
            if self._streak < CONSECUTIVE and not self._half_failed:
                return False
            self._streak, self._opened = 0, now
            self._recent.clear()
        first = min(FIRST_PAUSE, self._patience / 20)
        self._until = now + min(LONGEST_PAUSE, first * 2**self._reopened)
        return True

    @property
    def _is_open(self) -> bool:
        return self._opened < inf

    @property
    def _half_failed(self) -> bool:
        return len(self._recent) == WINDOW and 2 * sum(self._recent) >= WINDOW
