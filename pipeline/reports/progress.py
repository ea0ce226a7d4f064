"""How far a run is, on a terminal: a bar and a line of counts. Off a terminal it does nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from adjudge.pipeline.display import visible
from adjudge.pipeline.grade import GradeRow

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

    from adjudge.judges.governing.governor import GovernorState


def judge_words(state: GovernorState) -> str:
    """What a judge is doing, in a few words."""
    if state.breaker == "shut":
        return "given up"
    if state.breaker == "open":
        return "down, tried again soon"
    if state.gate_seconds > 0:
        return f"waits {state.gate_seconds:.0f} s as the provider asked"
    return f"{state.in_flight} of {state.limit} in flight"


def _no_judges() -> Mapping[str, GovernorState]:
    return {}


class Progress:
    """Conversations done, calls, cached verdicts, errors, tokens, cost, judges' state, rate and time left.

    A context manager: the bar is there inside it. Counting is plain addition, and it is drawn from its own
    thread a few times a second, so telling it of every grade costs next to nothing.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        total: int | None = None,
        judges: Callable[[], Mapping[str, GovernorState]] = _no_judges,
        quiet: bool = False,
    ) -> None:
        """Nothing is drawn yet.

        Args:
            stream: where to draw, such as `sys.stderr`; only if it is a terminal.
            total: conversations to do; None where that is not known.
            judges: asked for each judge's state whenever the line is drawn.
            quiet: draw nothing, terminal or not.
        """
        self._stream, self._total, self._judges = stream, total, judges
        self._shown = stream.isatty() and not quiet
        self._live: Live | None = None
        self._counts = {"conversations": 0, "calls": 0, "cached": 0, "errored": 0, "tokens": 0}
        self._cost_usd = 0.0
        self._cost_unknown_calls = 0

    def __enter__(self) -> Self:
        if self._shown:
            from rich.console import Console
            from rich.live import Live

            console = Console(file=self._stream, highlight=False)
            self._live = Live(console=console, get_renderable=self._bar(), transient=True)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def advance(
        self,
        *,
        conversations: int = 0,
        calls: int = 0,
        cached: int = 0,
        errored: int = 0,
        tokens: int = 0,
        cost_usd: float = 0.0,
        cost_unknown_calls: int = 0,
    ) -> None:
        """Add to the counts: conversations done, calls made, verdicts reused, grades errored, costs."""
        counts = self._counts
        counts["conversations"] += conversations
        counts["calls"] += calls
        counts["cached"] += cached
        counts["errored"] += errored
        counts["tokens"] += tokens
        self._cost_usd += cost_usd
        self._cost_unknown_calls += cost_unknown_calls

    def graded(self, grade: GradeRow) -> None:
        """One grade was made: add what it cost, and whether it errored."""
        spent = grade["spent"]
        usage = spent["usage"]
        self.advance(
            calls=spent["calls"],
            cached=spent["cached"],
            errored=grade["result"] == "errored",
            tokens=(usage["input_tokens"] or 0) + (usage["output_tokens"] or 0),
            cost_usd=spent["cost_usd"],
            cost_unknown_calls=spent["cost_unknown_calls"],
        )

    def finished(self, conversations: int) -> None:
        """So many more conversations are done."""
        self.advance(conversations=conversations)

    def status(self) -> str:
        """The counts and the judges' state, on one line, safe for a terminal."""
        counts = self._counts
        said = [
            f"{counts['calls']} calls",
            f"{counts['cached']} cached",
            f"{counts['errored']} errored",
            f"{counts['tokens']} tokens",
            f"${self._cost_usd:.4f}" + (" and unknown" if self._cost_unknown_calls else ""),
            *(f"{name}: {judge_words(state)}" for name, state in self._judges().items()),
        ]
        return visible(", ".join(said))

    def _bar(self) -> Callable[[], RenderableType]:
        """A function that draws the bar above the status line, as both are at that moment."""
        from rich.console import Group
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar
        from rich.text import Text

        bar = Bar(
            BarColumn(), MofNCompleteColumn(), TextColumn("conversations"), TimeRemainingColumn(compact=True)
        )
        task = bar.add_task("", total=self._total)

        def draw() -> RenderableType:
            bar.update(task, completed=self._counts["conversations"])
            speed = bar.tasks[0].speed
            rate = "" if speed is None else f", {speed:.1f}/s"
            return Group(bar, Text(self.status() + rate))

        return draw
