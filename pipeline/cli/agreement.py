"""What `adjudge agreement` and `adjudge labels` do."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from adjudge.judges.failure import UsageError
from adjudge.pipeline.cli.read import concluded
from adjudge.pipeline.display import json_text, visible
from adjudge.pipeline.files import whole_file, whole_lines
from adjudge.pipeline.grading.frozen import frozen_conversation
from adjudge.pipeline.plain import as_text
from adjudge.pipeline.rundir import CONVERSATIONS, Run, find_run
from adjudge.pipeline.trust.agreement import Key, agreement
from adjudge.pipeline.trust.labels import Label, append_labels, latest, read_labels, write_table
from adjudge.pipeline.trust.matching import Answer, Judged, Labels, judged
from adjudge.pipeline.trust.requirement import Requirement, exit_code

if TYPE_CHECKING:
    from adjudge.pipeline.reports.agreement import Beside

_METADATA = "metadata."


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked of `adjudge agreement`.

    Attributes:
        labels: files of labels; empty takes the suite's and what was labelled on the review page.
        by: `grader`, `statement`, `judge`, `test`, `metadata.KEY` or None.
        required: requirements, such as `kappa>=0.6`.
        confidence: of intervals.
        write: where the record for `admitted_by` goes.
        listed: how many disagreements are printed.
    """

    labels: Sequence[Path]
    by: str | None
    required: Sequence[str]
    confidence: float
    write: Path | None
    listed: int
    as_json: bool


def show_agreement(reference: str, home: Path, asked: Asked) -> int:
    """Print how a run's judge agrees with people. Returns the exit code.

    Raises:
        UsageError: no such run, no labels, a requirement that is none.
        StorageError: the run can't be read, the record can't be written.
    """
    from adjudge.pipeline.reports.agreement import Beside, agreement_json, agreement_report

    required = _requirements(asked.required)
    run = concluded(find_run(reference, home))
    plan = run.plan()
    labels = Labels.of(read_labels(asked.labels or _usual(run, home)))
    evidence = (planned.evidence for planned in plan.conversations())
    found = agreement(
        judged(zip(run.results(), evidence, strict=False), labels), _key(asked.by, run) if asked.by else None
    )
    figures = found.whole.figures(asked.confidence)
    beside = Beside(
        run_id=run.id,
        found=found,
        labels=labels,
        confidence=asked.confidence,
        by=asked.by,
        required=[(one, one.met(figures[one.figure].lower)) for one in required],
        listed=asked.listed,
    )
    code = exit_code(met for _, met in beside.required)
    if asked.write is not None:
        _write_record(asked.write, run, beside)
    sys.stdout.write(json_text(agreement_json(beside, code)) if asked.as_json else agreement_report(beside))
    return code


def import_labels(files: Sequence[Path], to: Path) -> None:
    """Add the labels of files to one of JSON lines, those alone that it does not hold yet.

    Raises:
        UsageError: a file holds no labels, naming file and line; nothing is added then.
        StorageError: `to` can't be written.
    """
    given = list(dict.fromkeys(read_labels(files)))
    known = set(read_labels([to])) if to.exists() else set[Label]()
    new = [label for label in given if label not in known]
    if new:
        append_labels(to, new)
    already = f"; {len(given) - len(new)} were there already" if len(new) < len(given) else ""
    sys.stdout.write(f"{len(new)} labels added to {visible(str(to))}{already}\n")


def export_labels(files: Sequence[Path], form: Literal["jsonl", "csv"], to: Path | None) -> None:
    """Write the last word of each reviewer about each statement, in the order of first words.

    Raises:
        UsageError: a file holds no labels, naming file and line.
        StorageError: `to` can't be written.
    """
    found = latest(read_labels(files))
    stream = io.StringIO(newline="")
    if form == "csv":
        write_table(found, stream)
    else:
        stream.writelines(label.model_dump_json(exclude_defaults=True) + "\n" for label in found)
    if to is None:
        sys.stdout.write(stream.getvalue())
        return
    with whole_file(to) as file:
        file.write(stream.getvalue().encode())


def _requirements(texts: Sequence[str]) -> list[Requirement]:
    try:
        return [Requirement.parse(text) for text in texts]
    except ValueError as error:
        raise UsageError(f"--require: {error}") from None


def _usual(run: Run, home: Path) -> list[Path]:
    """The suite's labels, then those of the review page: the last word counts.

    Raises:
        UsageError: there are none.
    """
    files = [Path(file.path) for file in run.plan().head.labels]
    files += [path for path in (home / "labels.jsonl",) if path.exists()]
    if not files:
        raise UsageError(
            f"no labels: the suite names none and {str(home / 'labels.jsonl')!r} is not there; "
            "label verdicts with `adjudge review`, or name a file with --labels"
        )
    return files


def _key(by: str, run: Run) -> Key:
    """What parts the whole.

    Raises:
        UsageError: `by` is nothing to part it by.
    """
    match by:
        case "grader":
            return lambda item: iter([(item.grader, item.answer)])
        case "statement":
            return lambda item: iter([(f"{item.grader}: {item.statement}", item.answer)])
        case "test":
            return lambda item: iter([(item.test or "(no test)", item.answer)])
        case "judge":
            return lambda item: ((vote.judge, vote) for vote in item.votes)
        case _ if by.startswith(_METADATA) and by != _METADATA:
            values = dict(_metadata(run, by.removeprefix(_METADATA)))

            def of(item: Judged) -> Iterator[tuple[str, Answer]]:
                yield values.get(item.conversation_id, "(not given)"), item.answer

            return of
        case _:
            raise UsageError(f"--by: {by!r} is none of grader, statement, judge, test, metadata.KEY")


def _metadata(run: Run, key: str) -> Iterator[tuple[str, str]]:
    path, lines = run.file(CONVERSATIONS), whole_lines(run.file(CONVERSATIONS))
    for planned in run.plan().conversations():
        values = frozen_conversation(next(lines, b""), planned, path).metadata
        if key in values:
            yield planned.id, as_text(values[key])


def _write_record(path: Path, run: Run, beside: Beside) -> None:
    from adjudge.pipeline.trust.admission import AgreementRecord, identity, measured

    head = run.plan().head
    identities = {
        name: identity(spec, [grader for grader in head.graders if name in grader.judges])
        for name, spec in head.judges.items()
    }
    record = AgreementRecord(
        run_id=run.id,
        suite=head.suite,
        created=head.created,
        confidence=beside.confidence,
        reviewers=sorted(beside.found.reviewers),
        judges=measured(beside.found, identities, beside.confidence),
    )
    with whole_file(path) as file:
        file.write(record.model_dump_json(indent=2).encode() + b"\n")
