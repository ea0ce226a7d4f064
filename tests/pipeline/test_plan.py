"""Plans on disk: what was written is what is read, and half a plan is never taken for a whole one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adjudge.judges.failure import StorageError
from adjudge.pipeline.planning.plan import Plan, PlanHead, PlannedConversation, PlannedStatement, Tail

if TYPE_CHECKING:
    from tests.pipeline.conftest import NewRun

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
CONVERSATIONS = st.lists(
    st.builds(
        PlannedConversation,
        id=TEXT,
        test=st.none() | TEXT,
        agent_output=TEXT,
        graders=st.lists(TEXT, max_size=2),
        statements=st.dictionaries(TEXT, st.lists(st.builds(PlannedStatement, text=TEXT), max_size=2)),
    ),
    max_size=4,
)


@pytest.fixture
def head(new_run: NewRun) -> PlanHead:
    return new_run().plan().head


def write(path: Path, head: PlanHead, conversations: list[PlannedConversation]) -> Plan:
    tail = Tail(conversation_count=len(conversations), unreadable_count=0, unreadable=[])
    rows = [conversation.model_dump_json(exclude_defaults=True).encode() for conversation in conversations]
    return Plan.write(path, head, tail, rows)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(conversations=CONVERSATIONS)
def test_what_was_planned_is_read_back(
    tmp_path: Path, head: PlanHead, conversations: list[PlannedConversation]
) -> None:
    plan = write(tmp_path / "plan.json", head, conversations)

    assert list(plan.conversations()) == conversations
    assert Plan.read(plan.path).head == head


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(conversations=CONVERSATIONS)
def test_a_plan_is_one_json_value(
    tmp_path: Path, head: PlanHead, conversations: list[PlannedConversation]
) -> None:
    value: dict[str, Any] = json.loads(write(tmp_path / "plan.json", head, conversations).path.read_bytes())

    assert [row["id"] for row in value["conversations"]] == [planned.id for planned in conversations]
    assert value["conversation_count"] == len(conversations)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(conversations=CONVERSATIONS, data=st.data())
def test_a_plan_cut_anywhere_before_its_end_is_refused(
    tmp_path: Path, head: PlanHead, conversations: list[PlannedConversation], data: st.DataObject
) -> None:
    whole = write(tmp_path / "plan.json", head, conversations).path.read_bytes()
    end = len(whole) - len(b"\n}\n")
    path = tmp_path / "cut.json"
    path.write_bytes(whole[: data.draw(st.integers(0, end - 1))])

    with pytest.raises(StorageError, match=r"cut\.json"):
        list(Plan.read(path).conversations())


def test_a_plan_of_another_version_is_refused_in_one_line(tmp_path: Path, head: PlanHead) -> None:
    path = write(tmp_path / "plan.json", head, []).path
    path.write_text(path.read_text().replace("adjudge-plan/1", "adjudge-plan/9"))

    with pytest.raises(StorageError, match=r"is not a plan this version reads: format: ") as caught:
        Plan.read(path)
    assert "\n" not in str(caught.value)


def test_effective_statements_are_the_graders_then_the_conversations(head: PlanHead) -> None:
    extra = PlannedStatement(text="C.", required=True)
    conversation = PlannedConversation(id="c1", statements={"behaves": [extra]})
    grader = head.grader("behaves")

    assert [s.text for s in head.effective(grader, conversation)] == ["A.", "B.", "C."]
    assert [s.text for s in head.effective(grader, PlannedConversation(id="c2"))] == ["A.", "B."]
