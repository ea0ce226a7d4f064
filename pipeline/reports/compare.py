"""Two runs compared, as plain text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

from adjudge.pipeline.display import aligned, visible
from adjudge.pipeline.scoring import half_up
from adjudge.pipeline.trust.compare import EXIT_CODES, Comparison, Table
from adjudge.pipeline.trust.likeness import Kind
from adjudge.pipeline.trust.paired import mcnemar
from adjudge.pipeline.trust.pairing import Pair, Side
from adjudge.pipeline.trust.proportions import ends

LISTED = 20
"""Pairs of a kind that the text lists; JSON has all."""

_ABOUT: dict[Kind, str] = {
    "repeat": "the same, judged the same way, so what turns is noise of the judging",
    "agents": "other conversations, judged the same way",
    "judging": "the same conversations, judged another way",
    "unlike": "other conversations, judged another way",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A comparison and what it is of: ids and suites of run A and run B."""

    a: tuple[str, str]
    b: tuple[str, str]
    found: Comparison
    confidence: float


def compare_report(compared: Compared) -> str:
    """The report as text: the answer first, in words; ends in a newline."""
    found = compared.found
    lines = [_answer(found), ""]
    lines += [
        f"  {letter}  {visible(run_id)}  {visible(suite)}"
        for letter, (run_id, suite) in (("A", compared.a), ("B", compared.b))
    ]
    lines += [f"     {said}" for said in _about(found)]
    if found.statements.counts:
        lines += ["", *(f"  {line}" for line in aligned(list(_rows(compared))))]
    if found.statements.decided:
        lines += ["", *(f"  {said}" for said in _chances(compared))]
    lost = [pair for pair in found.flips if pair.a.met]
    lines += _listed("Lost: met in A, not in B", lost)
    lines += _listed("Gained: met in B, not in A", found.flips[len(lost) :])
    lines += _listed("Not decided in both", found.missing)
    return "\n".join(lines) + "\n"


def compare_json(compared: Compared) -> dict[str, Any]:
    """The same for programs; every pair that turned or was not decided is in it."""
    found, alike = compared.found, compared.found.likeness
    return {
        "a": {"run_id": compared.a[0], "suite": compared.a[1]},
        "b": {"run_id": compared.b[0], "suite": compared.b[1]},
        "by": found.by,
        "confidence": compared.confidence,
        "outcome": found.outcome,
        "exit_code": EXIT_CODES[found.outcome],
        "answer": _answer(found),
        "reasons": list(found.reasons),
        "about": alike.kind,
        "same_evidence": alike.same,
        "other_evidence": alike.other,
        "differences": [
            {"grader": one.grader, "what": one.what, "a": one.a, "b": one.b} for one in alike.differences
        ],
        "statements": _table_json(found.statements, compared.confidence),
        "graders": {name: _table_json(table, compared.confidence) for name, table in found.graders.items()},
        "grades": _table_json(found.grades, compared.confidence),
        "flips": [_pair_json(pair) for pair in found.flips],
        "missing": [_pair_json(pair) for pair in found.missing],
    }


def _answer(found: Comparison) -> str:
    table = found.statements
    turned = f"of {table.decided} statements decided in both, {table.lost} are lost and {table.gained} gained"
    judging = found.likeness.kind == "judging"
    match found.outcome:
        case "regression":
            return f"{'B finds less met than A' if judging else 'B is worse than A'}: {turned}"
        case "improvement":
            return f"{'B finds more met than A' if judging else 'B is better than A'}: {turned}"
        case "no difference":
            return f"No difference is shown between A and B: {turned}"
        case "undecided":
            return f"Undecided: {'; '.join(map(visible, found.reasons))}"


def _about(found: Comparison) -> Iterator[str]:
    alike = found.likeness
    both = alike.same + alike.other
    pairs = "id" if found.by == "conversation" else "test and rollout"
    yield f"{both} conversations paired by {pairs}: {_ABOUT[alike.kind]}"
    if alike.same and alike.other:
        yield f"{alike.other} of them differ"
    if not both and found.by == "conversation":
        yield "no id of A is in B; if both ran the same tests, compare them with --by test"
    for one in alike.differences:
        whose = "" if one.grader is None else f"{visible(one.grader)}: "
        yield f"{whose}{one.what}: {visible(one.a)} -> {visible(one.b)}"


def _rows(compared: Compared) -> Iterator[Sequence[str]]:
    found = compared.found
    span = f"{100 * compared.confidence:g} % interval"
    yield ["", "A", "B", "both decided", "lost", "gained", "B - A, points", span]
    yield _row("statements met", found.statements, compared.confidence)
    if len(found.graders) > 1:
        for name, table in found.graders.items():
            yield _row(f"  {name}", table, compared.confidence)
    yield _row("grades passed", found.grades, compared.confidence)


def _row(name: str, table: Table, confidence: float) -> list[str]:
    (met_a, of_a), (met_b, of_b) = table.met(0), table.met(1)
    counts = [f"{met_a} of {of_a}", f"{met_b} of {of_b}", str(table.decided)]
    difference, interval = table.difference, table.interval(confidence)
    cells = ["-" if difference is None else _points(difference), "-"]
    if interval is not None:
        cells[1] = " to ".join(_points(Fraction(end)) for end in interval)
    return [name, *counts, str(table.lost), str(table.gained), *cells]


def _chances(compared: Compared) -> Iterator[str]:
    table, what = compared.found.statements, compared.found.by
    worse, better, clusters = table.turned
    if table.lost or table.gained:
        yield (
            f"Of {clusters} {what}s {worse} lost more than they gained and {better} gained more: "
            f"{_chance(mcnemar(worse, better))} (McNemar, exact)"
        )
        yield f"Statement by statement: {_chance(mcnemar(table.lost, table.gained))}"
    found = table.detectable(compared.confidence)
    if found is None:
        yield f"{clusters} {what}s are too few to show any difference"
    else:
        least = ceil(found * clusters - 1e-9)
        yield f"A net change in {least} of {clusters} {what}s or more would be found four times in five"


def _listed(title: str, pairs: Sequence[Pair]) -> list[str]:
    if not pairs:
        return []
    lines = ["", f"  {title} ({len(pairs)})"]
    for pair in pairs[:LISTED]:
        lines.append(f"    {visible(pair.conversation)}  {visible(pair.grader)}: {visible(pair.label or '')}")
        if pair.a.met is None or pair.b.met is None:
            lines += [f"      A: {_said(pair.a)}", f"      B: {_said(pair.b)}"]
    if len(pairs) > LISTED:
        lines.append(f"    and {len(pairs) - LISTED} more; --json has all")
    return lines


def _said(side: Side) -> str:
    return visible(_word(side.met) or side.why)


def _word(met: bool | None) -> str | None:
    return None if met is None else "met" if met else "not_met"


def _table_json(table: Table, confidence: float) -> dict[str, Any]:
    interval = table.interval(confidence)
    worse, better, clusters = table.turned
    (met_a, of_a), (met_b, of_b) = table.met(0), table.met(1)
    return {
        "pairs": table.counts.total(),
        "decided_in_both": table.decided,
        "a": {"met": met_a, "decided": of_a, "missing": table.lacking(0)},
        "b": {"met": met_b, "decided": of_b, "missing": table.lacking(1)},
        "lost": table.lost,
        "gained": table.gained,
        "difference": None if table.difference is None else float(table.difference),
        **ends(interval),
        "mcnemar_p": mcnemar(table.lost, table.gained),
        "clusters": clusters,
        "clusters_worse": worse,
        "clusters_better": better,
        "clusters_mcnemar_p": mcnemar(worse, better),
        "detectable": table.detectable(confidence),
    }


def _pair_json(pair: Pair) -> dict[str, Any]:
    return {
        "conversation": pair.conversation,
        "grader": pair.grader,
        "statement": pair.label,
        "a": _word(pair.a.met),
        "b": _word(pair.b.met),
        "a_missing": pair.a.why or None,
        "b_missing": pair.b.why or None,
    }


def _points(value: Fraction) -> str:
    rounded = half_up(100 * value, 1)
    return f"{rounded:+}" if rounded else "0.0"


def _chance(p: float) -> str:
    return "p < 0.0001" if p < 0.0001 else f"p = {half_up(Fraction(p), 4)}"
