"""The rollouts of a test: how many passed, their scores, and the chances of k more (S10). Pure and exact."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain, repeat
from typing import Literal

from adjudge.pipeline.aggregate import missing_graders, score_of
from adjudge.pipeline.grade import ResultRow
from adjudge.pipeline.scoring import pass_at_k, pass_hat_k

Standing = Literal["flaky", "not all judged", "never passed", "always passed"]
"""What the rollouts of a test come to; the first comes first in a table."""


@dataclass(slots=True, kw_only=True)
class RolloutGroup:
    """The rollouts of one test under one grader (S10).

    Attributes:
        task: the test's name.
        title: the test's title, or None.
        grader: the grader's name.
        file: where the conversations are from, if another file has a different test of that name; else empty.
        n: all rollouts, those without a score included.
        passed: how many of all `n` passed.
        scores: the exact scores of the scored rollouts, in order.
    """

    task: str
    title: str | None
    grader: str
    file: str = ""
    n: int = 0
    passed: int = 0
    scores: list[Fraction] = field(default_factory=list[Fraction])

    @property
    def errored(self) -> int:
        """Rollouts without a score: errored, not graded, or without a trace."""
        return self.n - len(self.scores)

    @property
    def standing(self) -> Standing:
        """`flaky` where some passed and some failed; a rollout without a score is neither."""
        failed = len(self.scores) - self.passed
        if self.passed and failed:
            return "flaky"
        if self.errored:
            return "not all judged"
        return "never passed" if failed else "always passed"

    @property
    def mean(self) -> Fraction | None:
        """Mean of the scored rollouts; None where there is none."""
        return sum(self.scores, Fraction(0)) / len(self.scores) if self.scores else None

    @property
    def variance(self) -> Fraction | None:
        """Variance of the scores (divided by their count less one); None of fewer than two."""
        mean = self.mean
        if mean is None or len(self.scores) < 2:
            return None
        return sum(((value - mean) ** 2 for value in self.scores), Fraction(0)) / (len(self.scores) - 1)

    @property
    def sizes(self) -> list[int]:
        """The `k` whose chances are worth showing: 1, 2, 4, ... and `n`; none for a single rollout."""
        powers = (1 << power for power in range(self.n.bit_length()))
        return sorted({k for k in powers if k <= self.n} | {self.n}) if self.n > 1 else []

    def pass_at(self, k: int) -> tuple[Fraction, Fraction]:
        """Lowest and highest chance that one of `k` rollouts passes, given those without a score (S13)."""
        return pass_at_k(self.passed, self.n, k), pass_at_k(self.passed + self.errored, self.n, k)

    def pass_hat(self, k: int) -> tuple[Fraction, Fraction]:
        """Lowest and highest chance that all of `k` rollouts pass, given those without a score (S13)."""
        return pass_hat_k(self.passed, self.n, k), pass_hat_k(self.passed + self.errored, self.n, k)


@dataclass(slots=True, kw_only=True)
class Rollouts:
    """The rollouts of a run.

    Attributes:
        groups: one a test and grader, in the order they first appear.
        without_test: conversations that name no test: they are repeats of nothing.
    """

    groups: list[RolloutGroup] = field(default_factory=list[RolloutGroup])
    without_test: int = 0


def rollouts_of(rows: Iterable[ResultRow], sources: Iterable[str] = ()) -> Rollouts:
    """The rollouts of each test and grader of a run. Keeps scores and numbers, not rows.

    A test of one name in several files is one test if the files number its rollouts and no number comes
    twice, as where each file holds one rollout of everything. Else each file has a test of its own: nothing
    says that they are the same.

    Args:
        rows: the run's results.
        sources: the file of each row, as far as it is known.
    """
    found = Rollouts()
    groups: dict[str, dict[str, dict[str, RolloutGroup]]] = {}
    numbers: dict[str, dict[str, list[int | None]]] = {}
    for row, file in zip(rows, chain(sources, repeat("")), strict=False):
        test = row["test"]
        if test is None:
            found.without_test += 1
            continue
        numbers.setdefault(test, {}).setdefault(file, []).append(row["rollout"])
        _add(groups.setdefault(test, {}).setdefault(file, {}), test, row)
    for test, by_file in groups.items():
        if several_tests(numbers[test].values()):
            for file, by_grader in by_file.items():
                found.groups += (_of_file(group, file) for group in by_grader.values())
        else:
            found.groups += _joined(chain.from_iterable(part.values() for part in by_file.values()))
    return found


def several_tests(numbers: Iterable[Sequence[int | None]]) -> bool:
    """Whether rollouts of one name, their numbers given file by file, are of a test each (`rollouts_of`)."""
    files = list(numbers)
    together = list(chain.from_iterable(files))
    return len(files) > 1 and (None in together or len(set(together)) < len(together))


def _add(groups: dict[str, RolloutGroup], test: str, row: ResultRow) -> None:
    for grader in (*(grade["grader"] for grade in row["grades"]), *missing_graders(row)):
        if grader not in groups:
            groups[grader] = RolloutGroup(task=test, title=row["title"], grader=grader)
        groups[grader].n += 1
    for grade in row["grades"]:
        value = score_of(grade)
        groups[grade["grader"]].passed += grade["result"] == "passed"
        if value is not None:
            groups[grade["grader"]].scores.append(value)


def _of_file(group: RolloutGroup, file: str) -> RolloutGroup:
    group.file = file
    return group


def _joined(groups: Iterable[RolloutGroup]) -> Iterable[RolloutGroup]:
    joined: dict[str, RolloutGroup] = {}
    for group in groups:
        whole = joined.setdefault(group.grader, group)
        if whole is not group:
            whole.n += group.n
            whole.passed += group.passed
            whole.scores += group.scores
    return joined.values()
