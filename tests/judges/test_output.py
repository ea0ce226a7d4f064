"""Which way of asking for JSON is tried next."""

from __future__ import annotations

import pytest

from adjudge.judges.calling.output import ModeMemory, mode_arguments, modes_of


def test_auto_tries_the_strictest_first() -> None:
    assert modes_of("auto") == ("json_schema", "json_object", "text")


@pytest.mark.parametrize("output", ["json_schema", "tool", "text"])
def test_a_named_output_is_the_only_one_tried(output: str) -> None:
    assert modes_of(output) == (output,)  # type: ignore[arg-type]


def test_the_schema_and_the_tool_name_every_statement() -> None:
    for mode in ("json_schema", "tool"):
        assert "['s1', 's2']" in str(mode_arguments(mode, ("s1", "s2")))


def test_a_refused_mode_gives_way_to_the_next() -> None:
    memory = ModeMemory(modes_of("auto"))

    assert memory.refused("json_schema")
    assert memory.mode == "json_object"


def test_requests_refused_together_give_up_one_mode_not_several() -> None:
    memory = ModeMemory(modes_of("auto"))

    assert [memory.refused("json_schema") for _ in range(5)] == [True] * 5
    assert memory.mode == "json_object"


def test_a_late_refusal_does_not_bring_back_a_mode_that_was_left() -> None:
    memory = ModeMemory(modes_of("auto"))
    memory.refused("json_schema")
    memory.refused("json_object")

    assert memory.refused("json_schema")
    assert memory.mode == "text"


def test_a_mode_that_has_worked_is_never_given_up() -> None:
    memory = ModeMemory(modes_of("auto"))
    memory.worked("json_schema")

    assert not memory.refused("json_schema")
    assert memory.mode == "json_schema"


def test_the_last_mode_stays() -> None:
    memory = ModeMemory(("text",))

    assert not memory.refused("text")
    assert memory.mode == "text"
