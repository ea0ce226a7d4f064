"""DeepEval's test cases and goldens, as JSON: what each expects is its statements.

A case with turns, or with an input and an actual output, is a conversation; one without is a test.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.plain import as_text, is_mapping, items, mapping, string
from adjudge.pipeline.readers.build import Notes, conversation, numbered
from adjudge.pipeline.readers.runs import without
from adjudge.pipeline.readers.source import NotJsonError, Record, Source, Unreadable, first_of, parse
from adjudge.pipeline.seeding.seeds import Seeds, as_name

title = "DeepEval test cases"

_LISTS = ("test_cases", "conversational_test_cases", "goldens", "conversational_goldens")
_EXPECTED = {"expected_outcome", "expected_output", "expectations"}
_OF_PROGRAMS = ("expected_tools", "expected_labels")
_OF_TURN = ("role", "content", "tools_called", "mcp_tools_called")
_CAPITAL = re.compile(r"(?<=[a-z0-9])[A-Z]")


def recognises(value: Any) -> bool:
    """Whether the first record is a case that expects something, or holds lists of cases."""
    first = _snake(mapping(first_of(value)))
    cases = [_snake(mapping(case)) for key in _LISTS for case in items(first.get(key))]
    return any(_is_case(case) for case in [first, *cases[:1]])


def seed(source: Source, seeds: Seeds) -> Iterator[Conversation | Unreadable]:
    """A conversation from each case that has one. Scores of metrics stay in the metadata."""
    number = 0
    for record in source.records():
        if not isinstance(record, Record):
            yield record
            continue
        whole = _snake(mapping(record.value))
        for value in [case for key in _LISTS for case in items(whole.get(key))] or [record.value]:
            number += 1
            yield from _of_case(source, record.line, number, _snake(mapping(value)), seeds)


def _is_case(case: dict[str, Any]) -> bool:
    return bool(_EXPECTED & case.keys()) and bool({"turns", "input", "scenario"} & case.keys())


def _of_case(
    source: Source, line: int, number: int, case: dict[str, Any], seeds: Seeds
) -> Iterator[Conversation | Unreadable]:
    if not {"turns", "input", "scenario"} & case.keys():
        yield source.unreadable(line, f"case {number} has none of 'turns', 'input' and 'scenario'")
        return
    scenario, name = (
        as_name(string(case.get("scenario"))),
        string(case.get("name")).strip(),
    )
    for key in _OF_PROGRAMS:
        if case.get(key):
            seeds.leave_out(f"{key!r} of a case", "a program decides it; write a verifier")
    notes = Notes()
    messages = list(_messages(case, notes))
    if not any(message["role"] == "assistant" for message in messages):
        test = name or numbered(source, number)
        seeds.add_test(test, _expected(case), title=scenario or None)
        if not name:
            seeds.leave_out(
                f"name of case {number}", f"it has none; its conversations must name test {test!r}"
            )
        return
    found = conversation(
        source,
        line,
        {
            "id": numbered(source, number),
            "test": name or None,
            "messages": messages,
            "metadata": notes.into({"deepeval": _kept(case)}),
        },
    )
    if isinstance(found, Conversation):
        found = seeds.ask(found, _expected(case), title=scenario or None)
    yield found


def _expected(case: dict[str, Any]) -> Iterator[str]:
    """What the case expects, as sentences."""
    expectations = _snake(mapping(case.get("expectations")))
    outcome, output = (
        string(case.get("expected_outcome")).strip(),
        string(case.get("expected_output")).strip(),
    )
    if outcome:
        yield f"The conversation reaches this outcome: {outcome}"
    if output:
        yield f"The agent's final answer says the same as this one: {output}"
    yield from map(string, items(expectations.get("must")))
    for one in map(string, items(expectations.get("must_not"))):
        yield f"This does not happen: {one.strip()}" if one.strip() else ""


def _messages(case: dict[str, Any], notes: Notes) -> Iterator[dict[str, Any]]:
    """Native messages. An agent's turn comes after the tools that were called for it."""
    turns = _turns(case.get("turns"))
    if not turns and case.get("input") is not None:
        turns = [{"role": "user", "content": case["input"]}]
        if case.get("actual_output") is not None:
            turns.append({**case, "role": "assistant", "content": case["actual_output"]})
    for number, turn in enumerate(turns, 1):
        yield from _called(turn, number)
        yield {"role": turn.get("role"), "content": as_text(turn.get("content"))}
        if turn.get("retrieval_context"):
            notes.add("what was retrieved for a turn is in the metadata only")


def _turns(value: Any) -> list[dict[str, Any]]:
    """Turns as objects; some files have them as the text of JSON."""
    if isinstance(value, str):
        try:
            value = parse(value.encode())
        except NotJsonError:
            value = None
    return [_snake(turn) for turn in items(value) if is_mapping(turn)]


def _called(turn: dict[str, Any], number: int) -> Iterator[dict[str, Any]]:
    """The message that calls a turn's tools, and their results where they are known."""
    called = [_snake(mapping(call)) for key in _OF_TURN[2:] for call in items(turn.get(key))]
    calls = [
        {
            "id": f"turn{number}-{place}",
            "name": as_text(call.get("name")),
            "arguments": call.get("input_parameters", call.get("args")),
        }
        for place, call in enumerate(called, 1)
    ]
    if calls:
        yield {"role": "assistant", "content": None, "tool_calls": calls}
    for call, made in zip(called, calls, strict=True):
        result = call.get("output", call.get("result"))
        if result is not None:
            yield {
                "role": "tool",
                "tool_call_id": made["id"],
                "name": made["name"],
                "content": as_text(result),
            }


def _kept(case: dict[str, Any]) -> dict[str, Any]:
    turns = [
        {"turn": place, **without(turn, *_OF_TURN)} for place, turn in enumerate(_turns(case.get("turns")), 1)
    ]
    kept = {**without(case, "input", "actual_output", "tools_called", "mcp_tools_called"), "turns": turns}
    return {key: value for key, value in kept.items() if value not in (None, [], {})}


def _snake(mapped: dict[str, Any]) -> dict[str, Any]:
    """`mapped` with the keys that DeepEval writes in Python, whichever way it wrote them."""
    return {_CAPITAL.sub(lambda found: f"_{found[0].lower()}", key): value for key, value in mapped.items()}
