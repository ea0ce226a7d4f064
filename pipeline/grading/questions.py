"""What a `statements` grader asks about one conversation, and what it can't ask because that is too long."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from adjudge.judges.failure import Failure
from adjudge.judges.request import Evidence, JudgeRequest, Model, Prompt, key_prefix
from adjudge.judges.room import room, size_of, tokens
from adjudge.pipeline.planning.plan import PlannedGrader, PlannedStatement
from adjudge.pipeline.windows import Window, windows_of


@dataclass(slots=True, kw_only=True)  # frozen ones take three times as long, and there is one a verdict
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
    """Every question `grader` asks about one conversation: see `Asking`."""
    asking = Asking.of(grader, statements, models=models, limits=limits, prompt=prompt)
    return asking.about(conversation, evidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """What a grader asks, whichever conversation it is about.

    Attributes:
        statements: those it is asked about.
        models: the judges' models, by name.
        limits: how many tokens a judge reads at once, by its name, where that is known.
        groups: the places of the statements that one question asks about, and its name in units.
        rooms: what the largest question leaves each judge for evidence, in tokens, where that is known.
    """

    grader: PlannedGrader
    statements: Sequence[PlannedStatement]
    models: Mapping[str, Model]
    limits: Mapping[str, int]
    prompt: Prompt
    groups: Sequence[tuple[str, tuple[int, ...]]]
    rooms: Mapping[str, int]

    @classmethod
    def of(
        cls,
        grader: PlannedGrader,
        statements: Sequence[PlannedStatement],
        *,
        models: Mapping[str, Model],
        limits: Mapping[str, int],
        prompt: Prompt,
    ) -> Asking:
        """Put together what `grader` asks about `statements`."""
        groups = [(f"s{place + 1}", (place,)) for place in range(len(statements))]
        if grader.calls == "per_grader" and statements:
            groups = [("all", tuple(range(len(statements))))]
        texts = [[statements[place].text for place in places] for _, places in groups]
        longest = max(texts, key=lambda some: sum(map(tokens, some)), default=list[str]())
        known = limits.keys() & grader.judges
        rooms = {name: room(limits[name], models[name], prompt, longest) for name in known}
        return cls(
            grader=grader,
            statements=statements,
            models=models,
            limits=limits,
            prompt=prompt,
            groups=groups,
            rooms=rooms,
        )

    def about(self, conversation: str, evidence: Mapping[str, Evidence]) -> Iterator[Question]:
        """Every question about one conversation: by statement (or all at once), judge, sample.

        Of a conversation too long for a judge, each window is asked about, for statements that say how
        windows decide them; a question about any other statement is refused.

        Args:
            conversation: its id.
            evidence: what each judge is shown, by its name.
        """
        if not self.statements:
            return
        grader = self.grader
        views = {name: self._view(name, evidence[name]) for name in grader.judges}
        first: dict[tuple[str, int, int | None], JudgeRequest] = {}
        for label, places in self.groups:
            for judge in grader.judges:
                for sample in range(grader.samples):
                    unit = f"{conversation}/{grader.name}/{label}/{judge}/{sample}"
                    for some, window, refused in _parts(self.statements, places, views[judge]):
                        asked = judge, sample, window and window.number
                        if asked not in first:
                            shown = evidence[judge] if window is None else window.evidence
                            first[asked] = self._request(judge, sample, shown)
                        request = first[asked].about(
                            tuple([self.statements[place].text for place in some]),
                            unit if window is None else f"{unit}/w{window.number}",
                        )
                        yield Question(
                            judge=judge, places=some, window=window, refused=refused, request=request
                        )

    def _request(self, judge: str, sample: int, evidence: Evidence) -> JudgeRequest:
        """What all questions to `judge` about `evidence` have in common."""
        request = JudgeRequest(
            evidence=evidence,
            statements=(),
            prompt=self.prompt,
            model=self.models[judge],
            calls=self.grader.calls,
            sample=sample,
            require_citations=self.grader.citations == "require",
        )
        return replace(request, shared=key_prefix(request))

    def _view(self, judge: str, evidence: Evidence) -> _View:
        left = self.rooms.get(judge)
        if left is None or (size := size_of(evidence)) <= left:
            return _View()
        reads = f"reads {self.limits[judge]:,} at once and has room for {max(left, 0):,}"
        too_long = f"about {size:,} tokens of evidence; judge {judge!r} {reads}"
        if self.grader.overflow == "errored":
            return _View(too_long=f"{too_long}: ask a judge that reads more, or set `overflow: windows`")
        windows = windows_of(evidence, left)
        if not windows:
            return _View(too_long=f"{too_long}, too little for windows: ask a judge that reads more")
        return _View(
            too_long=f"{too_long}: ask it in windows by `over_windows: any` or `all`", windows=windows
        )


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
