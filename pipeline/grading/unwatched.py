"""Nobody watching a run: for programs."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from adjudge.pipeline.grade import GradeRow


class Unwatched:
    """Takes in what a run says of its progress, and says nothing."""

    def __init__(self, judges: object = None) -> None:
        """`judges` would say what the judges are doing."""

    def graded(self, grade: GradeRow, /) -> None:
        """Nothing."""

    def finished(self, conversations: int, /) -> None:
        """Nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing."""
