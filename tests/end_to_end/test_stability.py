"""Judges asked again: only where it matters, how often they flip, within limits; the run stays as it is."""

from __future__ import annotations

import json
import signal
import threading
from typing import TYPE_CHECKING, Any

import pytest

from adjudge.testing import Reply, Request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.end_to_end.conftest import Desk


def saying(desk: Desk, *decisions: str) -> None:
    """Let statements be decided so, one request after the other; the last decision stays."""
    first = desk.server.count

    def answer(_: Request) -> Reply:
        return Reply(decision=decisions[min(desk.server.count - first, len(decisions)) - 1])

    desk.answer = answer


def one_at_a_time(desk: Desk, *graders: dict[str, Any], **suite: Any) -> None:
    desk.suite(*graders, judges={"main": desk.judge(max_concurrency=1)}, **suite)


def found(desk: Desk, *options: str) -> dict[str, Any]:
    return json.loads(desk.adjudge("stability", "--json", *options).out)


def state(desk: Desk) -> dict[str, bytes]:
    """All files of the run but the result."""
    return {path.name: path.read_bytes() for path in desk.runs[-1].iterdir() if path.name != "stability.json"}


def decisions(row: dict[str, Any]) -> Sequence[Sequence[str]]:
    return [case["decisions"].get("main") for case in row["cases"]]


def test_flips_are_counted_against_the_first_answer_and_the_run_stays_as_it_is(desk: Desk) -> None:
    one_at_a_time(desk, desk.grader("A."))
    desk.run()
    before = state(desk)
    saying(desk, "not_met", "met", "undetermined", "met")

    done = desk.adjudge("stability", "--samples", "5")

    assert done.code == 0
    assert done.out.startswith("2 of 4 repeats decide otherwise: 50.0 % (95 %: ")
    assert done.err == "0 of 4 questions are answered already; 4 calls to make, retries not counted\n"
    assert "1 grades hang on a statement that flipped" in done.out
    assert "main: met, not_met, met, undetermined, met" in done.out
    assert state(desk) == before
    written = json.loads((desk.runs[-1] / "stability.json").read_text())
    (case,) = written["cases"]
    assert (case["flips"], case["repeats"], case["could_turn"]) == (2, 4, True)
    assert (written["spent"]["calls"], desk.server.count) == (4, 5)
    assert 0 < case["lower"] < 0.5 < case["upper"] < 1


def test_only_statements_that_could_turn_their_grade_are_asked_again(desk: Desk) -> None:
    required = {"text": "Needed.", "required": True}
    desk.suite(desk.grader(required, "A.", "B.", "C.", threshold=0.5))
    desk.decide({"C.": "not_met"})
    desk.run()
    desk.server.calls.clear()

    row = found(desk, "--samples", "3")

    assert desk.server.calls == {"Needed.": 2}  # 3 of 4 met: one less of the others still passes 0.5
    assert [case["could_turn"] for case in row["cases"]] == [True, False, False, False]
    assert (row["statements"], row["could_turn"], row["repeated"]) == (4, 1, 1)


def test_statements_at_the_edge_of_a_threshold_are_asked_again(desk: Desk) -> None:
    desk.suite(desk.grader("A.", "B.", "C.", threshold=0.6))
    desk.decide({"C.": "not_met"})
    desk.run()
    desk.server.calls.clear()

    found(desk, "--samples", "2")

    assert desk.server.calls == {"A.": 1, "B.": 1}  # 2 of 3 pass 0.6, 1 of 3 fails; 3 of 3 pass as well


def test_votes_that_the_run_has_count_first(desk: Desk) -> None:
    one_at_a_time(desk, desk.grader("A.", samples=3))
    saying(desk, "met", "not_met", "met")
    desk.run()
    saying(desk, "not_met")

    row = found(desk, "--samples", "4")

    assert decisions(row) == [["met", "not_met", "met", "not_met"]]
    assert (row["overall"]["flips"], row["overall"]["repeats"], row["spent"]["calls"]) == (2, 3, 1)
    assert found(desk, "--samples", "3")["overall"]["repeats"] == 2
    assert desk.server.count == 4


def test_each_judge_of_a_jury_is_held_to_its_own_first_answer(desk: Desk) -> None:
    grader = desk.grader("A.", jury=["one", "two"])
    del grader["judge"]
    judges = {name: desk.judge(model=f"openai/{name}") for name in ("one", "two")}
    desk.suite(grader, judges=judges)
    desk.run()
    desk.answer = lambda request: Reply(decision="not_met" if request.json["model"] == "two" else "met")

    (case,) = found(desk, "--samples", "2")["cases"]

    assert case["decisions"] == {"one": ["met", "met"], "two": ["met", "not_met"]}
    assert (case["flips"], case["repeats"]) == (1, 2)


def test_statements_asked_in_one_call_are_repeated_in_one_call(desk: Desk) -> None:
    desk.suite(desk.grader("A.", "B.", calls="per_grader"))
    desk.run()
    desk.decide({"B.": "not_met"})

    row = found(desk, "--samples", "2")

    assert decisions(row) == [["met", "met"], ["met", "not_met"]]
    assert row["spent"]["calls"] == 1


def test_a_second_time_nothing_is_paid_again(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.run()
    first = found(desk, "--samples", "3")
    count = desk.server.count

    second = desk.adjudge("stability", "--samples", "3", "--offline", "--json")

    assert second.err == "2 of 2 questions are answered already; 0 calls to make, retries not counted\n"
    assert json.loads(second.out)["cases"] == first["cases"]
    assert (json.loads(second.out)["spent"]["cached"], desk.server.count) == (2, count)


def test_a_run_of_more_samples_finds_what_was_repeated(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.run()
    found(desk, "--samples", "3")

    assert desk.run("--samples", "3").code == 0
    assert (desk.summary()["cached"], desk.server.count) == (3, 3)


def test_a_dry_run_asks_nobody_and_writes_nothing(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.run()

    done = desk.adjudge("stability", "--dry-run")

    assert (done.code, done.out) == (
        0,
        "0 of 4 questions are answered already; 4 calls to make, retries not counted\n",
    )
    assert desk.server.count == 1
    assert not (desk.runs[-1] / "stability.json").exists()


@pytest.mark.parametrize(("budget", "options"), [({}, ("--max-calls", "2")), ({"max_calls": 3}, ())])
def test_a_cap_on_calls_holds_and_what_it_kept_out_is_no_repeat(
    desk: Desk, budget: dict[str, int], options: tuple[str, ...]
) -> None:
    one_at_a_time(desk, desk.grader("A."), budget=budget)
    desk.run()

    row = found(desk, "--samples", "5", *options)

    assert (row["overall"]["repeats"], row["overall"]["errors"]) == (2, {"budget_exhausted": 2})
    assert desk.server.count == 3


def test_answers_that_error_are_neither_flips_nor_repeats(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.run()
    desk.answer = lambda _: Reply(status=400)

    done = desk.adjudge("stability", "--samples", "2")

    assert done.code == 3
    assert "was decided more than once" in done.out
    assert "1 answers errored and are no repeats: bad_request 1" in done.out


def test_where_no_statement_could_turn_a_grade_nothing_is_asked(desk: Desk) -> None:
    desk.suite(desk.grader("A.", "B.", "C.", threshold=0.3))
    desk.run()

    done = desk.adjudge("stability")

    assert (done.code, desk.server.count) == (3, 3)
    assert done.out.startswith("Nothing of run ")
    assert "3 statements were judged; 0 could turn their grade by a flip" in done.out


def test_statements_of_errored_grades_are_counted_and_not_asked_again(desk: Desk) -> None:
    desk.suite(desk.grader("A.", "B."))
    desk.decide({"B.": "undetermined"})
    desk.run()

    done = desk.adjudge("stability")

    assert (done.code, desk.server.count) == (3, 2)
    assert (
        "2 statements were judged; 0 could turn their grade by a flip\n  2 have a grade that errored"
        in done.out
    )


def test_a_cap_on_cost_with_an_unknown_price_is_refused(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.run()

    done = desk.adjudge("stability", "--max-cost", "1")

    assert (done.code, done.out, desk.server.count) == (2, "", 1)
    assert "price" in done.err


def test_an_interrupted_repetition_goes_on_without_paying_twice(desk: Desk) -> None:
    one_at_a_time(desk, desk.grader("A."))
    desk.run()
    second = threading.Event()

    def answer(_: Request) -> Reply:
        if desk.server.count < 3:
            return Reply()
        second.set()
        return Reply(fault="hang")

    desk.answer = answer
    running = desk.start("stability", "--samples", "4")
    second.wait()
    running.signal(signal.SIGINT)
    running.wait_until_said("once more stops at once")
    running.signal(signal.SIGINT)
    done = running.wait()

    assert (done.code, done.out) == (130, "")
    assert "what was answered is kept: the same command goes on" in done.err
    assert not (desk.runs[-1] / "stability.json").exists()
    desk.answer = lambda _: Reply()
    row = found(desk, "--samples", "4")
    assert (row["overall"]["repeats"], row["spent"]["cached"], row["spent"]["calls"]) == (3, 1, 2)


def test_a_long_conversation_is_repeated_window_by_window(desk: Desk) -> None:
    words = [" ".join(f"turn{turn}word{number}" for number in range(80)) for turn in range(40)]
    desk.conversations({"id": "long", "messages": [{"role": "user", "content": text} for text in words]})
    grader = desk.grader({"text": "A.", "over_windows": "any"}, overflow="windows")
    desk.suite(grader, judges={"main": desk.judge(window=8192)})
    assert desk.run().code == 0
    windows = desk.server.count
    saying(desk, "not_met")

    row = found(desk, "--samples", "2")

    assert windows > 1
    assert (decisions(row), row["spent"]["calls"]) == ([["met", "not_met"]], windows)


def test_what_is_shown_can_not_act_on_a_terminal(desk: Desk) -> None:
    desk.conversations("c\x1b[2J")
    desk.suite(desk.grader("A.\x1b[2J"))
    desk.run()
    desk.decide({"A.\x1b[2J": "not_met"})

    done = desk.adjudge("stability", "--samples", "2")

    assert "\x1b" not in done.out
    assert "\\x1b" in done.out
