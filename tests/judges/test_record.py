"""A record is read as if it came from a stranger (C8)."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, get_args

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adjudge.judges.failure import Cause
from adjudge.judges.ledger.record import DamagedRecordError, Record, decode, encode
from adjudge.judges.request import Evidence, JudgeRequest, Model, Prompt, canonical_json, digest
from adjudge.judges.verdict import Attempt, Citation, Decision, Origin, Usage, Verdict

AT_ANY_SPEED = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
COUNT = st.none() | st.integers(0, 2**53)
SECONDS = st.floats(0, 1e9)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
CITATIONS = st.builds(Citation, turn=st.integers(1, 9), quote=TEXT, verified=st.booleans())
VERDICTS = st.builds(
    Verdict,
    decision=st.sampled_from(get_args(Decision)),
    rationale=TEXT,
    citations=st.lists(CITATIONS, max_size=2).map(tuple),
)
ATTEMPTS = st.builds(
    Attempt,
    cause=st.none() | st.sampled_from(get_args(Cause)),
    message=TEXT,
    status=st.none() | st.integers(100, 599),
    seconds=SECONDS,
    waited=SECONDS,
    raw=st.none(),
    usage=st.builds(Usage, input_tokens=COUNT, output_tokens=COUNT, cached_input_tokens=COUNT),
    cost_usd=st.none() | SECONDS,
    served_model=st.none() | TEXT,
)


@st.composite
def records(draw: st.DrawFn) -> Record:
    """A record of any question, with one older answer or none."""
    statements = tuple(draw(st.lists(TEXT, min_size=1, max_size=3)))
    request = JudgeRequest(
        evidence=Evidence(text="", digest=draw(TEXT), turns=()),
        statements=statements,
        prompt=Prompt(name="p", system="", user="", digest=draw(TEXT)),
        model=Model(name=draw(TEXT), params=draw(st.dictionaries(TEXT, JSON, max_size=3))),
    )
    newest = Record(
        key=request.key,
        fields=request.key_fields,
        verdicts=tuple(draw(st.lists(VERDICTS, min_size=len(statements), max_size=len(statements)))),
        attempts=tuple(draw(st.lists(ATTEMPTS, max_size=2))),
        origin=draw(st.none() | st.builds(Origin, run=TEXT, unit=TEXT)),
        created=draw(st.just("") | st.datetimes(timezones=st.timezones()).map(lambda at: at.isoformat())),
        adjudge=draw(TEXT),
    )
    return replace(newest, history=(newest,)) if draw(st.booleans()) else newest


RECORD = Record(
    key="",
    fields={"statements": ["The agent greets."], "model": "m"},
    verdicts=(
        Verdict(
            decision="met", rationale="it does", citations=(Citation(turn=1, quote="Hi", verified=True),)
        ),
    ),
    attempts=(Attempt(seconds=0.5),),
    origin=Origin(run="r", unit="u"),
    created="2026-01-02T03:04:05+00:00",
    adjudge="1",
)


def row(**changes: Any) -> bytes:
    """The line of `RECORD` with changes, and the key that belongs to its fields."""
    fields = changes.get("fields", RECORD.fields)
    line = orjson.loads(encode(RECORD)) | {"key": digest(canonical_json(fields))} | changes
    return orjson.dumps(line)


@AT_ANY_SPEED
@given(records())
def test_a_record_survives_being_written_and_read(record: Record) -> None:
    assert decode(encode(record)) == record


@AT_ANY_SPEED
@given(records(), st.data())
def test_a_changed_byte_makes_a_record_damaged_or_leaves_its_question_as_it_was(
    record: Record, data: st.DataObject
) -> None:
    line = bytearray(encode(record))
    line[data.draw(st.integers(0, len(line) - 1))] = data.draw(st.integers(0, 255))
    try:
        read = decode(bytes(line))
    except DamagedRecordError:
        return

    assert (read.key, read.fields) == (record.key, record.fields)


@AT_ANY_SPEED
@given(st.binary() | st.text().map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_anything_else_is_damaged(line: bytes) -> None:
    with pytest.raises(DamagedRecordError):
        decode(line)


def test_the_record_the_damaged_ones_are_made_of_is_read() -> None:
    assert decode(row()).verdicts == RECORD.verdicts


def verdict(**changes: Any) -> dict[str, Any]:
    """The row of one verdict with changes."""
    whole: dict[str, Any] = {"decision": "met", "rationale": "", "citations": []}
    return whole | changes


def cited(turn: object) -> dict[str, Any]:
    """A verdict that cites `turn`."""
    return verdict(citations=[{"turn": turn, "quote": "", "verified": True}])


def past(**changes: Any) -> list[Any]:
    """A history of one record."""
    return [orjson.loads(row(**changes))]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        pytest.param(row(key="0" * 64), "key", id="a key of another question"),
        pytest.param(row(fields={"statements": []}, verdicts=[]), "verdicts", id="no statement"),
        pytest.param(row(verdicts=[verdict(), verdict()]), "verdicts", id="two verdicts for one statement"),
        pytest.param(row(verdicts=[]), "verdicts", id="no verdict"),
        pytest.param(row(fields={"statements": [1]}), "statements", id="a statement that is no text"),
        pytest.param(row(fields={"statements": "x"}), "statements", id="statements that are no list"),
        pytest.param(row(fields={}), "statements", id="no statements"),
        pytest.param(row(fields=[]), "fields", id="fields that are no object"),
        pytest.param(row(verdicts=[verdict(decision="Met")]), "decision", id="a decision misspelled"),
        pytest.param(row(verdicts=[verdict(score=1)]), "score", id="a key nobody knows"),
        pytest.param(row(verdicts=[{"decision": "met"}]), "rationale", id="a missing rationale"),
        pytest.param(row(verdicts=[cited(0)]), "turn", id="turn 0"),
        pytest.param(row(verdicts=[cited("1")]), "turn", id="a turn in quotes"),
        pytest.param(row(verdicts=[cited(True)]), "turn", id="a turn that is true"),
        pytest.param(row(attempts=[{"cost_usd": "0.1"}]), "cost_usd", id="a cost in quotes"),
        pytest.param(row().replace(b"0.5", b"NaN"), "seconds", id="NaN"),
        pytest.param(row(attempts=[{"cause": "sulking"}]), "cause", id="a cause nobody knows"),
        pytest.param(row(origin={"run": "r"}), "unit", id="half an origin"),
        pytest.param(row(created="yesterday"), "isoformat", id="a time that is none"),
        pytest.param(row(created="2026-01-02T03:04:05"), "offset", id="a time without its offset"),
        pytest.param(row(history=past(history=past())), "history", id="history in history"),
        pytest.param(row(history=past(fields={"statements": ["x"]})), "history", id="another's history"),
        pytest.param(row(more=1), "more", id="a record with another key"),
        pytest.param(b"[" * 100_000, "JSON", id="a hundred thousand brackets"),
        pytest.param(row().replace(b'"m"', b"[" * 300 + b"]" * 300), "recursion", id="too deep"),
        pytest.param(row().replace(b"it does", b"\xff"), "JSON", id="no UTF-8"),
    ],
)
def test_a_record_of_another_shape_is_damaged(line: bytes, why: str) -> None:
    with pytest.raises(DamagedRecordError, match=why):
        decode(line)


def test_fields_nested_too_deep_to_be_written_are_damaged() -> None:
    deep: list[Any] = []
    for _ in range(260):
        deep = [deep]
    fields = {"statements": ["The agent greets."], "params": deep}
    text = json.dumps(orjson.loads(row()) | {"fields": fields})

    with pytest.raises(DamagedRecordError):
        decode(text)
