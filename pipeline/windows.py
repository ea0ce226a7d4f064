"""Windows: a conversation that is longer than a judge can read, shown to it stretch by stretch (J7)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from adjudge.judges.failure import Failure
from adjudge.judges.prompt import json_line
from adjudge.judges.request import Evidence, digest
from adjudge.judges.room import tokens
from adjudge.judges.verdict import Verdict
from adjudge.pipeline.conversation import OverWindows
from adjudge.pipeline.evidence import SHOWN_AFTER, media_header

OVERLAP = 8
"""A window repeats up to this part of its room from the one before it; pieces of a turn overlap so too."""

_LEAST = 256
"""Tokens below which no window is made."""

_SCOPE = (
    "The conversation is judged window by window. Each statement is about the turns shown here, as if they "
    "were the whole conversation. What other windows show is judged there: that it is not shown here leaves "
    "no statement undetermined."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """One stretch of a conversation, as a judge is shown it.

    Attributes:
        number: its place among the conversation's windows, from 1.
        of: how many there are.
        evidence: what is shown; turns keep the numbers they have in the conversation.
        hidden: which turns it doesn't show.
        cut: which turns it shows in part, and which part of each.
    """

    number: int
    of: int
    evidence: Evidence
    hidden: tuple[str, ...]
    cut: tuple[str, ...]


def windows_of(evidence: Evidence, room: int) -> list[Window]:
    """The `evidence` of a conversation in windows of whole turns, each of at most `room` tokens.

    Every turn is in a window, and two neighbours that fit into one are in one together. A window repeats the
    last turns of the one before: as many as fit an eighth of it, or else the last one if the next turn fits
    beside it. A turn too long for a window is cut into pieces that overlap by an eighth, each with the place
    of its characters in the turn. A turn's media is shown wherever the turn or a piece of it is.
    The first line of a window says what it shows and what it doesn't.

    Work and size are linear in the evidence. No windows are made where `room` is too small for any.
    """
    first, *lines = evidence.text.split("\n")
    header: dict[str, Any] = json.loads(first)
    header.pop(SHOWN_AFTER, None)
    limit = room - _header_tokens(header, len(evidence.text))
    media = Counter[int]()
    for one in evidence.media:
        media[one.turn] += one.tokens
    if limit - max(media.values(), default=0) < _LEAST:
        return []
    whole = _Whole(evidence=evidence, header=header, units=list(_units(evidence, lines, limit, media)))
    spans = list(_spans([unit.tokens for unit in whole.units], limit))
    return [whole.window(number, len(spans), *span) for number, span in enumerate(spans, 1)]


def decide_over(rule: OverWindows, votes: Sequence[Verdict | Failure]) -> Verdict | Failure:
    """What the answers about all windows of a conversation, in their order, say about it.

    By `any`, one window in which the statement is met decides; it is not met only if each window says so.
    By `all`, one window in which it is not met decides; it is met only if each window says so. Otherwise the
    first failure is the answer, else the first `undetermined`: nothing missing is ever counted (S6, S7). The
    verdict has the words of the first window that decides, and the citations of all that do.

    Raises:
        ValueError: if there are no votes.
    """
    if not votes:
        raise ValueError("there are no windows to decide over")
    settling = "met" if rule == "any" else "not_met"
    named = [(f"window {number} of {len(votes)}", vote) for number, vote in enumerate(votes, 1)]
    failures = [(name, vote) for name, vote in named if isinstance(vote, Failure)]
    verdicts = [(name, vote) for name, vote in named if isinstance(vote, Verdict)]
    for name, verdict in verdicts:
        if verdict.decision == settling:
            return replace(verdict, rationale=f"In {name}: {verdict.rationale}")
    for name, failure in failures:
        return replace(failure, message=f"{name}: {failure.message}", attempts=())
    for name, verdict in verdicts:
        if verdict.decision == "undetermined":
            return replace(verdict, rationale=f"In {name}: {verdict.rationale}")
    name, verdict = verdicts[0]
    cited = tuple(citation for _, each in verdicts for citation in each.citations)
    return replace(verdict, rationale=f"In {name}, and so in each: {verdict.rationale}", citations=cited)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unit:
    """A line that windows are made of: a turn, a piece of one, the agent's output or a piece of that.

    Attributes:
        turn: its number; one more than there are turns is the agent's output.
        line: as it is shown.
        words: its strings, for checking citations.
        tokens: what it takes of a window, 1 or more.
        cut: which part of the turn it is, or empty.
    """

    turn: int
    line: str
    words: tuple[str, ...]
    tokens: int
    cut: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Whole:
    """A whole conversation, from which windows are taken."""

    evidence: Evidence
    header: dict[str, Any]
    units: list[_Unit]

    def window(self, number: int, of: int, start: int, seen: int, stop: int) -> Window:
        """The window of the units from `start` to before `stop`; those before `seen` were shown before."""
        shown = self.units[start:stop]
        first, last = shown[0].turn, shown[-1].turn
        rests = [
            f"the rest of {self._named(turn, turn)}" for turn in dict.fromkeys(u.turn for u in shown if u.cut)
        ]
        hidden = (self._named(1, first - 1), *rests, self._named(last + 1, self.units[-1].turn))
        hidden = tuple(filter(None, hidden))
        described = _described(
            number,
            of,
            shows=self._named(first, last),
            repeats=self._named(first, self.units[seen - 1].turn) if start < seen else "nothing",
            hidden=hidden,
        )
        media = tuple(each for each in self.evidence.media if first <= each.turn <= last)
        header = {**self.header, **media_header(media), "window": described}
        text = "\n".join([json_line(header), *(unit.line for unit in shown)])
        evidence = Evidence(
            text=text,
            digest=digest(text),
            turns=_turns(unit for unit in shown if unit.turn <= len(self.evidence.turns)),
            left_out=(*self.evidence.left_out, *(f"{what}: in other windows" for what in hidden)),
            first=first,
            media=media,
        )
        return Window(number=number, of=of, evidence=evidence, hidden=hidden, cut=tuple(self._cuts(shown)))

    def _cuts(self, shown: Sequence[_Unit]) -> Iterator[str]:
        for unit in shown:
            if unit.cut:
                yield f"{self._named(unit.turn, unit.turn)}: {unit.cut}"

    def _named(self, first: int, last: int) -> str:
        """`turn 4`, `turns 4 to 9`, `turns 4 to 9 and agent_output`; empty where there are none."""
        turns = range(first, min(last, len(self.evidence.turns)) + 1)
        output = ["agent_output"] if first <= last > len(self.evidence.turns) else []
        return " and ".join([*_turns_named(turns), *output])


def _turns_named(turns: range) -> list[str]:
    if len(turns) < 2:
        return [f"turn {number}" for number in turns]
    return [f"turns {turns[0]} to {turns[-1]}"]


def _described(number: int, of: int, *, shows: str, repeats: str, hidden: Sequence[str]) -> dict[str, Any]:
    """What the first line says of its window."""
    return {
        "number": number,
        "of": of,
        "shows": shows,
        "repeats": repeats,
        "does_not_show": hidden,
        "scope": _SCOPE,
    }


def _header_tokens(header: dict[str, Any], most: int) -> int:
    """What the first line of a window takes at most, where no number is above `most`."""
    turns = f"turns {most} to {most} and agent_output"
    rest = "the rest of agent_output"
    described = _described(most, most, shows=turns, repeats=turns, hidden=[turns, rest, rest, turns])
    return tokens(json_line({**header, "window": described})) + 1


def _turns(units: Iterable[_Unit]) -> tuple[tuple[str, ...], ...]:
    """The strings of each turn; pieces of one turn are one."""
    by_turn: dict[int, tuple[str, ...]] = {}
    for unit in units:
        by_turn[unit.turn] = (*by_turn.get(unit.turn, ()), *unit.words)
    return tuple(by_turn.values())


def _units(evidence: Evidence, lines: Sequence[str], limit: int, media: Mapping[int, int]) -> Iterator[_Unit]:
    for turn, line in enumerate(lines, 1):
        beside = media.get(turn, 0)
        size = tokens(line) + 1 + beside
        if size > limit:
            most = limit - beside
            for piece in _pieces(turn, line, most - most // OVERLAP):
                yield replace(piece, tokens=piece.tokens + beside)
        else:
            yield _Unit(turn=turn, line=line, words=evidence.turn(turn), tokens=size)


def _pieces(turn: int, line: str, limit: int) -> Iterator[_Unit]:
    """A line in pieces of at most `limit` tokens."""
    around, key, text = _taken_apart(line, limit // 4)
    size = len(text)
    most = limit - tokens(json_line({**around, "cut": _cut(size, 2 * size, size, size), key: ""})) - 2
    start = stop = 0
    while stop < size:
        seen = stop
        piece = text[start : start + 4 * most]  # a letter is a quarter of a token; nothing is less
        while tokens(json_line(piece)) > most:
            piece = piece[: len(piece) * 3 // 4]
        stop = start + len(piece)
        cut = _cut(start, seen, stop, size)
        shown = json_line({**around, "cut": cut, key: piece})
        yield _Unit(turn=turn, line=shown, words=(shown, piece), tokens=tokens(shown) + 1, cut=cut)
        start = stop - len(piece) // OVERLAP


def _cut(start: int, seen: int, stop: int, of: int) -> str:
    """Which of a text's characters a piece has, counted from 1, and how many an earlier piece has as well."""
    repeated = f", the first {seen - start} of them repeated" if seen > start else ""
    return f"only characters {start + 1} to {stop} of {of}{repeated}"


def _taken_apart(line: str, room: int) -> tuple[dict[str, Any], str, str]:
    """What stands in every piece of a line, and the key and the text of which a piece has a part.

    That is what was said, if all else is small; else it is the line's JSON.
    """
    fields: dict[str, Any] = json.loads(line)
    for key in ("text", "result", "agent_output"):
        others = {name: value for name, value in fields.items() if name != key}
        if isinstance(fields.get(key), str) and tokens(json_line(others)) <= room:
            return others, key, fields[key]
    return {name: fields[name] for name in ("turn", "role") if name in fields}, "json", line


def _spans(sizes: Sequence[int], room: int) -> Iterator[tuple[int, int, int]]:
    """Windows over units of those sizes, none above `room`.

    Of each: its first unit, the first that no earlier window shows, and the one after its last.
    """
    start = stop = 0
    while stop < len(sizes):
        seen, used = stop, sum(sizes[start:stop])
        while stop < len(sizes) and used + sizes[stop] <= room:
            used += sizes[stop]
            stop += 1
        yield start, seen, stop
        if stop < len(sizes):
            start = stop - _repeated(sizes[start:stop], room - sizes[stop], room // OVERLAP)


def _repeated(sizes: Sequence[int], most: int, wanted: int) -> int:
    """How many of the last units the next window repeats: what is `wanted`, or one if `most` allows it."""
    used = count = 0
    for size in reversed(sizes):
        used += size
        if used > (min(most, wanted) if count else most):
            break
        count += 1
    return count
