"""A suite made of a file says exactly what the file says, loads, and is written whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.judges.failure import StorageError, UsageError
from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.readers import read_conversations
from adjudge.pipeline.seeding import Seeded, seed_suite
from adjudge.pipeline.seeding.seeds import GRADER, Seeds, as_name
from adjudge.pipeline.seeding.suite_text import quoted, suite_text
from adjudge.pipeline.suite.load import load_suite
from adjudge.pipeline.suite.strict_yaml import parse_yaml

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


def task(id_: str, *assertions: str, purpose: str | None = None) -> dict[str, Any]:
    return {
        "id": id_,
        "description": {"purpose": purpose},
        "user_scenario": {},
        "evaluation_criteria": {"nl_assertions": assertions},
    }


def simulation(id_: str, task_id: str) -> dict[str, Any]:
    said = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]
    ended = {"termination_reason": "user_stop", "start_time": "2026-01-01T00:00:00"}
    return {"id": id_, "task_id": task_id, "messages": said, **ended}


def tasks(tmp_path: Path, *records: Any) -> Path:
    file = tmp_path / "tasks.json"
    file.write_text(json.dumps(records))
    return file


def results(tmp_path: Path, name: str, simulations: list[Any], *records: Any) -> Path:
    file = tmp_path / name
    file.write_text(json.dumps({"info": {}, "tasks": records, "simulations": simulations}))
    return file


def asked_by_test(seeded: Seeded) -> dict[str, list[str]]:
    """Statements by test, as the written suite has them."""
    suite = load_suite(seeded.files[0])
    return {name: [one.text for one in test.statements[GRADER]] for name, test in suite.tests.items()}


def conversations_of(seeded: Seeded) -> list[Conversation]:
    found = list(read_conversations(seeded.files[1], "native"))
    return [one for one in found if isinstance(one, Conversation)]


@given(TEXTS)
def test_any_text_is_quoted_so_that_yaml_reads_it_back(text: str) -> None:
    document = parse_yaml(f"key: {quoted(text)}\n")

    assert (document.data, document.problems) == ({"key": text}, [])


@given(st.dictionaries(TEXTS, st.tuples(TEXTS, st.lists(TEXTS, max_size=4)), max_size=4), TEXTS, TEXTS)
def test_a_suite_of_any_texts_loads_and_has_them(
    tmp_path_factory: pytest.TempPathFactory, told: dict[str, tuple[str, list[str]]], name: str, left: str
) -> None:
    seeds = Seeds()
    for test, (title, statements) in told.items():
        seeds.add_test(test, statements, title=as_name(title) or None)
    seeds.leave_out(left, left)
    path = tmp_path_factory.mktemp("suite") / "suite.yaml"
    path.write_text(suite_text(seeds, name=name, file=name, kind="x", conversations=False), newline="")

    suite = load_suite(path)

    wanted = [[text.strip() for text in test.statements] for test in seeds.tests.values() if test.statements]
    found = [[one.text for one in of[GRADER]] for test in suite.tests.values() if (of := test.statements)]
    assert found == wanted
    assert len(wanted) == sum(any(text.split() for text in texts) for _, texts in told.values())


def test_statements_that_are_empty_or_stand_there_twice_are_left_out_and_named(tmp_path: Path) -> None:
    seeded = seed_suite(tmp_path / "new", tasks(tmp_path, task("1", "A  is so. ", " ", "A is so.")))

    assert asked_by_test(seeded) == {"1": ["A  is so."]}
    assert seeded.left_out == [
        "a statement: it is empty",
        "statement 'A is so.': it stands there twice",
    ]


def test_what_is_left_out_stands_in_the_suite_as_a_comment(tmp_path: Path) -> None:
    seeded = seed_suite(tmp_path / "new", tasks(tmp_path, task("1", "A.", "")))

    assert "\n# Not taken over:\n# - a statement: it is empty\n" in seeded.files[0].read_text()


def test_two_asked_by_test_one_name_that_ask_different_things_stay_two(tmp_path: Path) -> None:
    seeded = seed_suite(tmp_path / "new", tasks(tmp_path, task("1", "A."), task("1", "B."), task("1", "A.")))

    assert asked_by_test(seeded) == {"1": ["A."], "1 (2)": ["B."]}
    assert seeded.left_out == ["test '1': it is called '1 (2)' here: say so in its conversations"]


def test_a_name_that_no_suite_can_have_is_made_one_in_the_suite_and_in_its_conversations(
    tmp_path: Path,
) -> None:
    name = " a\nb\x1b " + "c" * 300
    seeded = seed_suite(
        tmp_path / "new", results(tmp_path, "r.json", [simulation("s", name)], task(name, "A."))
    )

    (found,) = conversations_of(seeded)
    assert found.test == ("a b\\x1b " + "c" * 300)[:200]
    assert asked_by_test(seeded) == {found.test: ["A."]}


def test_statements_that_a_suite_has_no_room_for_go_to_their_conversations(tmp_path: Path) -> None:
    long = ["long " * 50_000 + str(number) for number in range(3)]
    records = [task(str(number), text) for number, text in enumerate(long)]
    file = results(
        tmp_path, "r.json", [simulation(f"s{number}", str(number)) for number in range(3)], *records
    )

    seeded = seed_suite(tmp_path / "new", file)

    assert asked_by_test(seeded) == {"0": [long[0]]}
    assert [found.statements for found in conversations_of(seeded)] == [
        {},
        {GRADER: [long[1]]},
        {GRADER: [long[2]]},
    ]
    assert seeded.statements == 3


def test_a_test_that_a_suite_has_no_room_for_is_named(tmp_path: Path) -> None:
    seeded = seed_suite(tmp_path / "new", tasks(tmp_path, task("1", "A."), task("2", "long " * 90_000)))

    assert asked_by_test(seeded) == {"1": ["A."]}
    assert seeded.left_out == ["test '2': the suite is full; split the file"]


def test_a_record_that_can_not_be_read_is_given_back_and_the_others_are_taken(tmp_path: Path) -> None:
    seeded = seed_suite(tmp_path / "new", tasks(tmp_path, task("1", "A."), {"id": "2"}, task("3", "C.")))

    assert [str(record) for record in seeded.unreadable] == [
        f"{tmp_path}/tasks.json:1: no task with an 'id' and 'evaluation_criteria'"
    ]
    assert list(asked_by_test(seeded)) == ["1", "3"]


def test_simulations_of_one_id_are_one_conversation_and_the_other_is_named(tmp_path: Path) -> None:
    file = results(tmp_path, "r.json", [simulation("s", "1"), simulation("s", "1")], task("1", "A."))

    seeded = seed_suite(tmp_path / "new", file)

    assert len(conversations_of(seeded)) == 1
    assert [record.reason for record in seeded.unreadable] == ["duplicate id 's'"]


def test_a_file_that_is_there_is_not_overwritten_and_nothing_else_is_written(tmp_path: Path) -> None:
    (tmp_path / "conversations.jsonl").write_text("mine")

    with pytest.raises(UsageError, match=r"conversations\.jsonl' is there already"):
        seed_suite(tmp_path, tasks(tmp_path, task("1", "A.")))

    assert {path.name for path in tmp_path.iterdir()} == {"conversations.jsonl", "tasks.json"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"id": "c", "messages": [{"role": "user", "content": "x"}]}', "none of what carries statements"),
        ('{"info": {}, "tasks": [], "simulations": []}', "holds neither conversations nor statements: holds"),
        ("hello", "none of what carries statements"),
        ("", "none of what carries statements"),
    ],
    ids=["a format without statements", "an empty run", "text", "nothing"],
)
def test_a_file_without_anything_to_take_is_refused_and_leaves_nothing(
    tmp_path: Path, text: str, reason: str
) -> None:
    file = tmp_path / "file.json"
    file.write_text(text)

    with pytest.raises(UsageError, match=reason):
        seed_suite(tmp_path / "new", file)

    assert [path.name for path in tmp_path.iterdir()] == ["file.json"]


def test_a_directory_that_can_not_be_made_is_a_fault_of_storage(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="can't make"):
        seed_suite(tmp_path / "tasks.json" / "new", tasks(tmp_path, task("1", "A.")))
