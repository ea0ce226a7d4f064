"""What is asked of a judge's agreement with people, such as `kappa>=0.6`. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

FIGURES = ("accuracy", "tpr", "tnr", "precision", "npv", "kappa", "decided", "alpha")
"""What can be asked for."""

_SHAPE = re.compile(r"\s*([a-z]+)\s*>=\s*(-?[0-9]*\.?[0-9]+)\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """The lower end of a figure's interval must reach `least`: what is claimed must hold even then."""

    figure: str
    least: float

    @classmethod
    def parse(cls, text: str) -> Requirement:
        """Read `FIGURE>=NUMBER`.

        Raises:
            ValueError: saying what is wrong with it.
        """
        found = _SHAPE.fullmatch(text)
        if found is None or found[1] not in FIGURES:
            raise ValueError(
                f"{text!r} is no requirement; write one such as 'kappa>=0.6', of {', '.join(FIGURES)}"
            )
        least = float(found[2])
        if not -1 <= least <= 1 or math.isnan(least):
            raise ValueError(f"{text!r} can never be met or missed: figures go up to 1")
        return cls(figure=found[1], least=least)

    def met(self, lower: float | None) -> bool | None:
        """Whether a lower end is enough; None where there is no interval."""
        return None if lower is None else lower >= self.least

    def __str__(self) -> str:
        """As it is written."""
        return f"{self.figure}>={self.least:g}"


def exit_code(answers: Iterable[bool | None]) -> int:
    """0 if every requirement is met, 1 if one is not, else 3: one can't be told."""
    found = list(answers)
    return 1 if False in found else 3 if None in found else 0
