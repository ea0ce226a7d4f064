"""The rows of the list of conversations: as little of each as its filters and its line need."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import IO, Literal, NotRequired, Self, TypedDict

import orjson
from pydantic import ValidationError

from adjudge.judges.failure import StorageError
from adjudge.pipeline.aggregate import missing_graders, score_of
from adjudge.pipeline.conversation import Conversation, Status
from adjudge.pipeline.display import visible
from adjudge.pipeline.files import storage, undamaged
from adjudge.pipeline.grade import GradeRow, ResultRow, StatementRow
from adjudge.pipeline.reports.text import reward
from adjudge.pipeline.rundir import CONVERSATIONS, RESULTS, Run
from adjudge.pipeline.scoring import Result, combined


class GradeMark(TypedDict):
    """What the list knows of one grade. `unverified` and `split` stand only where they are true.

    Attributes:
        score: two decimals, half up; null where there is none.
        judges: who was asked about it.
        unverified: a quote of it stands in no turn.
        split: its votes or samples do not all say the same.
    """

    grader: str
    result: Result | Literal["missing"]
    score: str | None
    judges: list[str]
    unverified: NotRequired[bool]
    split: NotRequired[bool]


class ListRow(TypedDict):
    """One conversation in the list. `statements` counts what a person can label of it."""

    id: str
    test: str | None
    title: str | None
    rollout: int | None
    status: Status
    combined: str | None
    statements: int
    grades: list[GradeMark]


def list_row(row: ResultRow) -> ListRow:
    """The row of the list for one conversation."""
    statements = [grade.get("statements", []) for grade in row["grades"]]
    return {
        "id": visible(row["conversation_id"]),
        "test": None if row["test"] is None else visible(row["test"]),
        "title": None if row["title"] is None else visible(row["title"]),
        "rollout": row["rollout"],
        "status": row["status"],
        "combined": combined_text(row),
        "statements": sum(map(len, statements)),
        "grades": [*map(_mark, row["grades"]), *map(_missing, missing_graders(row))],
    }


def combined_text(row: ResultRow) -> str | None:
    """The combined score (S8), two decimals, half up, from the exact scores; None where one is missing."""
    if row["combined_score"] is None:
        return None
    value = combined([*map(score_of, row["grades"]), *[None] * len(missing_graders(row))])
    return None if value is None else reward(value)


def without_judgement(row: ListRow) -> ListRow:
    """`row` for somebody who must not know what the judge said."""
    return {**row, "combined": None, "grades": []}


def split(statement: StatementRow) -> bool:
    """Whether the votes on a statement do not all say the same (J8)."""
    return len({vote["decision"] for vote in statement.get("votes", [])}) > 1


def _mark(grade: GradeRow) -> GradeMark:
    statements = grade.get("statements", [])
    value = score_of(grade)
    mark: GradeMark = {
        "grader": visible(grade["grader"]),
        "result": grade["result"],
        "score": None if value is None else reward(value),
        "judges": sorted({visible(name) for row in statements for name in row["judge"].split("+")}),
    }
    if any(not citation["verified"] for row in statements for citation in row["citations"]):
        mark["unverified"] = True
    if any(map(split, statements)):
        mark["split"] = True
    return mark


def _missing(grader: str) -> GradeMark:
    return {"grader": visible(grader), "result": "missing", "score": None, "judges": []}


class Rows:
    """A run's conversations by number, from 0: where each stands in the run's files, and its row of the list.

    The files are held open, so that a run that is resumed meanwhile is seen as it was. Safe in threads.
    """

    def __init__(self, run: Run) -> None:
        """Read the run's results once.

        Raises:
            StorageError: if the run can't be read or is damaged.
        """
        self._opened = ExitStack()
        self._paths = run.file(RESULTS), run.file(CONVERSATIONS)
        with self._opened:
            self._results, self._conversations = map(self._lines, self._paths)
            with undamaged(self._paths[0]):
                self.listed = [orjson.dumps(list_row(self.result(number))) for number in range(len(self))]
            run.refuse_short(len(self))
            if len(self._results) > len(self._conversations):
                raise StorageError(f"{str(self._paths[1])!r} is damaged: it ends too soon; start a new run")
            self._opened = self._opened.pop_all()

    def __len__(self) -> int:
        return len(self._results)

    def result(self, number: int) -> ResultRow:
        """What was decided about a conversation."""
        return orjson.loads(self._results.read(number))

    def conversation(self, number: int) -> Conversation:
        """The conversation itself, as it was frozen.

        Raises:
            StorageError: if it is damaged.
        """
        try:
            return Conversation.model_validate_json(self._conversations.read(number))
        except ValidationError:
            raise StorageError(f"{str(self._paths[1])!r} is damaged at {number + 1}") from None

    def search(self, words: str, wanted: Callable[[int], Iterable[str]]) -> Iterator[int]:
        """The numbers of the conversations in which `words` stand, in any case.

        `wanted` says what of a conversation is searched; it is asked where the words stand anywhere in its
        lines.
        """
        needle = words.casefold()
        escaped = orjson.dumps(needle).decode()[1:-1]
        for number in range(len(self)):
            lines = self._results.read(number) + self._conversations.read(number)
            if escaped not in lines.decode("utf-8", "replace").casefold():
                continue
            if any(needle in text.casefold() for text in wanted(number)):
                yield number

    def _lines(self, path: Path) -> _Lines:
        with storage(path, "read"):
            return _Lines(self._opened.enter_context(path.open("rb")))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.close()


class _Lines:
    """The complete lines of an open file by number."""

    def __init__(self, file: IO[bytes]) -> None:
        self._descriptor = file.fileno()
        self._starts = array("q", [0])
        for line in file:
            if line.endswith(b"\n"):
                self._starts.append(self._starts[-1] + len(line))

    def __len__(self) -> int:
        return len(self._starts) - 1

    def read(self, number: int) -> bytes:
        """One line, without its newline."""
        start = self._starts[number]
        return os.pread(self._descriptor, self._starts[number + 1] - start - 1, start)
