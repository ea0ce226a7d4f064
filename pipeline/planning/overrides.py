"""What a command line, or a call from Python, changes of a suite for one run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adjudge.judges.failure import UsageError
from adjudge.pipeline.explain import unknown
from adjudge.pipeline.suite.load import ChecksGrader, JudgeSpec, StatementsGrader, Suite


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """What a command line changes of a suite. None leaves the suite's word.

    Attributes:
        model: model for every judge, asked at the provider's own address unless `api_base` is given; or
            `NAME=model` for the judge of that name.
        api_base: server address for the judges whose model is changed, or for all judges without `model`.
        graders: names of the graders to run, or empty for all.
        limit: how many conversations to take at most.
        concurrency: requests in flight per judge.
        samples: how often each judge is asked; the majority decides (J8).
        max_calls: cap on calls.
        max_cost_usd: cap on cost.
        refresh: ask again what was answered before this run (C8), in all of its legs.
    """

    model: str | None = None
    api_base: str | None = None
    graders: tuple[str, ...] = ()
    limit: int | None = None
    concurrency: int | None = None
    samples: int | None = None
    max_calls: int | None = None
    max_cost_usd: float | None = None
    refresh: bool = False

    def __post_init__(self) -> None:
        """Refuse what no command line would let through.

        Raises:
            UsageError: naming the value.
        """
        least = {"limit": 1, "concurrency": 1, "samples": 1, "max_calls": 0, "max_cost_usd": 0}
        for name, lowest in least.items():
            value = getattr(self, name)
            if value is not None and not value >= lowest:
                raise UsageError(f"{name} is {lowest} or more, not {value!r}")

    def refuse_offline(self, offline: bool) -> None:
        """Refuse to ask again where nobody may be asked.

        Raises:
            UsageError: both are wanted.
        """
        if offline and self.refresh:
            raise UsageError(
                "--refresh asks again and --offline asks nobody: leave one of them out "
                "(ADJUDGE_REFRESH and ADJUDGE_OFFLINE count, too)"
            )

    def grader(self, grader: StatementsGrader | ChecksGrader) -> StatementsGrader | ChecksGrader:
        """A grader of the suite with this command line's word on it."""
        if self.samples is None or isinstance(grader, ChecksGrader):
            return grader
        return grader.model_copy(update={"samples": self.samples})

    def judges(self, suite: Suite) -> dict[str, JudgeSpec]:
        """The suite's judges with this command line's word on them.

        Raises:
            UsageError: `model` names a judge the suite doesn't have.
        """
        chosen, changes = set(suite.judges), dict[str, Any]()
        if self.model is not None:
            name, _, model = self.model.rpartition("=")
            if name and name not in suite.judges:
                raise UsageError(f"--judge: {unknown('judge', name, suite.judges)}")
            chosen = {name} if name else chosen
            changes |= {
                "model": model,
                "api_base": None,
                "api_key_env": None,
                "headers_env": {},
                "window": None,
                "media": None,
                "price": None,
            }
        if self.api_base is not None:
            changes["api_base"] = self.api_base
        judges = {
            name: spec.model_copy(update=changes) if name in chosen else spec
            for name, spec in suite.judges.items()
        }
        if self.concurrency is None:
            return judges
        everywhere = {"max_concurrency": self.concurrency}
        return {name: spec.model_copy(update=everywhere) for name, spec in judges.items()}
