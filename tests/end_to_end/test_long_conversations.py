"""Conversations that are longer than a judge can read: refused before the call, or judged in windows (J7)."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from adjudge import Conversation, StatementSpec, grade
from adjudge.judges.room import tokens
from adjudge.testing import Reply, Request

if TYPE_CHECKING:
    from tests.end_to_end.conftest import Desk

WINDOW = 8192
FACT = "The refund code is ZEBRA-42."
SAYS = {"text": "The code ZEBRA-42 is named.", "over_windows": "any"}
NEVER = {"text": "The code ZEBRA-42 is never named.", "over_windows": "all"}
TURNS = 40
TOO_LONG = {"error": {"message": "This model's maximum context length is 8192 tokens", "code": 400}}


def said(turn: int, fact: str = "") -> str:
    """What is said in a turn: words found in no other, and among them `fact`."""
    words = [f"turn{turn}word{number}" for number in range(80)]
    return " ".join([*words[:40], fact, *words[40:]])


def long_conversation(
    id_: str = "long", *, facts_at: tuple[int, ...] = (), turns: int = TURNS
) -> dict[str, Any]:
    """About 15,000 tokens, with the fact said in some turns."""
    roles = ("user", "assistant")
    numbers = range(1, turns + 1)
    texts = [said(turn, FACT if turn in facts_at else "") for turn in numbers]
    return {"id": id_, "messages": [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]}


def evidence_in(request: Request) -> list[dict[str, Any]]:
    """The lines of the evidence that a judge was sent."""
    found = re.search(
        r"<evidence-(\w+)>\n(.*)\n</evidence-\1>", request.json["messages"][-1]["content"], re.DOTALL
    )
    assert found is not None
    return [json.loads(line) for line in found[2].split("\n")]


def look(request: Request) -> Reply:
    """A judge that really looks for the code in the evidence it is sent, and cites where it stands."""
    places = [line["turn"] for line in evidence_in(request) if "ZEBRA-42" in str(line.get("text"))]
    rows: list[dict[str, Any]] = []
    for key, statement in request.statements.items():
        true = ("never" in statement) is not bool(places)
        cited = [{"turn": turn, "quote": FACT} for turn in places]
        decision = "met" if true else "not_met"
        rows.append({"id": key, "rationale": "I looked.", "citations": cited, "decision": decision})
    return Reply(text=json.dumps({"verdicts": rows}))


@pytest.fixture
def long_desk(desk: Desk) -> Desk:
    """A desk whose judge looks, and reads 8,192 tokens at once."""
    desk.answer = look
    desk.conversations(long_conversation(facts_at=(20,)))
    return desk


def suite(desk: Desk, *statements: str | dict[str, Any], **more: Any) -> None:
    desk.suite(
        desk.grader(*statements, **({"overflow": "windows"} | more)),
        judges={"main": desk.judge(window=WINDOW)},
    )


def test_a_conversation_too_long_for_its_judge_is_errored_without_a_call(long_desk: Desk) -> None:
    suite(long_desk, SAYS, overflow="errored")
    long_desk.conversations(long_conversation(), "short")

    assert long_desk.run().code == 1
    too_long, short = long_desk.grades()
    (statement,) = too_long["statements"]
    assert (too_long["result"], too_long["score"], statement["decision"]) == ("errored", None, None)
    assert statement["error"]["cause"] == "input_too_long"
    assert re.search(
        r"about 15,\d{3} tokens of evidence; judge 'main' reads 8,192 at once and has room for 5,\d{3}: "
        r"ask a judge that reads more, or set `overflow: windows`",
        statement["error"]["message"],
    )
    assert (short["result"], long_desk.server.count) == ("failed", 1)


@pytest.mark.parametrize("turn", [1, 2, 20, TURNS - 1, TURNS])
def test_a_fact_is_found_wherever_it_stands(long_desk: Desk, turn: int) -> None:
    suite(long_desk, SAYS, NEVER, threshold=0.5)
    long_desk.conversations(long_conversation(facts_at=(turn,)))

    assert long_desk.run().code == 0
    says, never = long_desk.grades()[0]["statements"]
    assert (says["decision"], never["decision"]) == ("met", "not_met")
    assert says["citations"] == never["citations"] == [{"turn": turn, "quote": FACT, "verified": True}]


def test_what_is_in_no_window_is_not_there(long_desk: Desk) -> None:
    suite(long_desk, SAYS, NEVER, threshold=0.5)
    long_desk.conversations(long_conversation())

    assert long_desk.run().code == 0
    says, never = long_desk.grades()[0]["statements"]
    assert (says["decision"], never["decision"]) == ("not_met", "met")
    assert {window["decision"] for window in says["windows"]} == {"not_met"}
    assert {window["decision"] for window in never["windows"]} == {"met"}


def test_nothing_that_is_sent_is_over_the_window_and_every_turn_is_sent(long_desk: Desk) -> None:
    suite(long_desk, SAYS)
    long_desk.run()
    requests = long_desk.server.requests

    assert 4 <= len(requests) <= 8
    for request in requests:
        assert sum(tokens(message["content"]) for message in request.json["messages"]) < WINDOW - 1024
    texts = {line["text"] for request in requests for line in evidence_in(request)[1:]}
    assert texts == {message["content"] for message in long_conversation(facts_at=(20,))["messages"]}


def test_the_record_says_which_turns_each_window_showed_and_what_was_decided_of_it(long_desk: Desk) -> None:
    suite(long_desk, SAYS)
    long_desk.run()
    (statement,) = long_desk.grades()[0]["statements"]
    windows = statement["windows"]

    assert [window["window"] for window in windows] == [*range(1, len(windows) + 1)]
    assert (windows[0]["first_turn"], windows[-1]["last_turn"]) == (1, TURNS)
    for before, after in pairwise(windows):
        assert before["first_turn"] < after["first_turn"] <= before["last_turn"] < after["last_turn"]
    met = [window for window in windows if window["decision"] == "met"]
    assert all(window["first_turn"] <= 20 <= window["last_turn"] for window in met)
    assert len(met) in (1, 2)
    assert windows[0]["does_not_show"] == [f"turns {windows[0]['last_turn'] + 1} to {TURNS}"]
    assert len({window["verdict_key"] for window in windows}) == len(windows)
    assert statement["verdict_key"] is None


def test_the_same_run_again_asks_nothing(long_desk: Desk) -> None:
    suite(long_desk, SAYS, NEVER)
    long_desk.run()
    calls = long_desk.server.count
    long_desk.run()

    assert (long_desk.server.count, long_desk.summary()["calls"]) == (calls, 0)
    assert long_desk.summary()["cached"] == calls
    assert all(window["cached"] for row in long_desk.grades()[0]["statements"] for window in row["windows"])


def test_a_statement_that_needs_the_whole_is_errored_and_the_others_are_judged(long_desk: Desk) -> None:
    suite(long_desk, "The code is named once.", SAYS)

    assert long_desk.run().code == 3
    (graded,) = long_desk.grades()
    whole, says = graded["statements"]
    assert graded["error"]["cause"] == whole["error"]["cause"] == "input_too_long"
    assert "over_windows: any" in whole["error"]["message"]
    assert (says["decision"], says["counted"]) == ("met", False)
    assert set(long_desk.server.calls) == {SAYS["text"]}


def test_all_statements_of_a_grader_are_asked_of_a_window_in_one_call(long_desk: Desk) -> None:
    suite(long_desk, "The code is named once.", SAYS, NEVER, calls="per_grader")
    long_desk.run()
    _, says, never = long_desk.grades()[0]["statements"]

    assert (says["decision"], never["decision"]) == ("met", "not_met")
    assert long_desk.server.count == len(says["windows"])
    assert {tuple(request.statements.values()) for request in long_desk.server.requests} == {
        (SAYS["text"], NEVER["text"])
    }


def test_a_conversation_that_fits_is_asked_whole_and_as_ever(long_desk: Desk) -> None:
    long_desk.conversations("short")
    long_desk.suite(long_desk.grader(SAYS["text"]))
    long_desk.run()
    suite(long_desk, SAYS, "The agent is kind.")
    long_desk.run()
    says, _ = long_desk.grades()[0]["statements"]

    assert ("windows" in says, says["cached"]) == (False, True)
    assert long_desk.server.calls == {SAYS["text"]: 1, "The agent is kind.": 1}


def test_jurors_see_what_each_can_read_and_vote_on_the_whole(long_desk: Desk) -> None:
    judges = {"small": long_desk.judge(window=WINDOW), "large": long_desk.judge(model="openai/large")}
    grader = long_desk.grader(SAYS, jury=["small", "large"], overflow="windows")
    del grader["judge"]
    long_desk.suite(grader, judges=judges)

    assert long_desk.run().code == 0
    (statement,) = long_desk.grades()[0]["statements"]
    small, large = statement["votes"]
    assert (small["decision"], large["decision"], statement["decision"]) == ("met", "met", "met")
    assert (small["verdict_key"], "windows" in large) == (None, False)
    assert long_desk.server.count == len(small["windows"]) + 1


def fails_on(turn: int, request: Request) -> Reply:
    """Fails on the windows that show a turn; looks at any other."""
    shown = {line["turn"] for line in evidence_in(request)[1:]}
    return Reply(status=500) if turn in shown else look(request)


def test_a_window_that_fails_is_not_counted_where_another_decides(long_desk: Desk) -> None:
    suite(long_desk, SAYS)
    long_desk.answer = lambda request: fails_on(1, request)

    assert long_desk.run().code == 0
    (statement,) = long_desk.grades()[0]["statements"]
    assert (statement["decision"], statement["error"]) == ("met", None)
    assert statement["windows"][0]["error"]["cause"] == "unavailable"


def test_a_window_that_fails_where_none_decides_is_an_error_and_resume_asks_it_alone(long_desk: Desk) -> None:
    suite(long_desk, NEVER)
    long_desk.conversations(long_conversation())
    long_desk.answer = lambda request: fails_on(1, request)

    assert long_desk.run().code == 3
    (statement,) = long_desk.grades()[0]["statements"]
    assert (statement["decision"], statement["error"]["cause"]) == (None, "unavailable")
    assert statement["error"]["message"].startswith("window 1 of ")
    calls = long_desk.server.count

    long_desk.answer = look
    assert long_desk.adjudge("resume", "latest").code == 0
    assert long_desk.grades()[0]["statements"][0]["decision"] == "met"
    assert long_desk.server.count == calls + 1
    assert long_desk.summary()["calls"] == calls + 1


@pytest.mark.parametrize(("undetermined", "result"), [("errored", "errored"), ("not_met", "failed")])
def test_a_window_that_cannot_tell_leaves_the_statement_undetermined(
    long_desk: Desk, undetermined: str, result: str
) -> None:
    suite(long_desk, SAYS, undetermined=undetermined)
    long_desk.conversations(long_conversation())

    def answer(request: Request) -> Reply:
        return Reply(decision="undetermined") if evidence_in(request)[-1]["turn"] == TURNS else look(request)

    long_desk.answer = answer
    long_desk.run()
    (graded,) = long_desk.grades()

    assert (graded["result"], graded["statements"][0]["decision"]) == (result, "undetermined")


def test_a_turn_that_a_window_does_not_show_can_not_be_cited(long_desk: Desk) -> None:
    suite(long_desk, SAYS)

    def cite_turn_one(request: Request) -> Reply:
        cited = [{"turn": 1, "quote": "turn1word1"}]
        row = {"id": "s1", "rationale": "So.", "citations": cited, "decision": "met"}
        return Reply(text=json.dumps({"verdicts": [row]}))

    long_desk.answer = cite_turn_one
    long_desk.run()
    first, second, *_ = long_desk.grades()[0]["statements"][0]["windows"]

    assert (first["decision"], second["error"]["cause"]) == ("met", "malformed_output")


@pytest.mark.parametrize("where", [0.0, 0.5, 1.0])
def test_a_fact_within_one_huge_message_is_found(long_desk: Desk, where: float) -> None:
    suite(long_desk, SAYS)
    lines = ["ERROR worker 17 timed out after 30s"] * 3000
    lines.insert(int(where * len(lines)), FACT)
    messages = [
        {"role": "user", "content": "\n".join(["Summarise this log:", *lines])},
        {"role": "assistant", "content": "It is all the same."},
    ]
    long_desk.conversations({"id": "huge", "messages": messages})

    assert long_desk.run().code == 0
    (statement,) = long_desk.grades()[0]["statements"]
    assert statement["citations"] == [{"turn": 1, "quote": FACT, "verified": True}]
    assert all(window["cut"][0].startswith("turn 1: only characters ") for window in statement["windows"])


def test_a_judge_whose_window_is_unknown_is_asked_and_the_provider_says(long_desk: Desk) -> None:
    long_desk.suite(long_desk.grader(SAYS))
    long_desk.answer = lambda _: Reply(status=400, body=TOO_LONG)

    assert long_desk.run().code == 3
    assert long_desk.grades()[0]["error"]["cause"] == "input_too_long"
    assert long_desk.server.count == 1


def test_the_plan_says_what_each_judge_reads(long_desk: Desk) -> None:
    judges = {
        "told": long_desk.judge(window=WINDOW),
        "listed": long_desk.judge(model="openai/gpt-5-mini"),
        "unknown": long_desk.judge(),
    }
    long_desk.suite(long_desk.grader(SAYS, judge="told"), judges=judges)
    long_desk.run()
    plan = json.loads((long_desk.runs[-1] / "plan.json").read_text())

    assert {name: judge["window"] for name, judge in plan["judges"].items()} == {
        "told": WINDOW,
        "listed": 272_000,
        "unknown": None,
    }


def test_the_window_of_a_judge_is_not_that_of_another_named_in_its_place(long_desk: Desk) -> None:
    suite(long_desk, SAYS)

    assert long_desk.run("--judge", "openai/other", "--api-base", long_desk.server.url).code == 0
    assert long_desk.server.count == 1
    assert "windows" not in long_desk.grades()[0]["statements"][0]


def test_a_dry_run_counts_windows_and_what_would_be_refused(long_desk: Desk) -> None:
    suite(long_desk, "The code is named once.", SAYS)
    foreseen = json.loads(long_desk.run("--dry-run", "--json").out)
    long_desk.run()

    assert (foreseen["calls"], foreseen["too_long"]) == (long_desk.server.count, 1)
    assert "1 questions are too long" in long_desk.run("--dry-run").out


def test_why_a_refused_question_has_no_verdict_is_said(long_desk: Desk) -> None:
    suite(long_desk, "The code is named once.", SAYS)
    long_desk.run()
    told = long_desk.adjudge("cache", "why-miss", "suite.yaml").out

    assert "would not be asked: about 15," in told
    assert told.splitlines()[-1].startswith("1 of ")


def test_a_verdict_obtained_before_is_taken_though_the_judge_would_not_be_asked(long_desk: Desk) -> None:
    long_desk.suite(long_desk.grader(SAYS))
    assert long_desk.run().code == 0
    suite(long_desk, SAYS, overflow="errored")

    assert long_desk.run().code == 0
    assert (long_desk.grades()[0]["statements"][0]["cached"], long_desk.server.count) == (True, 1)


def test_windows_are_judged_from_python_too(long_desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0000")

    def graded(**more: Any) -> Any:
        return grade(
            Conversation.model_validate(long_conversation(facts_at=(20,))),
            statements=[StatementSpec(text=SAYS["text"], over_windows="any")],
            judge="openai/any",
            api_base=long_desk.server.url,
            window=WINDOW,
            cache=long_desk.path / "cache",
            **more,
        )

    refused = graded()
    assert (refused["error"]["cause"], long_desk.server.count) == ("input_too_long", 0)
    assert graded(overflow="windows")["result"] == "passed"
