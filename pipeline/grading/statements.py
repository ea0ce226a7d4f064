"""The `statements` grader: the grade that the answers to its questions make."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from adjudge.judges.failure import Failure
from adjudge.judges.panel import decide
from adjudge.judges.verdict import Answer, Attempt, Source, Verdict
from adjudge.pipeline.grade import CitationRow, ErrorRow, GradeRow, StatementRow, VoteRow, WindowRow
from adjudge.pipeline.grading.questions import Question
from adjudge.pipeline.planning.plan import PlannedGrader, PlannedStatement
from adjudge.pipeline.scoring import exact, result, score
from adjudge.pipeline.spent import spent_nothing, spent_on
from adjudge.pipeline.windows import decide_over

Outcome = Answer | Failure


def statements_grade(
    grader: PlannedGrader,
    statements: Sequence[PlannedStatement],
    asked: Sequence[Question],
    outcomes: Sequence[Outcome],
    *,
    counted: Collection[str] = (),
) -> GradeRow:
    """The grade that `outcomes` (one per question of `asked`) make: S1, S3, S6, S7, J8.

    What it spent leaves out the answers to the keys `counted`: an earlier grade of this run has them.
    """
    if not statements:
        return _grade(grader, [], _error("no_statements", "no statement applies to this conversation"))
    toothless = exact(grader.threshold) == 0 and not any(statement.required for statement in statements)
    ballots: list[list[_Vote]] = [[] for _ in statements]
    for question, outcome in zip(asked, outcomes, strict=True):
        for index, place in enumerate(question.places):
            vote = outcome if isinstance(outcome, Failure) else outcome.verdicts[index]
            ballots[place].append(_Vote(question, outcome, vote))
    rows = [
        _statement_row(grader, place, statement, ballots[place]) for place, statement in enumerate(statements)
    ]
    error = _first_error(rows)
    if toothless:
        error = _error("no_required_checks", "threshold 0 and no required statement: it could never fail")
    grade = _grade(grader, rows, error)
    new = [
        outcome
        for question, outcome in zip(asked, outcomes, strict=True)
        if isinstance(outcome, Failure) or question.request.key not in counted
    ]
    grade["spent"] = spent_on(
        (attempt for outcome in new if _live(outcome) for attempt in outcome.attempts),
        cached=sum(1 for outcome in new if not _live(outcome)),
    )
    return grade


def answered(grade: GradeRow) -> Iterator[str]:
    """The keys of the answers that `grade` holds, and so counts in what it spent."""
    for row in grade.get("statements", []):
        for vote in row.get("votes", [row]):
            for part in vote.get("windows", [vote]):
                if part["decision"] is not None and part["verdict_key"] is not None:
                    yield part["verdict_key"]


@dataclass(slots=True)  # frozen ones take three times as long to make, and there is one for every verdict
class _Vote:
    """What one question's outcome says of one statement."""

    question: Question
    outcome: Outcome
    vote: Verdict | Failure


@dataclass(slots=True)
class _Voter:
    """One sample of one judge: its vote, or its votes about windows, and what they come to."""

    votes: Sequence[_Vote]
    decided: Verdict | Failure


def _grade(grader: PlannedGrader, rows: list[StatementRow], error: ErrorRow | None) -> GradeRow:
    met = sum(row["decision"] == "met" for row in rows)
    value = None if error else score(met, len(rows))
    required_met = all(row["decision"] == "met" for row in rows if row["required"])
    if error:
        for row in rows:
            row["counted"] = False
    return {
        "grader": grader.name,
        "grader_version": grader.version,
        "type": "statements",
        "gating": grader.gating,
        "result": result(value, exact(grader.threshold), required_met),
        "score": None if value is None else float(value),
        "met": None if error else met,
        "total": len(rows) or None,
        "threshold": float(grader.threshold),
        "error": error,
        "spent": spent_nothing(),
        "statements": rows,
    }


def _statement_row(
    grader: PlannedGrader, place: int, statement: PlannedStatement, ballot: Sequence[_Vote]
) -> StatementRow:
    voters = _voters(statement, ballot)
    alone = len(voters) == 1
    decided = voters[0].decided if alone else decide([voter.decided for voter in voters])
    attempts: list[Attempt] = []
    judges, models, served = dict[str, None](), dict[str, None](), dict[str, None]()  # each once, in order
    sources: set[Source] = set()
    all_answered = True
    for vote in ballot:
        judges[vote.question.judge] = models[vote.question.request.model.name] = None
        attempts += vote.outcome.attempts
        if isinstance(vote.outcome, Failure):
            all_answered = False
            continue
        sources.add(vote.outcome.source)
        if name := vote.outcome.served_model:
            served[name] = None
    spent = spent_on(attempts)
    row: StatementRow = {
        "id": f"s{place + 1}",
        "text": statement.text,
        "required": statement.required,
        "decision": None,
        "counted": True,
        "rationale": None,
        "citations": [],
        "error": None,
        "cached": all_answered and "live" not in sources,
        "source": sources.pop() if len(sources) == 1 else None,
        "verdict_key": _key(voters[0]) if alone else None,
        "judge": "+".join(judges),
        "model": "+".join(models),
        "served_model": "+".join(served) or None,
        "attempts": len(attempts),
        "usage": spent["usage"],
        "cost_usd": None if spent["cost_unknown_calls"] or not attempts else spent["cost_usd"],
    }
    if isinstance(decided, Failure):
        row["error"] = _error(decided.cause, decided.message, decided.retryable)
    else:
        row["decision"] = decided.decision
        row["rationale"] = decided.rationale
        row["citations"] = _citation_rows(decided)
        if decided.decision == "undetermined" and grader.undetermined == "errored":
            row["error"] = _error("undetermined", "the judge could not decide from the evidence")
    if not alone:
        row["votes"] = [_vote_row(voter) for voter in voters]
    elif windows := list(_window_rows(voters[0])):
        row["windows"] = windows
    return row


def _voters(statement: PlannedStatement, ballot: Sequence[_Vote]) -> list[_Voter]:
    if len(ballot) == 1 and ballot[0].question.window is None:
        return [_Voter(ballot, ballot[0].vote)]
    votes: dict[tuple[str, int], list[_Vote]] = {}
    for vote in ballot:
        votes.setdefault((vote.question.judge, vote.question.request.sample), []).append(vote)
    return [_Voter(each, _decided(statement, each)) for each in votes.values()]


def _decided(statement: PlannedStatement, votes: Sequence[_Vote]) -> Verdict | Failure:
    if votes[0].question.window is None or statement.over_windows is None:
        return votes[0].vote
    return decide_over(statement.over_windows, [vote.vote for vote in votes])


def _key(voter: _Voter) -> str | None:
    """The one key of what it was asked; windows have one each."""
    return voter.votes[0].question.request.key if voter.votes[0].question.window is None else None


def _citation_rows(verdict: Verdict) -> list[CitationRow]:
    return [{"turn": c.turn, "quote": c.quote, "verified": c.verified} for c in verdict.citations]


def _vote_row(voter: _Voter) -> VoteRow:
    request, decided = voter.votes[0].question.request, voter.decided
    failed = isinstance(decided, Failure)
    row: VoteRow = {
        "judge": voter.votes[0].question.judge,
        "model": request.model.name,
        "sample": request.sample,
        "decision": None if failed else decided.decision,
        "rationale": None if failed else decided.rationale,
        "error": _error(decided.cause, decided.message, decided.retryable) if failed else None,
        "cached": not any(_live(vote.outcome) for vote in voter.votes),
        "verdict_key": _key(voter),
    }
    if windows := list(_window_rows(voter)):
        row["windows"] = windows
    return row


def _window_rows(voter: _Voter) -> Iterator[WindowRow]:
    for vote in voter.votes:
        window, decided = vote.question.window, vote.vote
        if window is None:
            continue
        failed = isinstance(decided, Failure)
        numbers = window.evidence.numbers
        yield {
            "window": window.number,
            "first_turn": numbers[0] if numbers else None,
            "last_turn": numbers[-1] if numbers else None,
            "does_not_show": list(window.hidden),
            "cut": list(window.cut),
            "decision": None if failed else decided.decision,
            "rationale": None if failed else decided.rationale,
            "error": _error(decided.cause, decided.message, decided.retryable) if failed else None,
            "cached": not _live(vote.outcome),
            "verdict_key": vote.question.request.key,
        }


def _first_error(rows: Sequence[StatementRow]) -> ErrorRow | None:
    """One errored statement makes its grade errored (S6); the first one's cause is the grade's."""
    errors = [(row["id"], row["error"]) for row in rows if row["error"]]
    if not errors:
        return None
    place, first = errors[0]
    return _error(
        first["cause"],
        f"{len(errors)} of {len(rows)} statements errored; {place}: {first['message']}",
        any(error["retryable"] for _, error in errors),
    )


def _error(cause: str, message: str, retryable: bool = False) -> ErrorRow:
    return {"cause": cause, "message": message, "retryable": retryable}  # pyright: ignore[reportReturnType]


def _live(outcome: Outcome) -> bool:
    return isinstance(outcome, Failure) or outcome.source == "live"
