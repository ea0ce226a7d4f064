"""What a `statements` grader asks about one conversation, and what it can't ask because that is too long."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from adjudge.judges.failure import Failure
from adjudge.judges.request import Evidence, JudgeRequest, Model, Prompt
from adjudge.judges.room import room, size_of, tokens
from adjudge.pipeline.conversation import Overflow
from adjudge.pipeline.planning.plan import PlannedGrader, PlannedStatement
from adjudge.pipeline.windows import Window, windows_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question to one judge.

    Attributes:
        judge: the judge's name in the suite.
        request: what it is asked.
        places: which of the grader's statements it asks about, from 0, in the order asked.
        window: the part of the conversation it is about; None is all of it.
        refused: why the judge must not be asked, if so: it is too long (J7). An answer known already counts.
    """

    judge: str
    request: JudgeRequest
    places: tuple[int, ...]
    window: Window | None = None
    refused: Failure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _View:
    """How a judge is shown a conversation: whole if `too_long` is empty, else in its windows, if any."""

    too_long: str = ""
    windows: Sequence[Window] = ()


def questions(
    grader: PlannedGrader,
    statements: Sequence[PlannedStatement],
    evidence: Mapping[str, Evidence],
    *,
    models: Mapping[str, Model],
    limits: Mapping[str, int],
    prompt: Prompt,
    conversation: str,
) -> Iterator[Question]:
    """Every question `grader` asks about one conversation: by statement (or all at once), judge, sample.

    Of a conversation too long for a judge, each window is asked about, for statements that say how windows
    decide them; a question about any other statement is refused.

    Args:
        evidence: what each judge is shown, by its name.
        models: the judges' models, by name.
        limits: how many tokens a judge reads at once, by its name, where that is known.
        conversation: its id.
    """
    if not statements:
        return
    everything = tuple(range(len(statements)))
    groups = [everything] if grader.calls == "per_grader" else [(place,) for place in everything]
    longest = max(groups, key=lambda places: sum(tokens(statements[place].text) for place in places))
    texts = [statements[place].text for place in longest]
    rooms = {name: room(limits[name], models[name], prompt, texts) for name in limits.keys() & grader.judges}
    views = {name: _view(name, evidence[name], limits, rooms, grader.overflow) for name in grader.judges}
    for places in groups:
        label = "all" if grader.calls == "per_grader" else f"s{places[0] + 1}"
        for judge in grader.judges:
            for sample in range(grader.samples):
                unit = "/".join((conversation, grader.name, label, judge, str(sample)))
                for some, window, refused in _parts(statements, places, views[judge]):
                    yield Question(
                        judge=judge,
                        places=some,
                        window=window,
                        refused=refused,
                        request=JudgeRequest(
                            evidence=evidence[judge] if window is None else window.evidence,
                            statements=tuple(statements[place].text for place in some),
                            prompt=prompt,
                            model=models[judge],
                            calls=grader.calls,
                            sample=sample,
                            require_citations=grader.citations == "require",
                            unit=unit if window is None else f"{unit}/w{window.number}",
                        ),
                    )


def _view(
    judge: str, evidence: Evidence, limits: Mapping[str, int], rooms: Mapping[str, int], overflow: Overflow
) -> _View:
    size, left = size_of(evidence), rooms.get(judge)
    if left is None or size <= left:
        return _View()
    reads = f"reads {limits[judge]:,} at once and has room for {max(left, 0):,}"
    too_long = f"about {size:,} tokens of evidence; judge {judge!r} {reads}"
    if overflow == "errored":
        return _View(too_long=f"{too_long}: ask a judge that reads more, or set `overflow: windows`")
    windows = windows_of(evidence, left)
    if not windows:
        return _View(too_long=f"{too_long}, too little for windows: ask a judge that reads more")
    return _View(too_long=f"{too_long}: ask it in windows by `over_windows: any` or `all`", windows=windows)


def _parts(
    statements: Sequence[PlannedStatement], places: tuple[int, ...], view: _View
) -> Iterator[tuple[tuple[int, ...], Window | None, Failure | None]]:
    """The questions about `places` to one judge: which of them, about what, and why it is refused."""
    if not view.too_long:
        yield places, None, None
        return
    by_windows = tuple(place for place in places if view.windows and statements[place].over_windows)
    whole = tuple(place for place in places if place not in by_windows)
    if whole:
        yield whole, None, Failure(cause="input_too_long", message=view.too_long)
    if by_windows:
        for window in view.windows:
            yield by_windows, window, None
