"""A judge beside people, as plain text and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from adjudge.pipeline.display import aligned, visible
from adjudge.pipeline.scoring import half_up
from adjudge.pipeline.trust.agreement import Agreement, Disagreement, Part
from adjudge.pipeline.trust.figures import Figure
from adjudge.pipeline.trust.matching import Binary, Labels
from adjudge.pipeline.trust.proportions import Interval, ends
from adjudge.pipeline.trust.requirement import Requirement

MEANING = {
    "accuracy": "judge and people say the same",
    "tpr": "of what people call met, the judge does",
    "tnr": "of what people call not met, the judge does",
    "precision": "of what the judge calls met, people do",
    "npv": "of what the judge calls not met, people do",
    "kappa": "agreement beyond chance (Cohen)",
    "decided": "of what people decided, the judge decided too",
    "alpha": "reviewers among themselves (Krippendorff)",
}
_BEYOND_CHANCE = ("kappa", "alpha")
_WORDS: tuple[tuple[Binary, str], ...] = (("met", "met"), ("not_met", "not met"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """All that a report says.

    Attributes:
        by: what the parts of `found` are, as asked for; None where the whole is not parted.
        required: each requirement and whether it is met; None where it can't be told.
        listed: how many disagreements the text lists.
    """

    run_id: str
    found: Agreement
    labels: Labels
    confidence: float
    by: str | None
    required: Sequence[tuple[Requirement, bool | None]]
    listed: int = 20


def agreement_report(beside: Beside) -> str:
    """The report as text; ends in a newline."""
    found, whole = beside.found, beside.found.whole
    lines = [f"Run {visible(beside.run_id)} beside what people say", ""]
    lines += [f"  {said}" for said in _counts(beside)]
    if whole.pairs:
        lines += ["", *_indented(_confusion(whole))]
    lines += ["", *_figures(whole, beside.confidence)]
    if beside.by is not None:
        lines += ["", *_indented(_parts(found.parts, beside.by, beside.confidence))]
    lines += ["", *(f"  {said}" for said in _corrected(whole, beside.confidence))]
    if whole.pairs:
        lines += ["", *(f"  {said}" for said in _disagreements(found.disagreements, beside.listed))]
    if beside.required:
        figures = whole.figures(beside.confidence)
        lines += ["", *(f"  {_requirement(one, figures, met)}" for one, met in beside.required)]
    return "\n".join(lines) + "\n"


def agreement_json(beside: Beside, exit_code: int) -> dict[str, Any]:
    """The same for programs; every disagreement is in it."""
    found, whole = beside.found, beside.found.whole
    figures = whole.figures(beside.confidence)
    return {
        "run_id": beside.run_id,
        "confidence": beside.confidence,
        "labels": {
            "given": beside.labels.given,
            "stale": beside.labels.stale,
            "unused": beside.labels.unused,
            "reviewers": dict(sorted(found.reviewers.items())),
        },
        "overall": _part_json(whole, beside.confidence),
        "by": beside.by,
        "parts": {name: _part_json(part, beside.confidence) for name, part in found.parts.items()},
        "disagreements": [_disagreement_json(one) for one in found.disagreements],
        "required": [
            {"requirement": str(one), "lower": figures[one.figure].lower, "met": met}
            for one, met in beside.required
        ],
        "exit_code": exit_code,
    }


def short_text(found: Agreement, confidence: float, listed: int = 10) -> str:
    """What the end of a run says of it; ends in a newline."""
    whole = found.whole
    figures = whole.figures(confidence)
    agreed, kappa = figures["accuracy"], figures["kappa"]
    share = "" if agreed.value is None else f" ({half_up(100 * agreed.value, 0)} %, {_short_kappa(kappa)})"
    table = whole.table
    same = table["met", "met"] + table["not_met", "not_met"]
    lines = [f"  Judge and people agree on {same} of {len(whole.pairs)} labelled statements{share}"]
    if whole.pairs:
        low, high = kappa.interval or (0.0, 0.0)
        if kappa.interval is not None:
            span = f"{_two(low)} to {_two(high)}"
            lines.append(f"  Kappa lies within {span}, with {100 * confidence:g} % confidence")
        for word, said in _WORDS:
            of = table[word, "met"] + table[word, "not_met"]
            lines.append(f"  Of those a person calls {said}, the judge does in {table[word, word]} of {of}")
    if whole.errored:
        lines.append(
            f"  No decision from the judge on {whole.errored.total()} labelled statements: "
            f"{_causes(whole.errored)}"
        )
    if whole.undecidable:
        lines.append(f"  {whole.undecidable} statements that people could not decide are left out")
    lines += [
        f"    {visible(one.judged.conversation_id)} {visible(one.judged.place)}: "
        f"a person says {one.people}, the judge {one.judge}"
        for one in found.disagreements[:listed]
    ]
    if len(found.disagreements) > listed:
        lines.append(f"    and {len(found.disagreements) - listed} more; `adjudge agreement` shows all")
    return "\n".join(lines) + "\n"


def _counts(beside: Beside) -> Iterator[str]:
    whole, labels = beside.found.whole, beside.labels
    given = ", ".join(
        f"{visible(name) or 'nobody named'} {count}" for name, count in sorted(beside.found.reviewers.items())
    )
    yield f"{whole.statements} statements were judged, {whole.statements - whole.unlabelled} of them labelled"
    if given:
        yield f"Labels by {given}"
    yield f"{len(whole.pairs)} are compared"
    if whole.errored:
        yield f"{whole.errored.total()} labelled ones have no decision by the judge: {_causes(whole.errored)}"
    if whole.undecidable:
        yield f"{whole.undecidable} people could not decide, or have no majority on"
    if labels.stale:
        yield f"{labels.stale} labels are about evidence that is another one now, so they are not used"
    if labels.unused:
        yield f"{labels.unused} labels are about conversations or statements that this run doesn't have"


def _confusion(part: Part) -> list[Sequence[str]]:
    table = part.table
    rows: list[Sequence[str]] = [["", "judge: met", "judge: not met"]]
    rows += [
        [f"people: {said}", str(table[word, "met"]), str(table[word, "not_met"])] for word, said in _WORDS
    ]
    return rows


def _figures(part: Part, confidence: float) -> list[str]:
    figures = part.figures(confidence)
    if not figures["alpha"].n:
        del figures["alpha"]
    rows: list[Sequence[str]] = [["", "", f"{100 * confidence:g} % interval", "of"]]
    rows += [
        [name, _value(name, figure), _interval(name, figure.interval), str(figure.n)]
        for name, figure in figures.items()
    ]
    meanings = ["", *(MEANING[name] for name in figures)]
    return [f"  {text}  {said}".rstrip() for text, said in zip(aligned(rows), meanings, strict=True)]


def _parts(parts: Mapping[str, Part], by: str, confidence: float) -> list[Sequence[str]]:
    shown = ("accuracy", "tpr", "tnr", "kappa")
    rows: list[Sequence[str]] = [[f"By {by}", "compared", *shown, "no decision"]]
    for name, part in parts.items():
        figures = part.figures(confidence)
        cells = [f"{_value(key, figures[key])} {_interval(key, figures[key].interval)}" for key in shown]
        rows.append([visible(name), str(len(part.pairs)), *cells, str(part.errored.total() or "-")])
    return rows


def _corrected(part: Part, confidence: float) -> Iterator[str]:
    met = part.share_met(confidence)
    if met.value is None:
        yield "The judge decided nothing, so there is no share of statements that are met"
        return
    yield f"The judge calls {_value('', met)} of {met.n} statements met"
    if part.undecided:
        hits, of = met.value * met.n, met.n + part.undecided
        low, high = (_percent(Fraction(each, of)) for each in (hits, hits + part.undecided))
        yield f"It decided nothing on {part.undecided} more; of all, {low} to {high} may be met by its word"
    found = part.corrected(confidence)
    if found.value is None or found.interval is None:
        yield f"How many are really met can't be told: {found.unusable}"
        return
    share = _percent(Fraction(found.value))
    sure = f"{100 * confidence:g} %: {_interval('', found.interval).strip('()')}"
    yield f"Given how often it errs, {share} of these are met ({sure}), if the labelled are like the others"


def _disagreements(all_of: Sequence[Disagreement], listed: int) -> Iterator[str]:
    if not all_of:
        yield "No disagreement"
        return
    yield f"{len(all_of)} disagreements"
    for one in all_of[:listed]:
        judged = one.judged
        yield f"  {visible(judged.conversation_id)} {visible(judged.place)}: {visible(judged.statement)}"
        notes = [f"{visible(label.reviewer)}: {visible(label.note)}" for label in judged.labels if label.note]
        yield f"    people say {one.people}" + (f" ({'; '.join(notes)})" if notes else "")
        yield f"    the judge says {one.judge}: {visible(judged.rationale or 'no rationale')}"
    if len(all_of) > listed:
        yield f"  and {len(all_of) - listed} more; --list shows more, --json all"


def _requirement(one: Requirement, figures: Mapping[str, Figure], met: bool | None) -> str:
    figure = figures[one.figure]
    if met is None:
        return f"{one}: can't be told, since {one.figure} has no interval here"
    lower = _two(figure.lower or 0.0)
    return f"{one}: {'met' if met else 'not met'}; the lower end is {lower}, over {figure.n}"


def _part_json(part: Part, confidence: float) -> dict[str, Any]:
    met, right = part.share_met(confidence), part.corrected(confidence)
    return {
        "statements": part.statements,
        "unlabelled": part.unlabelled,
        "undecidable": part.undecidable,
        "compared": len(part.pairs),
        "errored": dict(sorted(part.errored.items())),
        "undecided": part.undecided,
        "confusion": {
            f"people_{people}_judge_{judge}": part.table[people, judge]
            for people, _ in _WORDS
            for judge, _ in _WORDS
        },
        "figures": {name: _figure_json(figure) for name, figure in part.figures(confidence).items()},
        "share_met": _figure_json(met),
        "share_met_corrected": {
            "value": right.value,
            **ends(right.interval),
            "unusable": right.unusable,
        },
    }


def _figure_json(figure: Figure) -> dict[str, Any]:
    return {
        "value": None if figure.value is None else float(figure.value),
        **ends(figure.interval),
        "n": figure.n,
        "effective_n": figure.effective,
    }


def _disagreement_json(one: Disagreement) -> dict[str, Any]:
    judged = one.judged
    return {
        "conversation_id": judged.conversation_id,
        "grader": judged.grader,
        "place": judged.place,
        "statement": judged.statement,
        "people": one.people,
        "judge": one.judge,
        "rationale": judged.rationale,
        "notes": [{"reviewer": label.reviewer, "note": label.note} for label in judged.labels if label.note],
    }


def _indented(rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"  {text}".rstrip() for text in aligned(rows)]


def _value(name: str, figure: Figure) -> str:
    if figure.value is None:
        return "-"
    return str(half_up(figure.value)) if name in _BEYOND_CHANCE else _percent(figure.value)


def _interval(name: str, interval: Interval | None) -> str:
    if interval is None:
        return ""
    if name in _BEYOND_CHANCE:
        return f"({_two(interval[0])} to {_two(interval[1])})"
    low, high = (half_up(Fraction(100 * end), 1) for end in interval)
    return f"({low} to {high} %)"


def _percent(value: Fraction) -> str:
    return f"{half_up(100 * value, 1)} %"


def _two(value: float) -> str:
    return str(half_up(Fraction(value)))


def _short_kappa(kappa: Figure) -> str:
    return "kappa undefined" if kappa.value is None else f"kappa {half_up(kappa.value)}"


def _causes(causes: Counter[str]) -> str:
    return ", ".join(f"{cause} {count}" for cause, count in sorted(causes.items()))
