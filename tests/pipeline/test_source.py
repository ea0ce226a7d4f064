"""Files as JSON records: every layout and encoding, damage named by its line, memory flat."""

from __future__ import annotations

import gzip
import io
import json
import tracemalloc
from pathlib import Path
from typing import Any, BinaryIO, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.judges.failure import UsageError
from adjudge.pipeline.readers.document import pieces
from adjudge.pipeline.readers.source import MAX_DEPTH, Record, Source, Unreadable

DATA = Path(__file__).parents[1] / "data" / "nasty"
SIX = [f"c{n}" for n in range(6)]


def records(path: Path) -> list[Record]:
    return [found for found in Source(path).records() if isinstance(found, Record)]


def faults(path: Path) -> list[Unreadable]:
    return [found for found in Source(path).records() if isinstance(found, Unreadable)]


def file(tmp_path: Path, content: bytes, name: str = "x.jsonl") -> Path:
    path = tmp_path / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    "name",
    ["bom_utf8.jsonl", "crlf.jsonl", "utf16le_bom.jsonl", "gzip.jsonl.gz", "json_array_named_jsonl.jsonl"],
)
def test_a_file_is_read_whatever_its_encoding_and_layout(name: str) -> None:
    assert [record.value["conversation_id"] for record in records(DATA / name)] == SIX
    assert faults(DATA / name) == []


def test_records_have_their_number_and_line(tmp_path: Path) -> None:
    path = file(tmp_path, b'\n{"a": 1}\n\n{"a": 2\n{"a": 3}')

    assert records(path) == [Record(1, 2, {"a": 1}), Record(3, 5, {"a": 3})]
    assert faults(path)[0].line == 4


def test_elements_of_an_array_have_the_line_they_begin_on(tmp_path: Path) -> None:
    path = file(tmp_path, b'[\n {"a":\n 1},\n\n {"a": 2}\n]\n')

    assert [(record.number, record.line) for record in records(path)] == [(1, 2), (2, 5)]


def test_unicode_line_separators_do_not_end_a_line() -> None:
    assert len(records(DATA / "unicode_cases.jsonl")) == 16
    assert faults(DATA / "unicode_cases.jsonl") == []


@pytest.mark.parametrize(
    ("name", "line", "reason"),
    [
        ("latin1.jsonl", 1, "not UTF-8: byte 0xf9 at position 70; save the file as UTF-8"),
        ("lone_surrogate_escaped.jsonl", 1, "not JSON: no low surrogate"),
        ("deep_nesting.json", 1, "nested more than 200 deep"),
        ("nan_infinity.jsonl", 1, "not JSON: unexpected character"),
        ("truncated_last_line.jsonl", 5, "cut short"),
    ],
)
def test_a_bad_line_is_named_with_its_reason(name: str, line: int, reason: str) -> None:
    (fault,) = faults(DATA / name)

    assert fault.line == line
    assert fault.reason.startswith(reason)
    assert str(fault).startswith(f"{DATA / name}:{line}: {reason}")


def test_lines_before_a_cut_one_are_read() -> None:
    assert len(records(DATA / "truncated_last_line.jsonl")) == 4


def test_comments_and_trailing_commas_are_named_and_the_rest_is_read() -> None:
    path = DATA / "trailing_comma_comments.json"

    assert [record.value["conversation_id"] for record in records(path)] == ["c0", "c1"]
    assert [(fault.line, fault.reason) for fault in faults(path)] == [
        (2, "not a JSON object: '// exported'"),
        (4, "not JSON: a comma too many"),
    ]


def test_a_broken_element_of_an_array_does_not_hide_the_next(tmp_path: Path) -> None:
    path = file(tmp_path, b'[\n{"a": 1},\n{"a": NaN},\n{"a": "]"},\n{"a": [1,]}\n]')

    assert [record.value for record in records(path)] == [{"a": 1}, {"a": "]"}]
    assert [fault.line for fault in faults(path)] == [3, 5]


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        (b'[\n{"a": 1},\n{"a": [2\n', 3, "cut short: a bracket or a quote is never closed"),
        (b'[\n{"a": 1},\n{"a": 2}', 3, "cut short: the array is not closed"),
        (b'[\n{"a": 1},\n{"a": "2}]', 3, "cut short: a bracket or a quote is never closed"),
        (b'[\n{"a": 1}\n{"b": 2}]', 3, "not JSON: no comma before this value"),
        (b'[\n{"a": 1},,\n{"b": 2}]', 2, "not JSON: a comma too many"),
        (b'[\n{"a": 1}]\n]', 3, "not JSON: a ']' too many"),
    ],
)
def test_a_damaged_array_is_named_by_line(tmp_path: Path, content: bytes, line: int, reason: str) -> None:
    (fault,) = faults(file(tmp_path, content))

    assert (fault.line, fault.reason) == (line, reason)
    assert records(file(tmp_path, content))[0].value == {"a": 1}


@pytest.mark.parametrize("digits", ["18446744073709551616", "-9223372036854775809", "1" * 40])
def test_an_integer_that_would_silently_become_a_float_is_refused(tmp_path: Path, digits: str) -> None:
    (fault,) = faults(file(tmp_path, f'{{"a": {digits}}}'.encode()))

    assert "does not fit 64 bits; write it as text" in fault.reason


def test_long_digits_in_text_and_the_largest_integers_are_read(tmp_path: Path) -> None:
    value = {"card": "4" * 40, "max": 2**64 - 1, "min": -(2**63), "pi": 3.14159265358979323846}

    assert records(file(tmp_path, json.dumps(value).encode()))[0].value == value


def test_nesting_is_read_up_to_the_limit(tmp_path: Path) -> None:
    deepest = b'{"a":' + b"[" * (MAX_DEPTH - 1) + b"]" * (MAX_DEPTH - 1) + b"}"
    brackets_in_text = json.dumps({"a": "[" * 1000}).encode()

    assert len(records(file(tmp_path, deepest))) == 1
    assert len(records(file(tmp_path, brackets_in_text))) == 1
    assert faults(file(tmp_path, b"[" + deepest + b"]\n{}"))[0].reason == "nested more than 200 deep"


def test_an_empty_file_has_no_records() -> None:
    assert list(Source(DATA / "empty.jsonl").records()) == []
    assert Source(DATA / "empty.jsonl").first() is None


def test_one_object_over_many_lines_is_one_record(tmp_path: Path) -> None:
    path = file(tmp_path, b'{\n  "messages": [\n    {"role": "user"}\n  ]\n}\n', "one.json")

    assert records(path) == [Record(1, 1, {"messages": [{"role": "user"}]})]


def test_objects_over_many_lines_may_follow_one_another(tmp_path: Path) -> None:
    path = file(tmp_path, b'{\n "a": 1\n}\n{\n "a": 2\n}\n')

    assert [(record.line, record.value) for record in records(path)] == [(1, {"a": 1}), (4, {"a": 2})]


def test_a_first_line_cut_where_json_goes_on_does_not_swallow_the_others(tmp_path: Path) -> None:
    path = file(tmp_path, b'{"id": "a", "messages": [\n{"id": "b"}\n{"id": "c"}\n')

    assert [record.value["id"] for record in records(path)] == ["b", "c"]
    assert [fault.line for fault in faults(path)] == [1]


def test_lists_a_line_are_records_each(tmp_path: Path) -> None:
    path = file(tmp_path, b"[1]\n[2]\n")

    assert [record.value for record in records(path)] == [[1], [2]]
    assert Source(path).first() == [1]


def test_a_damaged_gzip_file_gives_what_is_before_the_damage(tmp_path: Path) -> None:
    lines = b"".join(b'{"a": %d, "b": "%d"}\n' % (n, n * 7919) for n in range(20_000))
    packed = gzip.compress(lines)
    path = file(tmp_path, packed[: len(packed) // 2], "x.jsonl.gz")

    found = list(Source(path).records())

    assert len(found) > 1000
    assert isinstance(found[-1], Unreadable)
    assert found[-1].line == len(found)
    assert "damaged from here on" in found[-1].reason


@pytest.mark.parametrize(
    "content", [b"\x1f\x8b", b"\x1f\x8bnot gzip at all", gzip.compress(b'{"a": 1}\n')[:-6]]
)
def test_a_file_damaged_from_its_start_is_named_too(tmp_path: Path, content: bytes) -> None:
    source = Source(file(tmp_path, content))

    assert "damaged from here on" in str(list(source.records())[-1])
    assert source.first() in (None, {"a": 1})


def test_utf_16_cut_in_the_middle_of_a_character_is_named(tmp_path: Path) -> None:
    path = file(tmp_path, '{"a": 1}\n{"a": 2}'.encode("utf-16")[:-1])

    assert "damaged from here on" in faults(path)[-1].reason


def test_what_formats_are_recognised_by(tmp_path: Path) -> None:
    assert Source(file(tmp_path, b'nonsense\n{"a": 1}\n')).first() == {"a": 1}
    assert Source(file(tmp_path, b"[" + b",".join([b"{}"] * 50) + b"]")).first() == [{}] * 32
    assert Source(file(tmp_path, b"#me\nhello\n")).first() == b"#me\nhello\n"


def test_a_file_is_named_without_its_endings(tmp_path: Path) -> None:
    assert Source(file(tmp_path, b"", "a.b.jsonl.gz")).stem == "a.b"
    assert Source(file(tmp_path, b"", ".jsonl")).stem == ".jsonl"


@pytest.mark.parametrize("name", ["none.jsonl", "."])
def test_a_file_that_can_not_be_read_is_a_usage_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="can't read"):
        Source(tmp_path / name)


@pytest.mark.parametrize("layout", ["lines", "array", "one line", "gzip"])
def test_memory_stays_flat_however_large_the_file(tmp_path: Path, layout: str) -> None:
    text = json.dumps(
        {"id": "x", "messages": [{"role": "user", "content": "words " * 20} for _ in range(400)]}
    )
    joint = {"lines": "\n", "gzip": "\n", "array": ",\n", "one line": ","}[layout]
    opens, closes = ("[", "]") if "," in joint else ("", "")
    path = tmp_path / "large"
    with gzip.open(path, "wt", compresslevel=1) if layout == "gzip" else path.open("w") as out:
        out.write(opens + text)
        for _ in range(50_000_000 // len(text)):
            out.write(joint + text)
        out.write(closes)

    tracemalloc.start()
    try:
        count = sum(isinstance(found, Record) for found in Source(path).records())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert count == 50_000_000 // len(text) + 1
    assert peak < 20_000_000


class Trickle(io.BytesIO):
    """A file that gives a few bytes at a time."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(3 if size is None or size < 0 else min(size, 3))


_TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
_VALUES = st.lists(
    st.dictionaries(_TEXT, st.none() | st.integers(-9, 9) | _TEXT | st.lists(_TEXT, max_size=2), max_size=3),
    max_size=5,
)


@given(_VALUES, st.sampled_from([None, 0, 2]), st.booleans())
def test_a_document_splits_into_its_values_however_it_is_written(
    values: list[Any], width: int | None, ascii_only: bool
) -> None:
    text = json.dumps(values, indent=width, ensure_ascii=ascii_only).encode()

    found = list(pieces(cast("BinaryIO", Trickle(text)), 1 << 20))

    assert [piece.fault for piece in found] == [None] * len(values)
    assert [json.loads(piece.text) for piece in found] == values


@given(st.binary(max_size=80) | st.text('[]{}",:\\ \n1a', max_size=80).map(str.encode))
def test_any_bytes_split_without_an_error(content: bytes) -> None:
    found = list(pieces(cast("BinaryIO", io.BytesIO(content)), 1 << 20))

    assert all(1 <= piece.line <= content.count(b"\n") + 1 for piece in found)


@given(
    values=st.lists(st.dictionaries(_TEXT, _TEXT, min_size=1, max_size=3), min_size=1, max_size=4),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    packed=st.booleans(),
    newline=st.sampled_from(["\n", "\r\n", "\n\n"]),
)
def test_records_are_the_same_in_every_encoding(
    tmp_path_factory: pytest.TempPathFactory, values: list[Any], encoding: str, packed: bool, newline: str
) -> None:
    text = "".join(json.dumps(value, ensure_ascii=False) + newline for value in values)
    content = text.encode(encoding)
    path = tmp_path_factory.getbasetemp() / "encoded"
    path.write_bytes(gzip.compress(content) if packed else content)

    assert [record.value for record in records(path)] == values
    assert faults(path) == []
