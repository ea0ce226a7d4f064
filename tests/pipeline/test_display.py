"""Text from elsewhere, made safe for a terminal."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge.pipeline.display import block, json_line, json_text, pad, visible, visible_json, width


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", r"\x1b[2J"),
        ("\x1b]8;;http://x\x07y", r"\x1b]8;;http://x\x07y"),
        ("\x1b]52;c;aGk=\x07", r"\x1b]52;c;aGk=\x07"),
        ("100%\rPASS", r"100%\rPASS"),
        ("\x9b31m", r"\x9b31m"),
        ("invoice_\u202egpj.exe", r"invoice_\u202egpj.exe"),
        ("a\u200bb\u2060c\ufeffd", r"a\u200bb\u2060c\ufeffd"),
        ("\x00\x08\x7f", r"\x00\x08\x7f"),
        ("one\u2028two\u2029", r"one\u2028two\u2029"),
        ("line\nline\t", r"line\nline\t"),
        ("\ud800", r"\ud800"),
        ("\U000e0041hidden", r"\U000e0041hidden"),
        ("\u3164\uffa0", r"\u3164\uffa0"),
    ],
)
def test_what_acts_or_hides_becomes_visible(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize(
    "text", ["", "plain", r"C:\x1b", "café", "مرحبا", "漢字", "🙂", "1\u00a0000 €", "∀x∈ℝ"]
)
def test_what_people_write_is_left_alone(text: str) -> None:
    assert visible(text) == text


@settings(deadline=None)
@given(st.text(st.characters()))
def test_shown_text_has_no_control_format_or_surrogate_and_stays_on_its_line(text: str) -> None:
    shown = visible(text)

    assert not [c for c in shown if unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"}]
    assert len(shown.splitlines()) <= 1
    assert visible(shown) == shown
    shown.encode()


@settings(deadline=None)
@given(st.text(st.characters()))
def test_a_block_breaks_lines_at_newlines_alone(text: str) -> None:
    assert block(text).splitlines() == block(text).removesuffix("\n").split("\n") or not block(text)


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_shown_json_has_the_same_values_and_nothing_that_acts_or_hides(text: str) -> None:
    shown = json_text({"a": [text]})

    assert json.loads(shown) == {"a": [text]}
    assert visible(shown, keep="\n") == shown
    assert json.loads(json_line([text])) == [text]
    assert len(json_line([text]).decode().splitlines()) == 1


def test_json_of_a_file_has_half_a_pair_escaped_and_keeps_its_lines() -> None:
    assert visible_json('{\n "\ud800\U000e0041é": 1\n}\n') == '{\n "\\ud800\\udb40\\udc41é": 1\n}\n'


def test_line_ends_of_other_systems_become_newlines() -> None:
    assert block("a\r\nb\tc") == "a\nb\tc"


@pytest.mark.parametrize(("text", "columns"), [("abc", 3), ("漢字", 4), ("e\u0301", 1), ("", 0)])
def test_width_counts_columns_not_characters(text: str, columns: int) -> None:
    assert width(text) == columns


def test_padding_fills_columns_on_either_side() -> None:
    assert (pad("漢", 4), pad("7", 3, right=True), pad("longer", 3)) == ("漢  ", "  7", "longer")
