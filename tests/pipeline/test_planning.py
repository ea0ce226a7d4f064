"""From a suite to a plan: what is frozen, what is refused, what a version digests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from adjudge.judges.failure import UsageError
from adjudge.pipeline.planning import freeze as planning
from adjudge.pipeline.planning.freeze import plan_run
from adjudge.pipeline.planning.overrides import Overrides

if TYPE_CHECKING:
    from tests.pipeline.conftest import NewRun, NewSuite


def version(new_run: NewRun, **grader: Any) -> str:
    return new_run(grader).plan().head.graders[0].version


def test_conversations_are_frozen_as_they_were_read(new_run: NewRun) -> None:
    rows = [{"id": f"c{n}", "messages": [{"role": "user", "content": "é\u2028"}]} for n in range(3)]
    run = new_run(conversations=rows)

    assert run.file("conversations.jsonl").read_bytes().count(b"\n") == 3
    assert [planned.id for planned in run.plan().conversations()] == ["c0", "c1", "c2"]
    assert run.plan().tail.conversation_count == 3


def test_what_can_not_be_read_is_counted_and_only_so_much_of_it_listed(
    new_run: NewRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "LISTED_UNREADABLE", 2)
    tail = new_run(conversations=["c1"] * 6).plan().tail

    assert (tail.conversation_count, tail.unreadable_count) == (1, 5)
    assert [(record.line, record.reason) for record in tail.unreadable] == [
        (2, "duplicate id 'c1'"),
        (3, "duplicate id 'c1'"),
    ]


def test_a_limit_does_not_count_what_can_not_be_read(new_run: NewRun) -> None:
    run = new_run(conversations=["c1", "c1", "c2", "c3"], overrides=Overrides(limit=2))

    assert [planned.id for planned in run.plan().conversations()] == ["c1", "c2"]


def test_an_id_of_an_unreadable_duplicate_stays_taken(new_run: NewRun) -> None:
    bad = {"id": "c1", "messages": [], "graders": ["nobody"]}
    tail = new_run(conversations=["c0", bad, "c1"]).plan().tail

    assert [record.line for record in tail.unreadable] == [2, 3]


@pytest.mark.parametrize("status", ["failed", "canceled"])
def test_a_conversation_without_a_trace_has_no_evidence(new_run: NewRun, status: str) -> None:
    row: dict[str, Any] = {"id": "c2", "messages": [], "status": status, "error": "broke"}
    first, second = new_run(conversations=["c1", row]).plan().conversations()

    assert (len(first.evidence), first.gradable) == (64, True)
    assert (second.evidence, second.gradable, second.error) == ("", False, "broke")


def test_what_decides_a_verdict_is_in_the_version_of_its_grader(new_run: NewRun) -> None:
    plain = version(new_run)
    changes: list[dict[str, Any]] = [
        {"statements": ["A."]},
        {"samples": 2},
        {"calls": "per_grader"},
        {"undetermined": "not_met"},
        {"citations": "require"},
    ]

    assert len({plain, *(version(new_run, **change) for change in changes)}) == len(changes) + 1


def test_what_decides_no_verdict_is_not_in_the_version_of_its_grader(new_run: NewRun) -> None:
    plain = version(new_run)
    required = [{"text": "A.", "required": True}, "B."]

    assert version(new_run, threshold=0.1) == plain
    assert version(new_run, gating=False) == plain
    assert version(new_run, name="renamed") == plain
    assert version(new_run, statements=required) == plain


def test_the_version_of_a_verifier_is_that_of_its_file(new_run: NewRun, tmp_path: Path) -> None:
    grader = {"name": "checked", "type": "checks", "verifier": "v.py:verify"}
    versions: set[str] = set()
    for body in ("return []", "return [1]", "return []"):
        (tmp_path / "v.py").write_text(f"def verify(conversation):\n    {body}\n")
        versions.add(new_run(graders=[grader]).plan().head.graders[0].version)

    assert len(versions) == 2


def test_overrides_replace_model_and_address_together(new_suite: NewSuite) -> None:
    suite = new_suite()

    judge = Overrides(model="openai/other").judges(suite)["main"]
    beside = Overrides(model="openai/other", api_base="http://127.0.0.1:1").judges(suite)["main"]

    assert (judge.model, judge.api_base) == ("openai/other", None)
    assert (beside.model, beside.api_base) == ("openai/other", "http://127.0.0.1:1")


def test_an_override_names_one_judge_of_several(new_suite: NewSuite) -> None:
    judges = {"main": {"model": "openai/a"}, "other": {"model": "openai/b"}}
    suite = new_suite(judges=judges)

    chosen = Overrides(model="other=openai/c", concurrency=3).judges(suite)

    assert {name: judge.model for name, judge in chosen.items()} == {"main": "openai/a", "other": "openai/c"}
    assert {judge.max_concurrency for judge in chosen.values()} == {3}
    with pytest.raises(UsageError, match="'nobody'"):
        Overrides(model="nobody=openai/c").judges(suite)


def test_the_address_the_environment_gives_is_part_of_the_plan(
    new_run: NewRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:7/v1")
    head = new_run(judges={"main": {"model": "openai/any"}}).plan().head

    assert head.models()["main"].api_base == "http://127.0.0.1:7/v1"


def test_a_suite_that_can_not_be_planned_leaves_no_draft(new_suite: NewSuite, tmp_path: Path) -> None:
    suite = new_suite()
    (tmp_path / "conversations.jsonl").write_text("not a conversation at all\n")

    with pytest.raises(UsageError, match=r"conversations\.jsonl"):
        plan_run(suite, tmp_path / "home")
    assert list((tmp_path / "home" / "runs").iterdir()) == []
