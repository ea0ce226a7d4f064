"""Label files: append-only, independent of any run, the last word of each reviewer counts."""

from __future__ import annotations

import csv
import io
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge import UsageError
from adjudge.pipeline.trust.labels import Label, append_label, latest, read_labels, write_table

words = st.text(st.characters(codec="utf-8"), max_size=20)
labels = st.builds(
    Label,
    conversation_id=words,
    statement=words,
    label=st.sampled_from(["met", "not_met", "undecidable"]),
    grader=st.none() | words,
    evidence=st.none() | words,
    reviewer=words,
    note=words,
    blind=st.booleans(),
)


def said(label: str, reviewer: str = "ana", **others: str) -> Label:
    """A label about one and the same statement."""
    known = {"conversation_id": "c1", "statement": "It greets.", "label": label, "reviewer": reviewer}
    return Label.model_validate({**known, **others})


@given(st.lists(labels, max_size=5))
def test_labels_come_back_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, written: list[Label]
) -> None:
    path = tmp_path_factory.mktemp("labels") / "new" / "labels.jsonl"
    for label in written:
        append_label(path, label)

    assert list(read_labels([path] if written else [])) == written


@pytest.mark.parametrize("torn", ['{"conversation_id": "c2", "stat', "{", '{"label": "met"}'])
def test_what_a_kill_left_half_written_is_cut_off_by_the_next_label(tmp_path: Path, torn: str) -> None:
    path = tmp_path / "labels.jsonl"
    append_label(path, said("met"))
    with path.open("a") as file:
        file.write(torn)

    append_label(path, said("not_met"))

    assert [label.label for label in read_labels([path])] == ["met", "not_met"]


def test_a_last_line_without_its_newline_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text(said("met").model_dump_json())

    append_label(path, said("not_met"))

    assert [label.label for label in read_labels([path])] == ["met", "not_met"]


def test_several_writers_tear_no_line(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    with ThreadPoolExecutor(8) as threads:
        for n in range(40):
            threads.submit(append_label, path, said("met", f"r{n}"))

    assert {label.reviewer for label in read_labels([path])} == {f"r{n}" for n in range(40)}


def test_the_last_word_of_each_reviewer_counts() -> None:
    all_of_them = [said("met"), said("not_met", "bo"), said("undecidable"), said("met", evidence="ab")]

    assert latest(all_of_them) == [said("undecidable"), said("not_met", "bo"), said("met", evidence="ab")]


def test_a_table_is_read_like_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text('conversation_id,statement,label,reviewer,note\nc1,It greets.,met,ana,"a, ""b""\nc"\n')

    assert list(read_labels([path])) == [said("met", note='a, "b"\nc')]


@given(st.lists(labels.filter(lambda label: bool(label.conversation_id and label.statement)), max_size=5))
def test_labels_come_back_from_a_spreadsheet_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, written: list[Label]
) -> None:
    path = tmp_path_factory.mktemp("labels") / "labels.csv"
    with path.open("w", newline="") as file:
        write_table(written, file)

    assert list(read_labels([path])) == [
        label.model_copy(update={"grader": label.grader or None, "evidence": label.evidence or None})
        for label in written
    ]


@given(st.sampled_from(["=", "+", "-", "@", "\t", "'=", "\uff1d"]), words)
def test_no_cell_of_a_table_of_labels_is_a_formula(start: str, text: str) -> None:
    stream = io.StringIO(newline="")

    write_table([said("met", note=start + text)], stream)

    (row,) = csv.DictReader(io.StringIO(stream.getvalue(), newline=""))
    assert row["note"].startswith("'")


@pytest.mark.parametrize(("word", "label"), [("TRUE", "met"), ("no", "not_met"), ("n/a", "undecidable")])
def test_a_table_may_say_it_in_other_words(tmp_path: Path, word: str, label: str) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(f"conversation_id,statement,label\nc,s,{word}\n")

    assert [found.label for found in read_labels([path])] == [label]


@pytest.mark.parametrize(
    ("text", "place", "word"),
    [
        ('{"conversation_id": "c", "statement": "s", "label": "yes"}', ":1", "'undecidable'"),
        ('\n{"conversation_id": "c", "statement": "s", "label": "met", "more": 1}', ":2", "more"),
        ("conversation_id,statement,label\nc,s,met\nc,s,perhaps\n", ":3", "label"),
        ("[]", ":1", "must be a mapping"),
    ],
)
def test_a_line_that_is_no_label_is_named(tmp_path: Path, text: str, place: str, word: str) -> None:
    path = tmp_path / "labels"
    path.write_text(text)

    with pytest.raises(UsageError) as refused:
        list(read_labels([path]))

    assert f"{path}{place}" in str(refused.value)
    assert word in str(refused.value)


def test_a_table_takes_no_appended_label(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("conversation_id,statement,label\n")

    with pytest.raises(UsageError, match="adjudge labels import"):
        append_label(path, said("met"))
    assert path.read_text() == "conversation_id,statement,label\n"
