"""What the commands do that only read a run: show, whatif, rollouts, export, doctor."""

from __future__ import annotations

import io
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import orjson

from adjudge.judges.failure import UsageError
from adjudge.pipeline.aggregate import counting_results
from adjudge.pipeline.display import json_text, visible, visible_json
from adjudge.pipeline.files import storage, whole_file
from adjudge.pipeline.grade import GradeRow, ResultRow, SummaryRow
from adjudge.pipeline.reports.result import result_json
from adjudge.pipeline.rundir import RESULTS, Run, find_run

if TYPE_CHECKING:
    from adjudge.pipeline.whatif import Change


def show(reference: str, conversation: str | None, home: Path, *, as_json: bool) -> None:
    """Print a run's table, or one conversation's report with every verdict.

    Raises:
        UsageError: no such run or conversation.
    """
    run = find_run(reference, home)
    if conversation is not None:
        row = _one(run, conversation)
        if as_json:
            sys.stdout.write(json_text(row))
            return
        from adjudge.pipeline.reports.text import conversation_text, verdicts_text

        sys.stdout.write(conversation_text(row) + verdicts_text(row))
        return
    summary = _summary(concluded(run))
    if as_json:
        sys.stdout.write(json_text(summary))
        return
    from adjudge.pipeline.reports.doubts import Doubts, counting_doubts
    from adjudge.pipeline.reports.run import print_run
    from adjudge.pipeline.trust.closing import doubts_text, titled

    results, found = dict[str, Counter[str]](), Doubts()
    for _ in counting_doubts(counting_results(run.results(), results), found):
        pass
    print_run(summary, results, sys.stdout)
    said = titled(doubts_text(found))
    sys.stdout.write(f"\n{said}" if said else "")
    for name, state in run.judges().items():
        sys.stdout.write(
            f"Judge {visible(name)}: {state['calls']} calls in the last leg, {state['retries']} retries, "
            f"{state['throttled']} refused as too many, limit {state['limit']}, breaker {state['breaker']}\n"
        )


def rollouts(reference: str, home: Path, *, confidence: float, as_json: bool) -> None:
    """Print the rollouts of every test."""
    from adjudge.pipeline.reports.rollouts import rollouts_json, rollouts_report
    from adjudge.pipeline.rollouts import rollouts_of

    run = concluded(find_run(reference, home))
    found = rollouts_of(run.results(), run.plan().sources())
    said = json_text(rollouts_json(run.id, found, confidence)) if as_json else ""
    sys.stdout.write(said or rollouts_report(found, confidence))


def whatif(
    reference: str,
    thresholds: Iterable[str],
    required: Iterable[str],
    optional: Iterable[str],
    home: Path,
    *,
    as_json: bool,
) -> None:
    """Print what other thresholds or flags would make of a run's verdicts (P4)."""
    from adjudge.pipeline.conclude import decided
    from adjudge.pipeline.whatif import check_labels, flips, parse_change, redecide

    run = concluded(find_run(reference, home))
    plan = run.plan()
    change = parse_change(plan.head, thresholds, required, optional)
    check_labels(run.results(), change)
    before, after = _counted(run, change)
    turned = list(flips(run.results(), change))
    (was, code_was), (policy, code) = (
        decided(run, plan, lambda grade: grade["result"]),
        decided(run, plan, lambda grade: redecide(grade, change)),
    )
    if as_json:
        names = {"run_id": run.id, "what_if": True}
        rows = [
            {"conversation_id": f.conversation_id, "grader": f.grader, "before": f.before, "after": f.after}
            for f in turned
        ]
        found = {"before": before, "after": after, "flips": rows}
        policies = {"before": {**was, "exit_code": code_was}, "after": {**policy, "exit_code": code}}
        sys.stdout.write(json_text({**names, **found, "policy": policies}))
        return
    lines = [f"What if, over the verdicts of run {run.id}: no calls, nothing written.", ""]
    for name, counts in after.items():
        old = before[name]
        said = ", ".join(f"{word} {old[word]} -> {counts[word]}" for word in ("passed", "failed", "errored"))
        lines.append(f"  {visible(name)}: {said}")
    lines += ["", f"{len(turned)} of {sum(sum(c.values()) for c in after.values())} grades turn"]
    lines += [f"  {visible(f.conversation_id)}  {visible(f.grader)}: {f.before} -> {f.after}" for f in turned]
    turns = f"{was['result']} -> {policy['result']}".replace("_", " ")
    lines += ["", f"policy {visible(policy['name'])}: {turns} (exit {code_was} -> {code})"]
    sys.stdout.write("\n".join(lines) + "\n")


def export(
    reference: str, form: str, to: Path | None, grader: str | None, conversation: str | None, home: Path
) -> None:
    """Write a run in another shape, to a file (whole or not at all) or to stdout.

    Raises:
        UsageError: no such run, grader or conversation.
        StorageError: it can't be written.
    """
    run = concluded(find_run(reference, home))
    if form == "result-json" and to is None:
        _print_result(run, grader, conversation)
    elif form == "result-json" and to is not None:
        _write_results(run, to, grader, conversation)
    elif to is None:
        _write(run, form, sys.stdout)
    else:
        with whole_file(to) as file:
            text = io.TextIOWrapper(file, encoding="utf-8", newline="")
            _write(run, form, text)
            text.detach()


def concluded(run: Run) -> Run:
    """The run with its results written: a run that was killed has its grades, but nobody summed them up.

    Raises:
        StorageError: if they can't be written, or another process is writing the run.
    """
    if not run.file(RESULTS).exists():
        from adjudge.pipeline.conclude import conclude

        with run.locked():
            if not run.file(RESULTS).exists():
                conclude(run, run.plan())
    return run


def write_report(run: Run, form: str, path: Path) -> None:
    """Write the run in another shape to `path`, whole or not at all."""
    export(str(run.path), form, path, None, None, run.path.parent.parent)


def doctor(home: Path, cache: Path) -> int:
    """Print what this machine has: versions, which keys are set, the cache, free space."""
    from adjudge.pipeline.cli.doctor import examine

    report = examine(home, cache)
    for finding in report:
        sys.stdout.write(f"{finding.mark:<4}  {visible(finding.what)}: {visible(finding.said)}\n")
    return 4 if any(finding.mark == "look" for finding in report) else 0


def _write(run: Run, form: str, stream: TextIO) -> None:
    if form == "jsonl":
        stream.writelines(visible_json(line.decode()) + "\n" for line in run.result_lines())
    elif form == "csv":
        from adjudge.pipeline.reports.csv import write_csv

        write_csv(run.results(), stream)
    elif form == "junit":
        from adjudge.pipeline.reports.junit import write_junit

        write_junit(_summary(run), run.results(), stream, begun=run.plan().head.created)
    elif form == "github":
        from adjudge.pipeline.reports.github import commands

        stream.writelines(commands(_summary(run), run.results()))
    elif form == "html":
        from adjudge.pipeline.review.page import write_html

        write_html(run, stream)
    else:
        from adjudge.pipeline.reports.markdown import write_markdown

        write_markdown(_summary(run), run.results, stream)


def _print_result(run: Run, grader: str | None, conversation: str | None) -> None:
    found = list(islice(_selected(run, grader, conversation), 2))
    if len(found) != 1:
        many = "several grades match" if found else "no grade matches"
        raise UsageError(f"{many}; name one by --conversation and --grader, or give --to DIRECTORY")
    sys.stdout.write(visible_json(result_json(*found[0])))


def _write_results(run: Run, to: Path, grader: str | None, conversation: str | None) -> None:
    """One `result.json` a grade, in folders named by hash, and an index that says whose they are."""
    index: list[dict[str, str]] = []
    for row, grade in _selected(run, grader, conversation):
        name = sha256(orjson.dumps([row["conversation_id"], grade["grader"]])).hexdigest()[:16]
        file = to / name / "result.json"
        with storage(file, "write"):
            file.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(file) as stream:
            stream.write(result_json(row, grade).encode())
        whose = {"conversation_id": row["conversation_id"], "grader": grade["grader"]}
        index.append({**whose, "file": f"{name}/result.json"})
    if not index:
        raise UsageError("no grade matches")
    with whole_file(to / "index.json") as stream:
        stream.write(orjson.dumps(index, option=orjson.OPT_INDENT_2) + b"\n")


def _selected(run: Run, grader: str | None, conversation: str | None) -> Iterator[tuple[ResultRow, GradeRow]]:
    for row in run.results():
        if conversation in (None, row["conversation_id"]):
            for grade in row["grades"]:
                if grader in (None, grade["grader"]):
                    yield row, grade


def _counted(run: Run, change: Change) -> tuple[dict[str, Counter[str]], dict[str, Counter[str]]]:
    from adjudge.pipeline.whatif import redecide

    before = {grader.name: Counter[str]() for grader in run.plan().head.graders}
    after = {name: Counter[str]() for name in before}
    for row in run.results():
        for grade in row["grades"]:
            before[grade["grader"]][grade["result"]] += 1
            after[grade["grader"]][redecide(grade, change)] += 1
    return before, after


def _one(run: Run, conversation: str) -> ResultRow:
    for row in concluded(run).results():
        if row["conversation_id"] == conversation:
            return row
    raise UsageError(f"run {run.id!r} has no conversation {conversation!r}")


def _summary(run: Run) -> SummaryRow:
    summary = run.summary()
    if summary is None:
        raise UsageError(f"run {run.id!r} has no summary; `adjudge resume {run.id}` finishes it")
    return summary
