"""The judge beside people's labels, and quotes beside their turns."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.judges.failure import UsageError
from adjudge.pipeline.grade import ResultRow
from adjudge.pipeline.trust.agreement import (
    agreement,
    agreement_text,
    quotes,
    quotes_text,
    sources,
)
from adjudge.pipeline.trust.labels import Label, read_labels

DECISIONS = ("met", "not_met", "undetermined", None)
LABELS = ("met", "not_met", "undecidable")


def statement(text: str, decision: str | None, **more: Any) -> dict[str, Any]:
    error = {"cause": "timeout", "message": "m", "retryable": True} if decision is None else None
    row: dict[str, Any] = {"id": "s1", "text": text, "decision": decision, "error": error}
    row |= {"citations": [], "source": "live"}
    return row | more


def rows(*statements: dict[str, Any], conversation: str = "c1", grader: str = "g") -> list[ResultRow]:
    grade = {"grader": grader, "statements": list(statements)}
    return [cast("ResultRow", {"conversation_id": conversation, "grades": [grade]})]


def label(text: str, said: Any, *, conversation: str = "c1", grader: str | None = None) -> Label:
    return Label(conversation_id=conversation, statement=text, label=said, grader=grader)


def test_agreement_is_counted_over_what_both_decided() -> None:
    judged = rows(
        statement("A.", "met"),
        statement("B.", "met"),
        statement("C.", "not_met"),
        statement("D.", None),
        statement("E.", "met"),
        statement("F.", "met"),
    )
    labels = [
        label("A.", "met"),
        label("B.", "not_met"),
        label("C.", "not_met"),
        label("D.", "met"),
        label("E.", "undecidable"),
        label("nobody asked this", "met"),
    ]

    found = agreement(judged, labels)

    assert (found.compared, found.agreed, found.undecidable) == (3, 2, 1)
    assert found.errored == {"timeout": 1}
    assert found.disagreements == [("c1", "g s1", "not_met", "met")]
    assert (found.share("met"), found.share("not_met")) == ("1 of 1", "1 of 2")


def test_kappa_is_the_agreement_beyond_chance() -> None:
    decisions = ["met"] * 20 + ["met"] * 5 + ["not_met"] * 10 + ["not_met"] * 15
    labelled = ["met"] * 20 + ["not_met"] * 5 + ["met"] * 10 + ["not_met"] * 15
    judged = rows(*(statement(str(n), decision) for n, decision in enumerate(decisions)))

    found = agreement(judged, [label(str(n), said) for n, said in enumerate(labelled)])

    assert (found.agreed, found.compared) == (35, 50)
    assert found.kappa == Fraction(2, 5)
    assert "agree on 35 of 50 labelled statements (70 %, kappa 0.40)" in agreement_text(found)


def test_shares_are_rounded_half_up() -> None:
    judged = rows(*(statement(str(n), "met" if n else "not_met") for n in range(8)))
    labels = [label(str(n), "not_met") for n in range(8)]

    text = agreement_text(agreement(judged, labels))

    assert "agree on 1 of 8 labelled statements (13 %, kappa 0.00)" in text


def test_kappa_is_not_defined_where_chance_explains_everything() -> None:
    assert agreement(rows(statement("A.", "met")), [label("A.", "met")]).kappa is None
    assert agreement([], []).kappa is None
    assert "kappa undefined" in agreement_text(agreement(rows(statement("A.", "met")), [label("A.", "met")]))


@given(
    st.lists(st.tuples(st.sampled_from(DECISIONS), st.sampled_from((*LABELS, None))), min_size=1, max_size=30)
)
def test_every_labelled_statement_is_in_exactly_one_count(pairs: list[tuple[str | None, str | None]]) -> None:
    judged = rows(*(statement(str(n), decision) for n, (decision, _) in enumerate(pairs)))
    labels = [label(str(n), said) for n, (_, said) in enumerate(pairs) if said is not None]

    found = agreement(judged, labels)

    assert found.compared + found.errored.total() + found.undecidable == len(labels)
    assert found.kappa is None or -1 <= found.kappa <= 1
    assert agreement_text(found).endswith("\n")


def test_a_label_may_name_its_grader_and_then_goes_first() -> None:
    labels = [label("A.", "met"), label("A.", "not_met", grader="other")]

    assert agreement(rows(statement("A.", "met")), labels).agreed == 1
    assert agreement(rows(statement("A.", "met"), grader="other"), labels).agreed == 0


def test_a_label_is_of_its_conversation_only() -> None:
    assert agreement(rows(statement("A.", "met"), conversation="c2"), [label("A.", "met")]).compared == 0


def test_labels_are_read_line_by_line(tmp_path: Path) -> None:
    file = tmp_path / "labels.jsonl"
    written = {"conversation_id": "c1", "statement": "A.", "label": "met", "reviewer": "r", "note": "n"}
    file.write_text("\n" + json.dumps(written) + "\n\n")

    (found,) = read_labels([file])

    assert (found.conversation_id, found.label, found.grader) == ("c1", "met", None)


@pytest.mark.parametrize(
    "line", ["{", '{"label": "met"}', '{"conversation_id": "c", "statement": "A."}', "[]"]
)
def test_a_line_that_is_no_label_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "labels.jsonl"
    file.write_text(f"\n{line}\n")

    with pytest.raises(UsageError, match=r"labels\.jsonl:2: "):
        list(read_labels([file]))


def test_a_file_of_labels_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"labels '.*nowhere' can't be read"):
        list(read_labels([tmp_path / "nowhere"]))


def test_quotes_that_were_not_found_are_counted_beside_all(tmp_path: Path) -> None:
    citations = [
        {"turn": 1, "quote": "there", "verified": True},
        {"turn": 2, "quote": "not \x1b there", "verified": False},
    ]

    found = quotes(rows(statement("A.", "met", citations=citations), statement("B.", "met")))

    assert (found.cited, found.missing) == (2, [("c1", "g s1", 2, "not \x1b there")])
    assert quotes_text(found).startswith("  1 of 2 quotes were not found in the turn they name\n")
    assert "\x1b" not in quotes_text(found)


def test_long_lists_end_in_a_count_of_the_rest() -> None:
    judged = rows(*(statement(str(n), "met") for n in range(12)))
    found = agreement(judged, [label(str(n), "not_met") for n in range(12)])

    assert agreement_text(found, listed=10).endswith("    and 2 more\n")


def test_sources_say_where_verdicts_came_from() -> None:
    judged = rows(
        statement("A.", "met"), statement("B.", "met", source="cache"), statement("C.", None, source=None)
    )

    assert sources(judged) == {"live": 1, "cache": 1}
