"""The panel: several votes on one statement, one verdict by strict majority (J8). Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from adjudge.judges.failure import Failure
from adjudge.judges.verdict import Verdict


def decide(votes: Sequence[Verdict | Failure]) -> Verdict | Failure:
    """The verdict of more than half of all `votes`, in the words of the first that voted for it.

    `undetermined` is a decision like the others. A failed vote leaves the panel incomplete: the result is
    the first such failure, whatever the others say. Without a majority it is `no_majority`. The votes and
    their attempts stay with the caller, so a failure returned here has no attempts.

    Raises:
        ValueError: if there are no votes.
    """
    if not votes:
        raise ValueError("a panel needs votes")
    for place, vote in enumerate(votes, 1):
        if isinstance(vote, Failure):
            return replace(vote, message=f"vote {place} of {len(votes)}: {vote.message}", attempts=())
    verdicts = [vote for vote in votes if isinstance(vote, Verdict)]
    counts = Counter(verdict.decision for verdict in verdicts)
    decision, most = counts.most_common(1)[0]
    if 2 * most > len(votes):
        return next(verdict for verdict in verdicts if verdict.decision == decision)
    tally = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    return Failure(
        cause="no_majority", message=f"no decision has more than half of {len(votes)} votes: {tally}"
    )
