"""A request learnt from two examples carries any text in the same way."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from adjudge.judges.calling.form import Captured, learnt, marked, outline

ROLES = [{"role": "system", "content": ""}, {"role": "user", "content": ""}]


def request(messages: list[dict[str, Any]], **more: Any) -> Captured:
    return "http://h/v1", {"x": "y"}, json.dumps({"model": "m", "messages": messages, **more}).encode()


@given(st.tuples(st.text(), st.text()))
def test_a_form_carries_any_text_as_it_is(texts: tuple[str, str]) -> None:
    form = learnt({mark: request(marked(ROLES, mark)) for mark in ("aaa", "bbb")}, 2)
    messages = [{"role": role, "content": text} for role, text in zip(("system", "user"), texts, strict=True)]

    assert form is not None
    assert json.loads(form.body(messages)) == {"model": "m", "messages": messages}


def test_a_form_carries_a_lone_surrogate_escaped() -> None:
    form = learnt({"aaa": request(marked(ROLES, "aaa"))}, 2)

    assert form is not None
    assert b"\\ud800" in form.body([{"content": "\ud800"}, {"content": ""}])


@given(st.tuples(st.text(), st.text(), st.text()))
def test_a_form_carries_messages_in_parts(texts: tuple[str, str, str]) -> None:
    kept = {"type": "text", "cache_control": {"type": "ephemeral"}}
    parts = [{**kept, "text": ""}, {"type": "text", "text": ""}]
    messages: list[dict[str, Any]] = [ROLES[0], {"role": "user", "content": parts}]
    form = learnt({mark: request(marked(messages, mark)) for mark in ("aaa", "bbb")}, 3)
    filled = [{**kept, "text": texts[1]}, {"type": "text", "text": texts[2]}]
    messages = [{"role": "system", "content": texts[0]}, {"role": "user", "content": filled}]

    assert form is not None
    assert json.loads(form.body(messages)) == {"model": "m", "messages": messages}


def test_no_form_carries_media() -> None:
    parts = [{"type": "text", "text": ""}, {"type": "image_url", "image_url": {"url": "data:"}}]

    assert outline([ROLES[0], {"role": "user", "content": parts}]) == (1, 0)


def test_messages_may_stand_in_another_order() -> None:
    examples = {mark: request(marked(ROLES, mark)[::-1]) for mark in ("aaa", "bbb")}
    form = learnt(examples, 2)

    assert form is not None
    assert json.loads(form.body([{"content": "S"}, {"content": "U"}]))["messages"][0]["content"] == "U"


def test_a_request_that_differs_in_more_than_its_marks_is_not_learnt() -> None:
    examples = {mark: request(marked(ROLES, mark), signed=mark) for mark in ("aaa", "bbb")}

    assert learnt(examples, 2) is None


def test_a_request_that_carries_a_message_twice_or_never_is_not_learnt() -> None:
    assert learnt({"aaa": request([*marked(ROLES, "aaa"), marked(ROLES, "aaa")[1]])}, 2) is None
    assert learnt({"aaa": request(marked(ROLES, "aaa")[:1])}, 2) is None


def test_a_request_that_wraps_a_message_in_other_words_is_not_learnt() -> None:
    wrapped = [{"role": "user", "content": f"System: {m['content']}"} for m in marked(ROLES, "aaa")]

    assert learnt({"aaa": request(wrapped)}, 2) is None
