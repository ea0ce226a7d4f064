"""Whether like is compared with like: what differs between two runs, and so what a comparison is about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from adjudge.judges.request import canonical_json, digest
from adjudge.pipeline.planning.plan import PlanHead, PlannedGrader
from adjudge.pipeline.suite.load import JudgeSpec
from adjudge.pipeline.trust.pairing import Couple

Kind = Literal["repeat", "agents", "judging", "unlike"]
"""The same conversations judged the same way; others judged the same way; the same judged another way; or
others judged another way, where no difference could be laid to one of the two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One thing about judging that differs between the plans: of a grader, or of all where that is None."""

    grader: str | None
    what: str
    a: str
    b: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Likeness:
    """How alike two runs are.

    Attributes:
        same, other: pairs of conversations of which judges are shown the same, and something else.
        differences: what differs in how they are judged.
    """

    same: int
    other: int
    differences: Sequence[Difference]

    @property
    def kind(self) -> Kind:
        """What comparing them is about."""
        if self.differences:
            return "unlike" if self.other else "judging"
        return "agents" if self.other else "repeat"

    @property
    def changed(self) -> str:
        """What differs, each named once."""
        return ", ".join(dict.fromkeys(found.what for found in self.differences))


def likeness(a: PlanHead, b: PlanHead, conversations: Sequence[Couple]) -> Likeness:
    """Say what differs between two runs, given their conversations side by side."""
    both = [(one.shown, two.shown) for _, _, one, two in conversations if one and two]
    same = sum(one == two for one, two in both)
    return Likeness(same=same, other=len(both) - same, differences=list(_differences(a, b)))


def _differences(a: PlanHead, b: PlanHead) -> Iterator[Difference]:
    options = (head.evidence.model_dump(mode="json") for head in (a, b))
    yield from _between(
        None, *({f"evidence: {key}": str(value) for key, value in o.items()} for o in options)
    )
    others = {grader.name: grader for grader in b.graders}
    for grader in a.graders:
        if grader.name in others:
            yield from _between(grader.name, _how(a, grader), _how(b, others[grader.name]))


def _between(grader: str | None, a: Mapping[str, str], b: Mapping[str, str]) -> Iterator[Difference]:
    for what in dict.fromkeys((*a, *b)):
        one, other = a.get(what, "none"), b.get(what, "none")
        if one != other:
            yield Difference(grader=grader, what=what, a=one, b=other)


def _how(head: PlanHead, grader: PlannedGrader) -> dict[str, str]:
    """What can change a grader's decisions, in words."""
    if grader.type == "checks":
        return {"verifier": f"{grader.verifier.rpartition(':')[2]} ({grader.verifier_digest[:8]})"}
    texts = [statement.text for statement in grader.statements]
    return {
        "judge": "; ".join(_judge(head.judges[name]) for name in grader.judges),
        "prompt": f"{head.prompts[grader.prompt].name} ({grader.prompt[:8]})",
        "statements": f"{len(texts)} ({digest(canonical_json(texts))[:8]})",
        **{what: str(getattr(grader, what)) for what in _SETTINGS},
    }


_SETTINGS = ("samples", "calls", "undetermined", "citations", "overflow")


def _judge(spec: JudgeSpec) -> str:
    params = [f"{key}={value!r}" for key, value in sorted(spec.params.items())]
    params += [] if spec.output == "auto" else [f"output={spec.output}"]
    params += [] if spec.api_base is None else [f"at {spec.api_base}"]
    return spec.model + (f" ({', '.join(params)})" if params else "")
