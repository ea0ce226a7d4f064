"""How often the intervals of `adjudge agreement` hold the truth, over judges of known error rates.

    python benchmarks/agreement.py [--draws 500] [--confidence 0.95]

Takes the 716 labelled statements of the tests as the truth. For each judge, in each draw, it errs at its
rates, 300 of the conversations are labelled, chosen anew, and the figures are those of a run's agreement.
A judge that errs by conversation is right or wrong about all of its statements alike, which intervals that
take statements for independent don't survive; for it, conversations are made of eight statements each.

Prints a Markdown table: of the draws, which part had the truth within the interval.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from adjudge.pipeline.trust.agreement import Agreement, agreement
from adjudge.pipeline.trust.labels import Label
from adjudge.pipeline.trust.matching import Labels, judged

LABELLED = Path(__file__).parents[1] / "tests/data/labelled/conversations.jsonl.gz"
MET = {True: "met", False: "not_met"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """A judge of known error rates; `lumped` errs by conversation, not by statement."""

    tpr: float
    tnr: float
    lumped: bool = False


JUDGES = (
    Judge(tpr=0.95, tnr=0.95),
    Judge(tpr=0.9, tnr=0.8),
    Judge(tpr=0.8, tnr=0.6),
    Judge(tpr=0.98, tnr=0.7),
    Judge(tpr=0.9, tnr=0.8, lumped=True),
)


def main() -> None:
    """Draw, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--confidence", type=float, default=0.95)
    options = parser.parse_args()
    print("| tpr | tnr | errs by | accuracy | tpr | tnr | kappa | share met, corrected |")
    print("|---:|---:|---|---:|---:|---:|---:|---:|")
    for judge in JUDGES:
        held: Counter[str] = Counter()
        for draw in range(options.draws):
            held.update(holding(judge, draw, options.confidence))
        shares = " | ".join(f"{held[name] / options.draws:.3f}" for name in NAMES)
        unit = "conversation" if judge.lumped else "statement"
        print(f"| {judge.tpr} | {judge.tnr} | {unit} | {shares} |")


NAMES = ("accuracy", "tpr", "tnr", "kappa", "corrected")


def holding(judge: Judge, draw: int, confidence: float) -> Iterator[str]:
    """The names of the figures whose interval holds the truth in one draw."""
    random = Random(f"{judge} {draw}")
    truth = lumps(random) if judge.lumped else conversations()
    found = drawn(judge, truth, random)
    met = sum(label for row in truth.values() for label in row) / sum(map(len, truth.values()))
    figures = found.whole.figures(confidence)
    for name, value in expected(judge, met).items():
        interval = figures[name].interval
        if interval is not None and interval[0] <= value <= interval[1]:
            yield name
    right = found.whole.corrected(confidence)
    if right.interval is not None and right.interval[0] <= met <= right.interval[1]:
        yield "corrected"


def expected(judge: Judge, met: float) -> dict[str, float]:
    """What a judge's figures come to over very many statements of which the part `met` is."""
    agreed = met * judge.tpr + (1 - met) * judge.tnr
    says = met * judge.tpr + (1 - met) * (1 - judge.tnr)
    chance = met * says + (1 - met) * (1 - says)
    kappa = (agreed - chance) / (1 - chance)
    return {"accuracy": agreed, "tpr": judge.tpr, "tnr": judge.tnr, "kappa": kappa}


def conversations() -> dict[str, list[bool]]:
    """By conversation, the labels of its statements."""
    rows = map(json.loads, gzip.decompress(LABELLED.read_bytes()).splitlines())
    return {row["conversation_id"]: [one["label"] for one in row["labelled"]] for row in rows}


def lumps(random: Random) -> dict[str, list[bool]]:
    """The same labels, shuffled, eight to a conversation."""
    labels = [label for row in conversations().values() for label in row]
    random.shuffle(labels)
    return {f"c{start}": labels[start : start + 8] for start in range(0, len(labels), 8)}


def drawn(judge: Judge, truth: dict[str, list[bool]], random: Random) -> Agreement:
    """Agreement of a run in which `judge` errs at its rates, with about 340 statements labelled."""
    chosen = set(random.sample(sorted(truth), round(len(truth) * 300 / 639)))
    labels: list[Label] = []
    rows: list[Any] = []
    for case, row in truth.items():
        lump = random.random()
        statements: list[dict[str, Any]] = []
        for number, label in enumerate(row):
            chance = judge.tpr if label else judge.tnr
            right = (lump if judge.lumped else random.random()) < chance
            statements.append({"id": f"s{number}", "text": str(number), "decision": MET[label == right]})
            statements[-1] |= {"error": None, "judge": "main", "rationale": ""}
            if case in chosen:
                labels.append(Label(conversation_id=case, statement=str(number), label=MET[label]))
        rows.append({"conversation_id": case, "grades": [{"grader": "g", "statements": statements}]})
    return agreement(judged(((row, "") for row in rows), Labels.of(labels)))


if __name__ == "__main__":
    main()
