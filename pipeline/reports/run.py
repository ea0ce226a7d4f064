"""The final table of a run: numbers beside their denominators, errors beside what to do about them (S13)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TextIO

from adjudge.pipeline.display import pad, visible, width
from adjudge.pipeline.grade import AggregateRow, ResultRow, SummaryRow
from adjudge.pipeline.reports.text import LABEL_COLUMNS, reward
from adjudge.pipeline.scoring import exact

Span = tuple[str, str]
"""A piece of a line and its style; both renderings, plain and coloured, are made of the same lines."""

STYLES = {"passed": "green", "failed": "bold red", "errored": "bold magenta", "missing": "bold yellow"}

EXIT_CODES = {
    0: "the policy is met",
    1: "a gating grade failed",
    2: "the command line or the suite can't be used",
    3: "nothing failed that decides the run, but something was not judged",
    4: "storage or the environment failed",
    5: "there was nothing to judge",
    130: "interrupted; can be resumed",
    143: "terminated; can be resumed",
}

NEXT_STEPS: dict[str, str] = {
    "rate_limited": "the provider throttles: resume later or with less concurrency",
    "timeout": "resume; if it stays, a new run with a longer attempt_timeout",
    "unavailable": "resume when the judge's server answers",
    "circuit_open": "resume when the judge's server answers",
    "auth": "check the judge's API key, then resume",
    "quota": "the judge's account is used up: top it up, then resume",
    "not_found": "check the judge's model and api_base, then a new run",
    "bad_request": "check the judge's params, then a new run",
    "input_too_long": "longer than the judge reads: another judge, or `overflow: windows`, in a new run",
    "content_filter": "the provider withheld the answer: a new run with another judge",
    "refusal": "the judge declined to answer: reword the statement or use another judge, in a new run",
    "truncated": "the answer hit the output limit: raise the judge's max_tokens, in a new run",
    "malformed_output": "resume asks again; if it stays, another output mode or judge, in a new run",
    "undetermined": "the evidence does not decide the statement: reword it, or set `undetermined: not_met`",
    "no_majority": "the jury is split: read its votes with `adjudge show`",
    "verifier_error": "mend the verifier, then a new run",
    "no_required_checks": "let the verifier return a required check, then a new run",
    "no_statements": "give the grader a statement for these conversations, then a new run",
    "budget_exhausted": "resume with a higher --max-calls or --max-cost",
    "not_cached": "resume without --offline, or import the verdicts",
    "canceled": "resume",
    "internal": "a fault of adjudge itself: errors.jsonl has the details",
}


RESUMABLE = frozenset(
    {
        *("rate_limited", "timeout", "unavailable", "circuit_open", "auth", "quota"),
        *("malformed_output", "budget_exhausted", "not_cached", "canceled"),
    }
)
"""Causes that `adjudge resume` may get past under the run's plan."""


def run_text(summary: SummaryRow, results: Mapping[str, Counter[str]]) -> str:
    """The final table as plain text; ends in a newline.

    Args:
        summary: the run's `summary.json`.
        results: how often each grader passed, failed and errored, from `aggregate.results_by_grader`.
    """
    return "".join("".join(text for text, _ in line).rstrip() + "\n" for line in _lines(summary, results))


def look_at(rows: Iterable[ResultRow], listed: int = 5) -> str:
    """The first conversations with a grade that did not pass, and how to see them; empty if there is none."""
    found: list[str] = []
    more = 0
    for row in rows:
        results = {grade["result"] for grade in row["grades"]} - {"passed"}
        if results:
            found.append(f"  {visible(row['conversation_id'])}: {', '.join(sorted(results))}\n")
            more, found = more + (len(found) > listed), found[:listed]
    if not found:
        return ""
    rest = f"  and {more} more\n" if more else ""
    hint = "See one with `adjudge show RUN CONVERSATION`, all in a browser with `adjudge review RUN`\n"
    return "Not passed\n" + "".join(found) + rest + hint


def print_run(summary: SummaryRow, results: Mapping[str, Counter[str]], stream: TextIO) -> None:
    """Write the final table to `stream`: coloured on a terminal, the plain text of `run_text` elsewhere."""
    if not stream.isatty():
        stream.write(run_text(summary, results))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, highlight=False)
    for line in _lines(summary, results):
        console.print(Text.assemble(*line), soft_wrap=True)


def _lines(summary: SummaryRow, results: Mapping[str, Counter[str]]) -> Iterator[list[Span]]:
    yield [
        ("Run ", ""),
        (visible(summary["run_id"]), "bold"),
        (" of suite ", ""),
        (visible(summary["suite"]), "bold"),
    ]
    yield []
    yield from _table(summary, results)
    yield []
    yield _labelled("Grades", _grades(summary))
    yield _labelled("Conversations", [(_conversations(summary), "")])
    yield _labelled("Calls", [(f"{summary['calls']} made, {summary['cached']} verdicts reused", "")])
    yield _labelled("Tokens", [(_tokens(summary), "")])
    yield _labelled("Cost", [(_cost(summary), "")])
    if summary["errors_by_cause"]:
        yield []
        yield from _errors(summary)
    yield []
    yield from _decision(summary)


def _table(summary: SummaryRow, results: Mapping[str, Counter[str]]) -> Iterator[list[Span]]:
    head = ["Grader", "Passed", "Failed", "Errored", "Missing", "Mean", "Scored", "Possible"]
    rows: list[list[Span]] = [[(text, "dim") for text in head]]
    for name, aggregate in summary["graders"].items():
        rows.append(
            [(visible(name), ""), *_outcomes(aggregate, results.get(name, Counter())), *_mean(aggregate)]
        )
    rows.append([("combined score", ""), *[("", "")] * 4, *_mean(summary["combined_score"])])
    columns = [max(width(row[place][0]) for row in rows) for place in range(len(head))]
    for row in rows:
        yield [
            (("  " if place else "") + pad(text, columns[place], right=place > 0), style)
            for place, (text, style) in enumerate(row)
        ]


def _outcomes(aggregate: AggregateRow, results: Counter[str]) -> list[Span]:
    selected = aggregate["selected"]
    counts = {**{word: results[word] for word in ("passed", "failed", "errored")}}
    counts["missing"] = selected - sum(counts.values())
    return [(f"{count}/{selected}", STYLES[word] if count else "dim") for word, count in counts.items()]


def _mean(aggregate: AggregateRow) -> list[Span]:
    """Mean of what was scored, scored of selected, and the span that the rest allows."""
    complete = aggregate["scored"] == aggregate["selected"]
    return [
        (rounded(aggregate["mean"]), ""),
        (f"{aggregate['scored']}/{aggregate['selected']}", "" if complete else STYLES["errored"]),
        ("" if complete else f"{rounded(aggregate['lowest'])} to {rounded(aggregate['highest'])}", ""),
    ]


def _grades(summary: SummaryRow) -> list[Span]:
    counts = summary["counts"]
    spans: list[Span] = [(f"{counts['grades']} planned", "")]
    for word, count in (
        ("passed", counts["passed"]),
        ("failed", counts["failed"]),
        ("errored", counts["errored"]),
        ("missing", counts["missing"]),
    ):
        spans += [(", ", ""), (f"{count} {word}", STYLES[word] if count else "dim")]
    return spans


def _conversations(summary: SummaryRow) -> str:
    counts = summary["counts"]
    said = [
        (counts["not_requested"], "with no grader selected"),
        (counts["not_gradable"], "failed or canceled"),
        (counts["evidence_incomplete"], "with evidence flagged incomplete"),
        (counts["unreadable"], "unreadable besides"),
    ]
    return ", ".join([str(counts["conversations"]), *(f"{count} {what}" for count, what in said if count)])


def _tokens(summary: SummaryRow) -> str:
    usage = summary["usage"]
    known = ""
    if usage["input_tokens"] is not None or usage["output_tokens"] is not None:
        known = f"{usage['input_tokens'] or 0} in, {usage['output_tokens'] or 0} out"
    if usage["cached_input_tokens"]:
        known += f" ({usage['cached_input_tokens']} of those in cached by the provider)"
    return _with_unknown(known, "tokens", summary["usage_unknown_calls"])


def _cost(summary: SummaryRow) -> str:
    cost = summary["cost_usd"]
    known = "" if not cost else f"${cost:.4f}" if cost >= 0.0001 else "under $0.0001"
    return _with_unknown(known, "cost", summary["cost_unknown_calls"])


def _with_unknown(known: str, what: str, calls: int) -> str:
    """What is known, and for how many calls nothing is: unknown is not 0 (C10)."""
    unknown = f"{what} unknown for {calls} call{'' if calls == 1 else 's'}" if calls else ""
    return "; ".join(part for part in (known, unknown) if part) or "none"


def _errors(summary: SummaryRow) -> Iterator[list[Span]]:
    causes = sorted(summary["errors_by_cause"].items(), key=lambda item: (-item[1], item[0]))
    columns = max(LABEL_COLUMNS, *(width(cause) + 2 for cause, _ in causes))
    yield [("Errors by cause", STYLES["errored"])]
    for cause, count in causes:
        yield [
            (f"  {pad(visible(cause), columns)}", ""),
            (f"{count:>5}  ", STYLES["errored"]),
            (NEXT_STEPS.get(cause, ""), ""),
        ]


def _decision(summary: SummaryRow) -> Iterator[list[Span]]:
    policy, code = summary["policy"], summary["exit_code"]
    style = {"met": STYLES["passed"], "not_met": STYLES["failed"]}.get(policy["result"], STYLES["errored"])
    yield _labelled(
        "Policy", [(f"{visible(policy['name'])}: ", ""), (policy["result"].replace("_", " "), style)]
    )
    for reason in policy["reasons"]:
        yield _labelled("", [(visible(reason), "")])
    yield _labelled("Exit code", [(f"{code}: {EXIT_CODES.get(code, 'unknown')}", style)])
    for place, step in enumerate(_next(summary)):
        yield _labelled("" if place else "Next", [(step, "bold")])


def _next(summary: SummaryRow) -> Iterator[str]:
    """What to do about what was not judged: `resume` only where it may judge more."""
    counts, causes = summary["counts"], summary["errors_by_cause"].keys() & RESUMABLE
    resume = f"adjudge resume {visible(summary['run_id'])}"
    if "budget_exhausted" in causes:
        spent = f"{summary['calls']} made so far"
        yield f"{resume} --max-calls N  (more than the {spent}; or --max-cost USD, if that was the cap)"
    elif causes or counts["missing"] > counts.get("ungradable", 0):
        yield resume
    if counts["not_gradable"]:
        yield "a new run, with the failed or canceled conversations recorded again or taken out"
    if counts["unreadable"]:
        yield "mend the unreadable records (`adjudge conversations FILE` names them), then a new run"
    if counts["evidence_incomplete"]:
        yield "a new run, with the conversations flagged incomplete recorded whole"


def _labelled(label: str, spans: list[Span]) -> list[Span]:
    return [(f"{label:<{LABEL_COLUMNS}}", "dim"), *spans]


def rounded(value: float | None) -> str:
    """A mean as stored, shown: two decimals, half up (S11); `-` where there is none."""
    return reward(None if value is None else exact(value))
