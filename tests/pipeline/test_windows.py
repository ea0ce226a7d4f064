"""Windows: every turn in one, none above its room, each open about what it doesn't show (J7)."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adjudge.judges.citations import quote_stands
from adjudge.judges.failure import Failure
from adjudge.judges.request import Evidence, digest
from adjudge.judges.room import tokens
from adjudge.judges.verdict import Citation, Decision, Verdict
from adjudge.pipeline.conversation import Conversation, OverWindows
from adjudge.pipeline.evidence import render
from adjudge.pipeline.windows import Window, decide_over, windows_of

ROOM = 1200
HEADER = 400
"""More tokens than the first line of any window here takes."""

ROLES = ("user", "assistant", "tool")


def evidence_of(*texts: str, **more: Any) -> Evidence:
    messages = [{"role": ROLES[place % 3], "content": text} for place, text in enumerate(texts)]
    return render(Conversation.model_validate({"id": "c", "messages": messages, **more}))


def lines(evidence: Evidence) -> list[str]:
    return evidence.text.split("\n")[1:]


def said(window: Window) -> dict[str, Any]:
    """What the first line of a window says of it."""
    return json.loads(window.evidence.text.split("\n")[0])["window"]


def words(tag: str, count: int) -> str:
    """`count` words, each unlike any other; about 2.5 tokens a word."""
    return " ".join(f"{tag}{number}" for number in range(count))


def repeat(unit: str, times: int) -> str:
    return unit * times


text = st.text(max_size=40) | st.builds(repeat, st.text(min_size=1, max_size=9), st.integers(1, 1500))
conversations = st.lists(text, max_size=12)


def joined(pieces: list[dict[str, Any]], key: str) -> str:
    """The text that pieces were cut from, put together by what each says of itself."""
    whole = ""
    for piece in pieces:
        first, last, of, *repeated = (int(number) for number in re.findall(r"\d+", piece["cut"]))
        again = sum(repeated)
        assert first - 1 + again == len(whole)
        assert whole[first - 1 :] == piece[key][:again]
        whole += piece[key][again:]
        assert (len(whole), len(whole) <= of) == (last, True)
    assert whole
    return whole


@given(conversations)
@example(["a" * 20_000])
@example(["\x00\U000e0001" * 900, "short", "\ud800" * 2000])
def test_every_turn_is_in_a_window_whole_or_in_pieces_that_are_all_of_it(texts: list[str]) -> None:
    evidence = evidence_of(*texts)
    shown = [line for window in windows_of(evidence, ROOM) for line in lines(window.evidence)]
    pieces: dict[int, list[dict[str, Any]]] = {}
    for line in dict.fromkeys(shown):
        fields = json.loads(line)
        if "cut" in fields:
            pieces.setdefault(fields["turn"], []).append(fields)
    for turn, line in enumerate(lines(evidence), 1):
        if line not in shown:
            key = "result" if ROLES[(turn - 1) % 3] == "tool" else "text"
            assert joined(pieces[turn], key) == json.loads(line)[key]


@given(conversations, st.integers(0, 3000))
def test_no_window_has_more_tokens_than_its_room(texts: list[str], room: int) -> None:
    assert all(tokens(window.evidence.text) <= room for window in windows_of(evidence_of(*texts), room))


@given(conversations)
def test_turns_keep_their_numbers_and_order(texts: list[str]) -> None:
    for window in windows_of(evidence_of(*texts), ROOM):
        numbers = [json.loads(line)["turn"] for line in lines(window.evidence)]
        assert sorted(numbers) == numbers
        assert list(dict.fromkeys(numbers)) == list(window.evidence.numbers)


@given(conversations)
def test_neighbours_that_fit_a_window_together_are_in_one_together(texts: list[str]) -> None:
    evidence = evidence_of(*texts)
    whole = lines(evidence)
    windows = [lines(window.evidence) for window in windows_of(evidence, ROOM)]
    for pair in pairwise(whole):
        if tokens(pair[0]) + tokens(pair[1]) <= ROOM - HEADER:
            assert any(set(pair) <= set(window) for window in windows)


@given(conversations)
def test_windows_hold_at_most_three_times_what_the_conversation_holds(texts: list[str]) -> None:
    evidence = evidence_of(*texts)
    windows = windows_of(evidence, ROOM)
    shown = sum(tokens(line) for window in windows for line in lines(window.evidence))
    assert shown <= 3 * tokens(evidence.text) + HEADER


def test_the_first_line_says_which_turns_a_window_shows_repeats_and_does_not_show() -> None:
    windows = windows_of(evidence_of(*[words("w", 100)] * 10), ROOM)

    assert [(said(w)["number"], said(w)["of"], said(w)["shows"], said(w)["repeats"]) for w in windows] == [
        (1, 3, "turns 1 to 5", "nothing"),
        (2, 3, "turns 5 to 9", "turn 5"),
        (3, 3, "turns 9 to 10", "turn 9"),
    ]
    assert [said(window)["does_not_show"] for window in windows] == [
        ["turns 6 to 10"],
        ["turns 1 to 4", "turn 10"],
        ["turns 1 to 8"],
    ]


def test_the_first_line_says_of_the_conversation_what_it_says_of_the_whole() -> None:
    evidence = evidence_of(*[words("w", 100)] * 10, status="completed", termination_reason="max_turns")
    whole = json.loads(evidence.text.split("\n")[0])

    for window in windows_of(evidence, ROOM):
        header = json.loads(window.evidence.text.split("\n")[0])
        del header["window"]
        assert header == whole


def test_a_window_repeats_as_many_small_turns_as_fit_an_eighth_of_it() -> None:
    first, second, *_ = windows_of(evidence_of(*["word " * 10] * 200), ROOM)
    repeated = set(lines(first.evidence)) & set(lines(second.evidence))

    assert (ROOM - HEADER) / 8 - 40 < sum(map(tokens, repeated)) <= ROOM / 8


def test_a_turn_too_long_for_a_window_is_cut_and_each_piece_says_which_part_it_is() -> None:
    evidence = evidence_of("Hi.", words("w", 2000), "Bye.")
    windows = windows_of(evidence, ROOM)
    pieces = [json.loads(line) for window in windows for line in lines(window.evidence) if '"cut"' in line]

    assert joined(pieces, "text") == words("w", 2000)
    assert {(piece["turn"], piece["role"]) for piece in pieces} == {(2, "assistant")}
    assert [window.cut for window in windows] == [(f"turn 2: {piece['cut']}",) for piece in pieces]
    assert windows[1].hidden == ("turn 1", "the rest of turn 2", "turn 3")


def test_a_short_fact_stands_whole_in_some_piece_wherever_a_turn_is_cut() -> None:
    shown = [window.evidence.turn(1) for window in windows_of(evidence_of(words("w", 2000)), ROOM)]

    for number in range(0, 1980, 7):
        fact = " ".join(f"w{n}" for n in range(number, number + 15))
        assert any(fact in piece[1] for piece in shown)


def test_a_turn_with_a_very_long_call_is_cut_as_its_json() -> None:
    call = {"id": "c1", "name": "write", "arguments": {f"line {n}": f"text {n}" for n in range(2000)}}
    conversation = {"id": "c", "messages": [{"role": "assistant", "content": "So.", "tool_calls": [call]}]}
    evidence = render(Conversation.model_validate(conversation))
    windows = windows_of(evidence, ROOM)
    pieces = [json.loads(line) for window in windows for line in lines(window.evidence)]

    assert joined(pieces, "json") == lines(evidence)[0]
    assert {(piece["turn"], piece["role"]) for piece in pieces} == {(1, "assistant")}
    assert quote_stands(windows[0].evidence.turn(1), "text 7")


def test_the_agents_output_comes_after_the_last_turn_and_is_cut_if_it_must_be() -> None:
    evidence = evidence_of(words("w", 300), agent_output=words("out", 2000))
    windows = windows_of(evidence, ROOM)
    pieces = [json.loads(line) for w in windows for line in lines(w.evidence) if '"agent_output"' in line]

    assert joined(pieces, "agent_output") == words("out", 2000)
    assert (said(windows[-1])["shows"], windows[-1].evidence.turns) == ("agent_output", ())
    assert said(windows[0])["does_not_show"][-1].endswith("agent_output")
    assert windows[-1].hidden == ("turn 1", "the rest of agent_output")


def test_a_quote_stands_only_in_a_turn_that_the_window_shows() -> None:
    texts = [words(f"t{turn}x", 100) for turn in range(1, 11)]
    for window in windows_of(evidence_of(*texts), ROOM):
        for turn, said_then in enumerate(texts, 1):
            shown = turn in window.evidence.numbers
            assert quote_stands(window.evidence.turn(turn), said_then[:30]) is shown


def test_what_a_window_does_not_show_is_in_its_evidence_as_left_out() -> None:
    evidence = evidence_of(*[words("w", 100)] * 10)
    _, middle, _ = windows_of(evidence, ROOM)

    assert middle.evidence.left_out == ("turns 1 to 4: in other windows", "turn 10: in other windows")


def test_equal_conversations_have_equal_windows_and_unequal_windows_unequal_digests() -> None:
    evidence = evidence_of(*[words("w", 100)] * 10)
    windows = windows_of(evidence, ROOM)

    assert windows == windows_of(evidence, ROOM)
    assert [window.evidence.digest for window in windows] == [digest(w.evidence.text) for w in windows]
    assert len({window.evidence.digest for window in windows}) == len(windows)


def test_a_room_too_small_for_the_first_line_has_no_windows() -> None:
    assert windows_of(evidence_of("word " * 5000), 300) == []


def verdict(decision: Decision, turn: int = 1) -> Verdict:
    cited = Citation(turn=turn, quote="q", verified=True)
    return Verdict(decision=decision, rationale=f"{decision} by turn {turn}.", citations=(cited,))


FAILED = Failure(cause="timeout", message="no reply", retryable=True)
VOTES: dict[str, Verdict | Failure] = {
    "m": verdict("met", 1),
    "n": verdict("not_met", 2),
    "u": verdict("undetermined", 3),
    "f": FAILED,
}


def outcome(rule: OverWindows, votes: str) -> str:
    decided = decide_over(rule, [VOTES[vote] for vote in votes])
    return decided.cause if isinstance(decided, Failure) else decided.decision


@pytest.mark.parametrize(
    ("votes", "by_any", "by_all"),
    [
        ("m", "met", "met"),
        ("n", "not_met", "not_met"),
        ("mm", "met", "met"),
        ("nn", "not_met", "not_met"),
        ("mn", "met", "not_met"),
        ("nnm", "met", "not_met"),
        ("mu", "met", "undetermined"),
        ("nu", "undetermined", "not_met"),
        ("uu", "undetermined", "undetermined"),
        ("mf", "met", "timeout"),
        ("nf", "timeout", "not_met"),
        ("fu", "timeout", "timeout"),
        ("uf", "timeout", "timeout"),
        ("fnum", "met", "not_met"),
    ],
)
def test_windows_decide_by_their_rule_and_nothing_missing_is_counted(
    votes: str, by_any: str, by_all: str
) -> None:
    assert (outcome("any", votes), outcome("all", votes)) == (by_any, by_all)


@given(st.text("mnuf", min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_windows_decides_nothing(votes: str, random: Any) -> None:
    shuffled = "".join(random.sample(votes, len(votes)))
    for rule in ("any", "all"):
        assert outcome(rule, votes) == outcome(rule, shuffled)


@given(st.text("mnuf", min_size=1, max_size=6))
def test_all_is_any_about_the_opposite(votes: str) -> None:
    opposite = votes.translate(str.maketrans("mn", "nm"))
    swapped = {"met": "not_met", "not_met": "met"}
    by_all = outcome("all", opposite)

    assert outcome("any", votes) == swapped.get(by_all, by_all)


def test_a_verdict_has_the_words_of_the_window_that_decides() -> None:
    decided = decide_over("any", [VOTES["n"], VOTES["m"]])

    assert isinstance(decided, Verdict)
    assert decided.rationale == "In window 2 of 2: met by turn 1."
    assert [cited.turn for cited in decided.citations] == [1]


def test_a_verdict_that_every_window_agrees_to_has_the_citations_of_all() -> None:
    decided = decide_over("all", [verdict("met", 3), verdict("met", 8)])

    assert isinstance(decided, Verdict)
    assert decided.rationale == "In window 1 of 2, and so in each: met by turn 3."
    assert [cited.turn for cited in decided.citations] == [3, 8]


def test_a_failure_says_in_which_window_and_leaves_its_attempts_to_the_window() -> None:
    decided = decide_over("any", [VOTES["n"], FAILED])

    assert decided == Failure(cause="timeout", message="window 2 of 2: no reply", retryable=True)


def test_no_windows_decide_nothing() -> None:
    with pytest.raises(ValueError, match="no windows"):
        decide_over("any", [])
