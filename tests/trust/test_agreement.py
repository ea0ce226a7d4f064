"""The judge beside people's labels: every statement counted once, the right label found, what is said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.pipeline.grade import ResultRow
from adjudge.pipeline.reports.agreement import Beside, agreement_json, agreement_report, short_text
from adjudge.pipeline.trust.agreement import Agreement, Key, agreement
from adjudge.pipeline.trust.labels import Label
from adjudge.pipeline.trust.matching import Answer, Judged, Labels, judged
from adjudge.pipeline.trust.requirement import Requirement

DECISIONS = ("met", "not_met", "undetermined", None)
LABELS = ("met", "not_met", "undecidable")
EVIDENCE = "e1"


def statement(text: str, decision: str | None, **more: Any) -> dict[str, Any]:
    error = {"cause": "timeout", "message": "m", "retryable": True} if decision is None else None
    row: dict[str, Any] = {"id": "s1", "text": text, "decision": decision, "error": error, "judge": "main"}
    row |= {"citations": [], "source": "live", "rationale": "why"}
    return row | more


def vote(judge: str, decision: str | None) -> dict[str, Any]:
    return {key: statement("", decision)[key] for key in ("decision", "error")} | {"judge": judge}


def rows(*statements: dict[str, Any], conversation: str = "c1", grader: str = "g") -> list[ResultRow]:
    grade = {"grader": grader, "statements": list(statements)}
    return [cast("ResultRow", {"conversation_id": conversation, "test": None, "grades": [grade]})]


def label(text: str, said: Any, *, conversation: str = "c1", **more: Any) -> Label:
    return Label(conversation_id=conversation, statement=text, label=said, **more)


def compared(found: Iterable[ResultRow], labels: Iterable[Label], by: Key | None = None) -> Agreement:
    return agreement(judged(((row, EVIDENCE) for row in found), Labels.of(labels)), by)


def beside(found: Agreement, labels: Labels | None = None, **more: Any) -> Beside:
    plain: dict[str, Any] = {"run_id": "r", "found": found, "labels": labels or Labels(), "by": None}
    plain |= {"confidence": 0.95, "required": []} | more
    return Beside(**plain)


def test_agreement_is_counted_over_what_both_decided() -> None:
    decisions = {"A.": "met", "B.": "met", "C.": "not_met", "D.": None, "E.": "met", "F.": "met"}
    labels = [label("A.", "met"), label("B.", "not_met"), label("C.", "not_met"), label("D.", "met")]
    labels += [label("E.", "undecidable"), label("nobody asked this", "met")]

    found = compared(rows(*(statement(*pair) for pair in decisions.items())), labels)

    whole = found.whole
    assert whole.table == {("met", "met"): 1, ("not_met", "met"): 1, ("not_met", "not_met"): 1}
    assert (whole.errored, whole.undecidable, whole.unlabelled) == ({"timeout": 1}, 1, 1)
    assert [(one.judged.place, one.people, one.judge) for one in found.disagreements] == [
        ("g s1", "not_met", "met")
    ]


@given(
    st.lists(st.tuples(st.sampled_from(DECISIONS), st.sampled_from((*LABELS, None))), min_size=1, max_size=30)
)
def test_every_statement_is_in_exactly_one_count(pairs: list[tuple[str | None, str | None]]) -> None:
    judging = rows(*(statement(str(n), decision) for n, (decision, _) in enumerate(pairs)))
    labels = [label(str(n), said) for n, (_, said) in enumerate(pairs) if said is not None]

    found = compared(judging, labels)

    whole = found.whole
    assert whole.statements == len(pairs)
    assert len(whole.pairs) + whole.errored.total() + whole.undecidable == len(labels)
    assert whole.share_met(0.95).n + whole.undecided == len(pairs)
    assert agreement_report(beside(found)).endswith("\n")
    assert agreement_json(beside(found), 0)["overall"]["statements"] == len(pairs)


def test_an_undetermined_statement_is_no_decision_whatever_the_grader_makes_of_it() -> None:
    assert compared(rows(statement("A.", "undetermined")), [label("A.", "not_met")]).whole.errored == {
        "undetermined": 1
    }


def test_a_label_may_name_its_grader_and_then_goes_first() -> None:
    labels = [label("A.", "met"), label("A.", "not_met", grader="other")]

    assert not compared(rows(statement("A.", "met")), labels).disagreements
    assert compared(rows(statement("A.", "met"), grader="other"), labels).disagreements


def test_a_label_is_of_its_conversation_only() -> None:
    labels = Labels.of([label("A.", "met")])

    (item,) = judged([(rows(statement("A.", "met"), conversation="c2")[0], EVIDENCE)], labels)

    assert item.labels == ()
    assert (labels.stale, labels.unused) == (0, 1)


def test_a_label_about_evidence_that_has_changed_is_stale_and_not_used() -> None:
    labels = Labels.of([label("A.", "met", evidence="older"), label("A.", "met", reviewer="r")])

    (item,) = judged([(rows(statement("A.", "met"))[0], EVIDENCE)], labels)

    assert [one.reviewer for one in item.labels] == ["r"]
    assert (labels.stale, labels.unused) == (1, 0)


def test_a_label_holds_for_the_same_evidence_under_another_id() -> None:
    labels = [label("A.", "met", conversation="renamed since", evidence=EVIDENCE)]

    assert compared(rows(statement("A.", "met")), labels).whole.table == {("met", "met"): 1}


def test_the_last_word_of_a_reviewer_counts() -> None:
    labels = [label("A.", "met", reviewer="r"), label("A.", "not_met", reviewer="r")]

    found = compared(rows(statement("A.", "met")), labels)

    assert found.whole.table == {("not_met", "met"): 1}
    assert found.reviewers == {"r": 1}


@pytest.mark.parametrize(
    ("words", "opinion"),
    [
        (["met", "met", "not_met"], "met"),
        (["met", "not_met"], "undecidable"),
        (["met", "undecidable", "not_met"], "undecidable"),
        (["undecidable", "undecidable", "met"], "undecidable"),
        (["not_met"], "not_met"),
    ],
)
def test_more_than_half_of_the_reviewers_decide(words: list[Any], opinion: str) -> None:
    labels = [label("A.", word, reviewer=str(n)) for n, word in enumerate(words)]

    (item,) = judged([(rows(statement("A.", "met"))[0], EVIDENCE)], Labels.of(labels))

    assert item.opinion == opinion


def test_reviewers_are_compared_with_each_other_where_several_labelled() -> None:
    labels = [
        label(text, word, reviewer=name)
        for text, words in {"A.": ("met", "met"), "B.": ("not_met", "not_met"), "C.": ("met", None)}.items()
        for name, word in zip("xy", words, strict=True)
        if word
    ]

    figures = compared(rows(*(statement(t, "met") for t in ("A.", "B.", "C."))), labels).whole.figures(0.95)

    assert (figures["alpha"].value, figures["alpha"].n) == (1, 2)


def test_each_judge_of_a_panel_is_compared_by_its_own_votes() -> None:
    votes = [vote("a", "met"), vote("b", "not_met"), vote("b", None)]
    row = statement("A.", "met", votes=votes, judge="")

    found = compared(rows(row), [label("A.", "met")])

    assert found.whole.table == {("met", "met"): 1}
    assert found.judges["a"].table == {("met", "met"): 1}
    assert found.judges["b"].table == {("met", "not_met"): 1}
    assert found.judges["b"].errored == {"timeout": 1}


def test_parts_are_counted_beside_the_whole() -> None:
    def by(item: Judged) -> Iterator[tuple[str, Answer]]:
        yield item.statement, item.answer

    found = compared(
        rows(statement("A.", "met"), statement("B.", "met")), [label("A.", "met"), label("B.", "not_met")], by
    )

    assert {name: part.table for name, part in found.parts.items()} == {
        "A.": {("met", "met"): 1},
        "B.": {("not_met", "met"): 1},
    }
    assert found.whole.statements == 2


def test_shares_are_rounded_half_up_at_the_end_of_a_run() -> None:
    judging = rows(*(statement(str(n), "met" if n else "not_met") for n in range(8)))
    found = compared(judging, [label(str(n), "not_met") for n in range(8)])

    text = short_text(found, 0.95)

    assert "agree on 1 of 8 labelled statements (13 %, kappa 0.00)" in text
    assert "of those a person calls not met, the judge does in 1 of 8" in text.lower()


def test_kappa_is_said_to_be_undefined_where_chance_explains_everything() -> None:
    assert "kappa undefined" in short_text(compared(rows(statement("A.", "met")), [label("A.", "met")]), 0.95)


def test_nothing_labelled_has_no_figure() -> None:
    figures = compared(rows(statement("A.", "met")), []).whole.figures(0.95)

    assert {figure.value for figure in figures.values()} == {None}


def test_long_lists_end_in_a_count_of_the_rest() -> None:
    found = compared(
        rows(*(statement(str(n), "met") for n in range(12))), [label(str(n), "not_met") for n in range(12)]
    )

    assert "    and 2 more" in short_text(found, 0.95, listed=10)
    assert "  and 9 more" in agreement_report(beside(found, listed=3))


def test_what_the_judge_left_undecided_widens_the_share_it_may_have_met() -> None:
    judging = rows(statement("A.", "met"), statement("B.", "not_met"), statement("C.", None))
    found = compared(judging, [label("A.", "met")])

    text = agreement_report(beside(found))

    assert "The judge calls 50.0 % of 2 statements met" in text
    assert "nothing on 1 more; of all, 33.3 % to 66.7 % may be met" in text


def test_hostile_text_is_shown_and_not_obeyed() -> None:
    row = statement("\x1b[31mred", "met", rationale="\x1b]0;title\x07")
    found = compared(rows(row, conversation="c\x1b"), [
        label("\x1b[31mred", "not_met", conversation="c\x1b", reviewer="\x1b[2J", note="\u202e")
    ])  # fmt: skip

    text = agreement_report(beside(found)) + short_text(found, 0.95)

    assert "\x1b" not in text
    assert "\u202e" not in text


def test_a_requirement_is_held_against_the_lower_end() -> None:
    found = compared(
        rows(*(statement(str(n), "met") for n in range(10))), [label(str(n), "met") for n in range(10)]
    )
    accuracy = found.whole.figures(0.95)["accuracy"]
    required = [Requirement.parse("accuracy>=0.9"), Requirement.parse("accuracy >= .2")]

    answers = [one.met(accuracy.lower) for one in required]

    assert accuracy.value == Fraction(1)
    assert answers == [False, True]
    text = agreement_report(beside(found, required=list(zip(required, answers, strict=True))))
    assert "accuracy>=0.9: not met; the lower end is 0.21, over 10" in text
