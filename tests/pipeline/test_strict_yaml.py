"""YAML without its surprises (S2, S8)."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from adjudge.judges.failure import UsageError
from adjudge.pipeline.scoring import exact
from adjudge.pipeline.suite.strict_yaml import MAX_BYTES, MAX_DEPTH, Document, load_yaml, parse_yaml

DATA = Path(__file__).parents[1] / "data" / "nasty"


@pytest.fixture(params=["libyaml", "pure Python"], autouse=True)
def _parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "pure Python":
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)


def messages(document: Document) -> list[str]:
    return [problem.message for problem in document.problems]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("false", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("0", 0),
        ("-12", -12),
        ("0.75", 0.75),
        ("-1.50", -1.5),
        *((text, text) for text in ("no", "off", "yes", "True", "NULL", "010", "0x1f", "1_000", "12:30:45")),
        *((text, text) for text in ("2026-03-02", "1e3", ".5", "5.", "+1", "1.10.2")),
        ("'0.75'", "0.75"),
        ('"true"', "true"),
    ],
)
def test_a_plain_value_is_what_it_looks_like(text: str, value: object) -> None:
    document = parse_yaml(f"key: {text}")

    assert document.problems == []
    assert document.data == {"key": value}
    assert type(document.data["key"]) is type(value)


def test_a_file_of_yaml_surprises_stays_text() -> None:
    data = parse_yaml((DATA / "suite_gotchas.yaml").read_text()).data

    assert (data["name"], data["country"], data["time"], data["octal"]) == ("no", "NO", "12:30", "010")
    assert data["statements"][1:3] == ["yes", None]


@pytest.mark.parametrize("text", [".nan", ".inf", "-.INF", ".NaN"])
def test_a_number_that_is_not_finite_is_refused(text: str) -> None:
    assert "is not a number that can be used" in messages(parse_yaml(f"threshold: {text}"))[0]


def test_a_decimal_with_more_digits_than_a_float_keeps_is_refused() -> None:
    assert "more digits than are kept" in messages(parse_yaml("threshold: 0.66666666666666666667"))[0]


@given(st.integers(0, 10**15 - 1), st.integers(1, 15))
def test_a_decimal_is_kept_exactly(digits: int, places: int) -> None:
    whole, rest = divmod(digits, 10**places)
    text = f"{whole}.{rest:0{places}}"

    assert exact(parse_yaml(f"x: {text}").data["x"]) == Fraction(text)


def test_a_duplicate_key_is_refused_and_the_first_one_named() -> None:
    document = parse_yaml("a: {x: 1}\nb: 2\na: {x: 3}\n")

    assert messages(document) == ["duplicate key 'a'; the first one is on line 1"]
    assert (document.problems[0].line, document.problems[0].column) == (3, 1)
    assert document.data == {"a": {"x": 1}, "b": 2}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: &x 1", "anchor '&x'"),
        ("a: *x", "alias '*x'"),
        ("*x : 1\n'*x': 2", "alias '*x'"),
        ("<<: {a: 1}", "merge key"),
        ("a: !!str 1", "tag"),
        ("a: !!python/object/apply:os.system [x]", "tag"),
        ("a: !x {}", "tag"),
        ("? [a]\n: 1", "a key must be text"),
        ("a: 1\n---\nb: 2", "a second document"),
        ("a: 1234567890123456789", "more than 18 digits"),
        ("a: [1, 2\nb: 3", "not YAML"),
        ("a: 'x", "not YAML"),
        ("a: \x07", "is not allowed"),
        ("a: \ud800", "surrogate"),
    ],
)
def test_what_is_no_plain_yaml_is_refused(text: str, said: str) -> None:
    assert said in " ".join(messages(parse_yaml(text)))


def test_an_alias_bomb_is_refused_without_being_built() -> None:
    document = parse_yaml((DATA / "alias_bomb.yaml").read_text())

    assert len(document.problems) == 5 + 5 * 9
    assert document.data["b"] == [None] * 9


def test_nesting_over_the_limit_is_refused() -> None:
    deepest = "[" * MAX_DEPTH + "]" * MAX_DEPTH

    assert parse_yaml(deepest).problems == []
    assert "nested more than" in messages(parse_yaml(f"[{deepest}]"))[0]
    assert "nest" in messages(parse_yaml("[" * 100_000))[0]


def test_more_values_than_a_suite_can_need_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adjudge.pipeline.suite.strict_yaml.MAX_VALUES", 50)

    assert parse_yaml("[" + "1," * 48 + "1]").problems == []
    assert "more than 50 values" in messages(parse_yaml("[" + "1," * 50 + "1]"))[0]


def test_every_problem_of_a_file_is_found_at_once() -> None:
    document = parse_yaml("a: &x 1\nb: .nan\nb: 2\nc: !t 3\n")

    assert [problem.line for problem in document.problems] == [1, 2, 3, 4]


def test_keys_and_values_have_their_line_and_column() -> None:
    document = parse_yaml("a:\n  - é: {b: 1}\n    c: 'x'\n")

    assert document.keys[("a",)] == (1, 1)
    assert document.keys[("a", 0, "é", "b")] == (2, 9)
    assert document.values[("a", 0, "é", "b")] == (2, 12)
    assert document.values[("a", 0, "c")] == (3, 8)


def test_a_file_over_the_size_limit_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "big.yaml"
    path.write_bytes(b"#" * (MAX_BYTES + 1))

    assert messages(load_yaml(path)) == ["is larger than 1 MiB; keep conversations in files of their own"]


def test_a_file_in_another_encoding_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "latin1.yaml"
    path.write_bytes("a: 1\nb: é\n".encode("latin-1"))

    assert messages(load_yaml(path)) == ["is not UTF-8 (line 2); save it as UTF-8"]


def test_a_byte_order_mark_and_windows_line_ends_are_read_over(tmp_path: Path) -> None:
    path = tmp_path / "windows.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\r\nb: two\r\n")

    assert load_yaml(path).data == {"a": 1, "b": "two"}


def test_a_missing_file_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        load_yaml(tmp_path / "none.yaml")


_TEXT = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), max_size=30)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**17), 10**17) | _TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
    max_leaves=20,
)


@given(_JSON)
def test_json_reads_as_itself(value: Any) -> None:
    document = parse_yaml(json.dumps(value, ensure_ascii=False))

    assert document.problems == []
    assert document.data == value


@given(st.text(st.sampled_from("ab:-#&*!?|>'\"%@`{}[],~.019 \n\t\\"), max_size=60))
def test_any_text_gives_data_or_problems_in_it(text: str) -> None:
    document = parse_yaml(text)

    lines = text.count("\n") + 2
    assert all(0 <= problem.line <= lines for problem in document.problems)
    assert document.problems or not document.broken
