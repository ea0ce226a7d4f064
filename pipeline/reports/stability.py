"""How stable a run's verdicts are, as plain text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from adjudge.pipeline.display import aligned, visible
from adjudge.pipeline.grade import SpentRow
from adjudge.pipeline.scoring import half_up
from adjudge.pipeline.trust.figures import Figure
from adjudge.pipeline.trust.proportions import ends, wilson
from adjudge.pipeline.trust.stability import Case, Repeats, Stability

LISTED = 20
"""Statements and cases that the text lists; JSON has all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    """All that a report says.

    Attributes:
        samples: how often each judge was to be asked, the run's own answers included.
        spent: on asking again.
    """

    run_id: str
    samples: int
    confidence: float
    found: Stability
    spent: SpentRow


def stability_report(told: Repetition) -> str:
    """The report as text: the answer first; ends in a newline."""
    found = told.found
    rate = found.whole.rate(told.confidence)
    if rate.value is None:
        lines = [f"Nothing of run {visible(told.run_id)} was decided more than once", ""]
    else:
        said = f"{found.whole.flips} of {rate.n} repeats decide otherwise"
        lines = [f"{said}: {_rate(rate)} ({100 * told.confidence:g} %: {_interval(rate)})", ""]
    lines += [f"  {line}" for line in _counts(told)]
    parts = sorted(found.parts.items(), key=lambda part: -_share(part[1], told.confidence))
    if parts:
        lines += ["", *(f"  {line}" for line in _table(parts[:LISTED], told.confidence))]
        lines += [f"  and {len(parts) - LISTED} more; --json has all"] if len(parts) > LISTED else []
    if found.flipped:
        lines += ["", f"  Flipped ({len(found.flipped)})"]
        lines += [line for case in found.flipped[:LISTED] for line in _flipped(case)]
        more = len(found.flipped) - LISTED
        lines += [f"    and {more} more; --json has all"] if more > 0 else []
    return "\n".join(lines) + "\n"


def stability_json(told: Repetition, cases: list[Case], exit_code: int) -> dict[str, Any]:
    """The same for programs, with every case of `cases`."""
    found = told.found
    return {
        "run_id": told.run_id,
        "samples": told.samples,
        "confidence": told.confidence,
        "statements": found.statements,
        "could_turn": found.could_turn,
        "ungraded": found.ungraded,
        "repeated": found.whole.cases,
        "overall": _repeats_json(found.whole, told.confidence),
        "parts": [
            {"grader": grader, "statement": text, "cases": part.cases, **_repeats_json(part, told.confidence)}
            for (grader, text), part in found.parts.items()
        ],
        "cases": [_case_json(case, told.confidence) for case in cases],
        "spent": told.spent,
        "exit_code": exit_code,
    }


def _counts(told: Repetition) -> Iterator[str]:
    found, spent = told.found, told.spent
    yield f"{found.statements} statements were judged; {found.could_turn} could turn their grade by a flip"
    if found.ungraded:
        yield f"{found.ungraded} have a grade that errored, which has no result to turn"
    asked = f"{found.whole.cases} were asked up to {told.samples} times each"
    yield f"{asked}: {spent['calls']} calls now, {spent['cached']} answers known already"
    if found.whole.errors:
        causes = ", ".join(f"{cause} {count}" for cause, count in sorted(found.whole.errors.items()))
        yield f"{found.whole.errors.total()} answers errored and are no repeats: {causes}"
    hang = {(case.conversation_id, case.grader) for case in found.flipped if case.could_turn}
    if hang:
        yield f"{len(hang)} grades hang on a statement that flipped"


def _table(parts: list[tuple[tuple[str, str], Repeats]], confidence: float) -> list[str]:
    rows = [["", "flips", "repeats", "rate", f"{100 * confidence:g} % interval"]]
    for (grader, text), part in parts:
        rate = part.rate(confidence)
        rows.append([f"{grader}: {_short(text)}", str(part.flips), str(rate.n), _rate(rate), _interval(rate)])
    return aligned(rows)


def _flipped(case: Case) -> Iterator[str]:
    place = f"{visible(case.grader)} s{case.place + 1}"
    yield f"    {visible(case.conversation_id)}  {place}: {visible(case.statement)}"
    for judge, words in case.words.items():
        yield f"      {visible(judge)}: {', '.join(words)}"


def _repeats_json(part: Repeats, confidence: float) -> dict[str, Any]:
    rate = part.rate(confidence)
    return {
        "flips": part.flips,
        "repeats": rate.n,
        "flip_rate": None if rate.value is None else float(rate.value),
        **ends(rate.interval),
        "errors": _sorted(part.errors),
    }


def _case_json(case: Case, confidence: float) -> dict[str, Any]:
    interval = wilson(case.flips, case.repeats, confidence) if case.repeats else None
    return {
        "conversation_id": case.conversation_id,
        "grader": case.grader,
        "id": f"s{case.place + 1}",
        "statement": case.statement,
        "could_turn": case.could_turn,
        "decision": case.counted,
        "decisions": {judge: list(words) for judge, words in case.words.items()},
        "flips": case.flips,
        "repeats": case.repeats,
        "flip_rate": case.flips / case.repeats if case.repeats else None,
        **ends(interval),
        "errors": _sorted(case.errors),
    }


def _share(part: Repeats, confidence: float) -> Fraction:
    return part.rate(confidence).value or Fraction(0)


def _sorted(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items()))


def _rate(figure: Figure) -> str:
    return "-" if figure.value is None else f"{half_up(100 * figure.value, 1)} %"


def _interval(figure: Figure) -> str:
    if figure.interval is None:
        return "-"
    low, high = (half_up(Fraction(100 * end), 1) for end in figure.interval)
    return f"{low} to {high} %"


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"
