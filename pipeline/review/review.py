"""A run under review: the list, one conversation at a time, a search, and labels."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from adjudge.judges.failure import UsageError
from adjudge.pipeline.display import visible
from adjudge.pipeline.grade import GradeRow, ResultRow, StatementRow, SummaryRow
from adjudge.pipeline.planning.plan import Plan
from adjudge.pipeline.reports.run import EXIT_CODES, NEXT_STEPS, rounded
from adjudge.pipeline.review.labelling import Labelling, Place
from adjudge.pipeline.review.rows import Rows, without_judgement
from adjudge.pipeline.review.search import texts
from adjudge.pipeline.review.view import View, conversation_view, shown
from adjudge.pipeline.review.view import without_judgement as blinded
from adjudge.pipeline.rundir import Run

Number = int
"""A conversation's place in the run, from 0."""


class Review:
    """What the page asks for. Safe in threads.

    Without `labelling`, people's labels are neither shown nor taken.
    """

    def __init__(self, run: Run, rows: Rows, labelling: Labelling | None = None) -> None:
        """`rows` are those of `run`.

        Raises:
            UsageError: the run has no summary yet.
            StorageError: the run can't be read.
        """
        self._plan = run.plan()
        summary = run.summary()
        if summary is None:
            raise UsageError(f"run {run.id!r} has no summary; `adjudge resume {run.id}` finishes it")
        self._rows, self._labelling = rows, labelling
        self._head = head(summary, self._plan, labelling)
        self._options = self._plan.head.evidence_options()

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def blind(self) -> bool:
        """Whether what the judge said is hidden until the reviewer has decided."""
        return self._labelling is not None and self._labelling.blind

    def run(self) -> bytes:
        """JSON of the run: `head`, the list's `rows` by number, and `marks` of those that are labelled."""
        rows = self._rows.listed
        if self.blind:
            rows = [orjson.dumps(without_judgement(orjson.loads(row))) for row in rows]
        front = orjson.dumps({"head": self._head, "marks": self._marks()})
        return front.removesuffix(b"}") + b',"rows":[' + b",".join(rows) + b"]}"

    def conversation(self, number: Number) -> View:
        """One conversation as the page shows it, with its labels.

        Raises:
            StorageError: if it is damaged.
        """
        row = self._rows.result(number)
        view = conversation_view(row, self._rows.conversation(number), self._options)
        if self._labelling is None:
            return view
        self._labelling.read()
        labelled: set[tuple[int, str]] = set()
        for position, grade, statement, seen in _statements(row, view):
            place = _place(row, view["evidence"], grade, statement)
            mine = self._labelling.mine(place)
            if mine is not None:
                labelled.add((position, statement["id"]))
            if mine is not None or not self.blind:
                seen["labels"] = shown([_label(label) for label in self._labelling.said(place)])
                seen["mine"] = None if mine is None else shown(_label(mine))
        return blinded(view, labelled) if self.blind else view

    def search(self, words: str) -> list[Number]:
        """The conversations in which `words` stand, or in what was said of them."""

        def searched(number: Number) -> Iterator[str]:
            row, conversation = self._rows.result(number), self._rows.conversation(number)
            return texts(row, conversation, judgement=not self.blind)

        return list(self._rows.search(words, searched))

    def label(self, number: Number, grade: int, statement: str, label: str, note: str) -> dict[str, Any]:
        """Add the reviewer's label of a statement: its grade's place in the conversation, from 0, and its id.

        Returns the conversation as it is shown now, and its mark in the list.

        Raises:
            UsageError: there is no such statement, or labels are not taken.
            ValidationError: it is no label.
            StorageError: it can't be written.
        """
        if self._labelling is None:
            raise UsageError("this page takes no labels")
        row = self._rows.result(number)
        view = conversation_view(row, self._rows.conversation(number), self._options)
        every = list(_statements(row, view))
        for position, owner, asked, _ in every:
            if (position, asked["id"]) == (grade, statement):
                place = _place(row, view["evidence"], owner, asked)
                twice = sum(other["text"] == asked["text"] for _, _, other, _ in every) > 1
                self._labelling.add(place, label, note, ambiguous=twice)
                mark = self._mark(self._labelling, number, view["evidence"])
                return {"conversation": self.conversation(number), "mark": mark}
        raise UsageError(f"conversation {number + 1} has no statement {statement!r} of grade {grade}")

    def _marks(self) -> dict[str, dict[str, Any]]:
        """By number, what the list must know of conversations that have labels."""
        labelling = self._labelling
        if labelling is None:
            return {}
        labelling.read()
        conversations, evidence = labelling.conversations, labelling.evidence
        if not conversations:
            return {}
        return {
            str(number): self._mark(labelling, number, digest)
            for number, (id_, digest) in enumerate(self._planned)
            if id_ in conversations or digest in evidence
        }

    def _mark(self, labelling: Labelling, number: Number, evidence: str) -> dict[str, Any]:
        """How many statements the reviewer has labelled, and the graders somebody disagrees with."""
        row, mine, disagree = self._rows.result(number), 0, set[str]()
        for grade in row["grades"]:
            for statement in grade.get("statements", []):
                place = _place(row, evidence, grade, statement)
                mine += labelling.mine(place) is not None
                said = {label.label for label in labelling.said(place)} - {"undecidable"}
                if statement["decision"] in ("met", "not_met") and said - {statement["decision"]}:
                    disagree.add(visible(grade["grader"]))
        return {"labelled": mine, "disagrees": [] if self.blind else sorted(disagree)}

    @cached_property
    def _planned(self) -> list[tuple[str, str]]:
        """Each conversation's id and the digest of its evidence."""
        return [(planned.id, planned.evidence) for planned in self._plan.conversations()]


def head(summary: SummaryRow, plan: Plan, labelling: Labelling | None = None) -> dict[str, Any]:
    """What the page says of the run as a whole; without what the judge said where labelling is blind."""
    front: dict[str, Any] = {
        "run_id": summary["run_id"],
        "suite": summary["suite"],
        "created": plan.head.created,
        "conversations": summary["counts"]["conversations"],
        "unreadable": [
            {"file": Path(record.file).name, "line": record.line, "reason": record.reason}
            for record in plan.tail.unreadable
        ],
        "unreadable_count": plan.tail.unreadable_count,
        "labelling": None,
    }
    if labelling is not None:
        front["labelling"] = {
            "reviewer": labelling.reviewer,
            "file": str(labelling.path),
            "blind": labelling.blind,
        }
    if labelling is None or not labelling.blind:
        front |= {
            "policy": summary["policy"],
            "exit": f"{summary['exit_code']}: {EXIT_CODES.get(summary['exit_code'], 'unknown')}",
            "graders": [
                {"grader": name, "scored": row["scored"], "selected": row["selected"]}
                | {value: rounded(row[value]) for value in ("mean", "lowest", "highest")}
                for name, row in summary["graders"].items()
            ],
            "errors": [
                {"cause": cause, "count": count, "step": NEXT_STEPS.get(cause, "")}
                for cause, count in summary["errors_by_cause"].items()
            ],
            **{name: summary[name] for name in ("calls", "cached", "cost_usd", "cost_unknown_calls")},
        }
    return shown(front)


def _place(row: ResultRow, evidence: str, grade: GradeRow, statement: StatementRow) -> Place:
    return Place(
        conversation_id=row["conversation_id"],
        evidence=evidence,
        grader=grade["grader"],
        statement=statement["text"],
    )


def _statements(row: ResultRow, view: View) -> Iterator[tuple[int, GradeRow, StatementRow, View]]:
    """Every statement of a conversation, as stored and as shown, after the place of its grade."""
    for place, (grade, seen) in enumerate(zip(row["grades"], view["grades"], strict=True)):
        for statement, also in zip(grade.get("statements", []), seen.get("statements", []), strict=True):
            yield place, grade, statement, also


def _label(label: Any) -> dict[str, Any]:
    return {name: getattr(label, name) for name in ("label", "reviewer", "at", "note", "blind")}
