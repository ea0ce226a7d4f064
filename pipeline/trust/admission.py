"""Whether a judge may judge: how it agreed with people, and whether it is still the judge that did."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from adjudge.judges.failure import UsageError
from adjudge.judges.request import SCHEMA_VERSION
from adjudge.pipeline.explain import findings
from adjudge.pipeline.files import storage
from adjudge.pipeline.planning.plan import PlannedGrader
from adjudge.pipeline.suite.spec import JudgeSpec
from adjudge.pipeline.trust.agreement import Agreement
from adjudge.pipeline.trust.proportions import ends
from adjudge.pipeline.trust.requirement import Requirement


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Identity(_Record):
    """What makes a judge's verdicts: where one of these changes, what was measured says nothing any more.

    Attributes:
        prompts: digests of the prompts it is asked with.
        calls: how it is asked: one statement a call, or all of a grader's.
        schema_version: of the replies.
    """

    model: str
    api_base: str | None
    params: dict[str, JsonValue]
    output: str
    prompts: list[str]
    calls: list[str]
    schema_version: int


class Measured(_Record):
    """A figure as it was measured, over `n`; null where it could not be."""

    value: float | None
    lower: float | None
    upper: float | None
    n: int


class MeasuredJudge(_Record):
    """A judge and how it agreed with people."""

    identity: Identity
    compared: int
    figures: dict[str, Measured]


class AgreementRecord(_Record):
    """What `adjudge agreement --write` leaves for `judges.NAME.admitted_by`.

    Attributes:
        run_id: the run that was measured, of the suite of that name, made at `created` (ISO 8601).
        confidence: of the intervals.
        judges: by name, each by its own votes.
    """

    format: Literal["adjudge-agreement/1"] = "adjudge-agreement/1"
    run_id: str
    suite: str
    created: str
    confidence: float
    reviewers: list[str]
    judges: dict[str, MeasuredJudge]


def identity(spec: JudgeSpec, asking: Iterable[PlannedGrader]) -> Identity:
    """The identity of a judge that `asking`, the planned graders that ask it, make."""
    graders = list(asking)
    return Identity(
        model=spec.model,
        api_base=spec.api_base,
        params=dict(spec.params),
        output=spec.output,
        prompts=sorted({grader.prompt for grader in graders}),
        calls=sorted({grader.calls for grader in graders}),
        schema_version=SCHEMA_VERSION,
    )


def measured(
    found: Agreement, identities: Mapping[str, Identity], confidence: float
) -> dict[str, MeasuredJudge]:
    """Each judge of a run with its figures."""
    judges: dict[str, MeasuredJudge] = {}
    for name, part in found.judges.items():
        if name not in identities:
            continue
        figures = {
            key: Measured(
                value=None if figure.value is None else float(figure.value),
                **ends(figure.interval),
                n=figure.n,
            )
            for key, figure in part.figures(confidence).items()
        }
        judges[name] = MeasuredJudge(identity=identities[name], compared=len(part.pairs), figures=figures)
    return judges


def read_record(path: Path) -> AgreementRecord:
    """Read what `adjudge agreement --write` wrote.

    Raises:
        UsageError: it is something else.
        StorageError: it can't be read.
    """
    with storage(path, "read"):
        content = path.read_bytes()
    try:
        return AgreementRecord.model_validate_json(content)
    except ValidationError as error:
        wrong = next(iter(findings(error, AgreementRecord)), error)
        raise UsageError(
            f"{str(path)!r} is not what `adjudge agreement RUN --labels FILE --write FILE` writes: {wrong}"
        ) from None


def not_admitted(
    name: str, judge: Identity, record: AgreementRecord, required: Iterable[Requirement]
) -> list[str]:
    """Why a judge is not admitted, in words; empty where it is.

    It is looked for by what it is: under its name, else under any.
    """
    known = sorted(record.judges.items(), key=lambda item: item[0] != name)
    if not known:
        return [f"run {record.run_id!r} measured no judge"]
    same = next((found for _, found in known if not _changes(found.identity, judge)), None)
    if same is None:
        said = "; ".join(_changes(known[0][1].identity, judge))
        return [f"it is not the judge that was measured in run {record.run_id!r}: {said}"]
    return [said for one in required if (said := _short_of(one, same)) is not None]


def _short_of(required: Requirement, judge: MeasuredJudge) -> str | None:
    figure = judge.figures.get(required.figure)
    lower = None if figure is None else figure.lower
    if required.met(lower):
        return None
    if lower is None or figure is None:
        return f"{required} was asked for and {required.figure} could not be measured"
    return f"{required} was asked for and the lower end of {required.figure} is {lower:.3g}, over {figure.n}"


def _changes(then: Identity, now: Identity) -> list[str]:
    said = [
        f"{key} was {getattr(then, key)!r} and is {getattr(now, key)!r}"
        for key in ("model", "api_base", "params", "output", "schema_version")
        if getattr(then, key) != getattr(now, key)
    ]
    for key, what in (("prompts", "prompt"), ("calls", "way of asking")):
        new = set(getattr(now, key)) - set(getattr(then, key))
        if new:
            names = ", ".join(sorted(item[:12] for item in new))
            said.append(f"its {what} was not measured ({names})")
    return said
