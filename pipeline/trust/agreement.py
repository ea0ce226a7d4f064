"""How often the judge and people's labels agree, and which of its quotes stand in no turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from adjudge.pipeline.grade import ResultRow, StatementRow
from adjudge.pipeline.scoring import half_up
from adjudge.pipeline.trust.labels import Label


@dataclass(slots=True)
class Agreement:
    """Judge beside labels, over the labelled statements that a run judged.

    Attributes:
        table: how often (label, decision) occurred; both `met` or `not_met`.
        errored: labelled statements the judge gave no decision on, by cause.
        undecidable: labelled statements that no person could decide.
        disagreements: conversation, grader and statement id (`service s2`), label and decision of each.
    """

    table: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    errored: Counter[str] = field(default_factory=Counter[str])
    undecidable: int = 0
    disagreements: list[tuple[str, str, str, str]] = field(default_factory=list[tuple[str, str, str, str]])

    @property
    def compared(self) -> int:
        """Statements with a decision from both."""
        return self.table.total()

    @property
    def agreed(self) -> int:
        """Of them, those with the same."""
        return self.table["met", "met"] + self.table["not_met", "not_met"]

    @property
    def kappa(self) -> Fraction | None:
        """Cohen's kappa: agreement beyond chance, at most 1; None where it isn't defined."""
        n = self.compared
        if n == 0:
            return None
        chance = sum(
            (
                Fraction(self._labelled(word), n) * Fraction(self._decided(word), n)
                for word in ("met", "not_met")
            ),
            Fraction(0),
        )
        return None if chance == 1 else (Fraction(self.agreed, n) - chance) / (1 - chance)

    def share(self, word: str) -> str:
        """Of the statements labelled `word`, how many the judge decided so: `12 of 15`."""
        return f"{self.table[word, word]} of {self._labelled(word)}"

    def _labelled(self, word: str) -> int:
        return self.table[word, "met"] + self.table[word, "not_met"]

    def _decided(self, word: str) -> int:
        return self.table["met", word] + self.table["not_met", word]


@dataclass(slots=True)
class Quotes:
    """The quotes of all verdicts, and those that were not found in the turn they name (J6)."""

    cited: int = 0
    missing: list[tuple[str, str, int, str]] = field(default_factory=list[tuple[str, str, int, str]])


def agreement(rows: Iterable[ResultRow], labels: Iterable[Label]) -> Agreement:
    """Compare the statements of `rows` with `labels`, by conversation and statement text."""
    found = Agreement()
    by_place = {(label.conversation_id, label.grader, label.statement): label.label for label in labels}
    for row, grader, statement in _statements(rows):
        said = by_place.get((row["conversation_id"], grader, statement["text"]))
        said = said or by_place.get((row["conversation_id"], None, statement["text"]))
        if said is None:
            continue
        if said == "undecidable":
            found.undecidable += 1
        elif statement["error"] is not None or statement["decision"] is None:
            found.errored[statement["error"]["cause"] if statement["error"] else "undetermined"] += 1
        else:
            decided = "met" if statement["decision"] == "met" else "not_met"
            found.table[said, decided] += 1
            if said != decided:
                place = f"{grader} {statement['id']}"
                found.disagreements.append((row["conversation_id"], place, said, decided))
    return found


def quotes(rows: Iterable[ResultRow]) -> Quotes:
    """Every quote of `rows`, counted, and the unverified ones listed."""
    found = Quotes()
    for row, grader, statement in _statements(rows):
        found.cited += len(statement["citations"])
        for citation in statement["citations"]:
            if not citation["verified"]:
                found.missing.append(
                    (
                        row["conversation_id"],
                        f"{grader} {statement['id']}",
                        citation["turn"],
                        citation["quote"],
                    )
                )
    return found


def sources(rows: Iterable[ResultRow]) -> Counter[str]:
    """How many statements were decided by live calls, the cache and recordings."""
    return Counter(statement["source"] for _, _, statement in _statements(rows) if statement["source"])


def _statements(rows: Iterable[ResultRow]) -> Iterator[tuple[ResultRow, str, StatementRow]]:
    for row in rows:
        for grade in row["grades"]:
            for statement in grade.get("statements", []):
                yield row, grade["grader"], statement


def agreement_text(found: Agreement, listed: int = 10) -> str:
    """Agreement in words; ends in a newline."""
    from adjudge.pipeline.display import visible

    lines = [f"  Judge and people agree on {found.agreed} of {found.compared} labelled statements"]
    if found.compared:
        kappa = found.kappa
        share = half_up(Fraction(100 * found.agreed, found.compared), 0)
        beyond = "kappa undefined" if kappa is None else f"kappa {half_up(kappa)}"
        lines[0] += f" ({share} %, {beyond})"
        lines.append(f"  Of those a person calls met, the judge does in {found.share('met')}")
        lines.append(f"  Of those a person calls not met, the judge does in {found.share('not_met')}")
    if found.errored:
        causes = ", ".join(f"{cause} {count}" for cause, count in sorted(found.errored.items()))
        lines.append(f"  No decision from the judge on {found.errored.total()} labelled statements: {causes}")
    if found.undecidable:
        lines.append(f"  {found.undecidable} statements that people could not decide are left out")
    lines += [
        f"    {visible(conversation)} {statement}: a person says {said}, the judge {decided}"
        for conversation, statement, said, decided in found.disagreements[:listed]
    ]
    return "\n".join(_more(lines, len(found.disagreements), listed)) + "\n"


def quotes_text(found: Quotes, listed: int = 5) -> str:
    """Unverified quotes in words; ends in a newline."""
    from adjudge.pipeline.display import visible

    lines = [f"  {len(found.missing)} of {found.cited} quotes were not found in the turn they name"]
    lines += [
        f"    {visible(conversation)} {statement}, turn {turn}: {visible(quote)[:90]!r}"
        for conversation, statement, turn, quote in found.missing[:listed]
    ]
    return "\n".join(_more(lines, len(found.missing), listed)) + "\n"


def _more(lines: Sequence[str], found: int, listed: int) -> list[str]:
    return [*lines, f"    and {found - listed} more"] if found > listed else list(lines)
