"""A run says in which format it read each file; a file of a glob that is in none can't make it pass."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.end_to_end.conftest import Desk

CHAT = {"messages": [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hi."}]}


def folder(desk: Desk, **files: object) -> None:
    (desk.path / "data").mkdir()
    for name, value in files.items():
        (desk.path / "data" / f"{name}.json").write_text(json.dumps(value))


def test_the_plan_says_in_which_format_each_file_was_read(desk: Desk) -> None:
    folder(desk, chat=CHAT)
    desk.suite(desk.grader("A."), conversations=["conversations.jsonl", "data/*.json"])

    assert desk.run().code == 0
    plan = json.loads((desk.runs[-1] / "plan.json").read_text())
    assert plan["read"] == [
        {"files": ["conversations.jsonl"], "format": "native", "conversations": 1, "unreadable": 0},
        {"files": ["data/chat.json"], "format": "openai", "conversations": 1, "unreadable": 0},
    ]


def test_a_dry_run_says_so_too(desk: Desk) -> None:
    folder(desk, chat=CHAT)
    desk.suite(desk.grader("A."), conversations=["conversations.jsonl", "data/*.json"])

    told = desk.run("--dry-run").out
    assert "conversations.jsonl: native (1 conversations)\ndata/chat.json: openai (1 conversations)\n" in told
    assert json.loads(desk.run("--dry-run", "--json").out)["files"][1]["format"] == "openai"


def test_one_strange_file_of_a_glob_is_named_the_others_are_graded_and_the_run_can_not_pass(
    desk: Desk,
) -> None:
    folder(desk, chat=CHAT, strange={"surprise": 1})
    desk.suite(desk.grader("A."), conversations=["data/*.json"])

    done = desk.run()
    assert done.code == 3
    assert "data/strange.json: no format recognises it" in done.err
    assert (desk.summary()["counts"]["passed"], desk.summary()["counts"]["unreadable"]) == (1, 1)


def test_a_strange_file_that_is_named_alone_is_a_mistake(desk: Desk) -> None:
    folder(desk, strange={"surprise": 1})
    desk.suite(desk.grader("A."), conversations=["data/strange.json"])

    done = desk.run()
    assert done.code == 2
    assert "'data/strange.json': no format recognises it" in done.err
    assert desk.runs == []
