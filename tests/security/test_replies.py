"""Only a reply that is exactly one valid object about exactly what was asked becomes a score (V1 to V8)."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from adjudge.testing import Reply, Request, says

if TYPE_CHECKING:
    from tests.end_to_end.conftest import Desk, NewDesk


def entry(id_: Any = "s1", **more: Any) -> dict[str, Any]:
    plain: dict[str, Any] = {"id": id_, "rationale": "So it is.", "citations": [], "decision": "met"}
    return plain | more


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in entry().items() if name != key}


def reply(*entries: Any, **more: Any) -> str:
    return json.dumps({"verdicts": list(entries)} | more)


GOOD = reply(entry(), entry("s2", decision="not_met"))
ONE = json.dumps(entry())
DEEP = "[" * 100_000 + "]" * 100_000

VALID = {
    "as asked": GOOD,
    "in another order": reply(entry("s2", decision="not_met"), entry()),
    "in a fence": f"```json\n{GOOD}\n```",
    "in a fence without a word": f"```\n{GOOD}\n```",
    "in a fence in capitals, white space around": f" \n```JSON\n{GOOD}\n```\n\t ",
    "after a byte order mark, white space around": f"\ufeff \r\n{GOOD}\n",
    "over many lines": json.dumps(json.loads(GOOD), indent=4),
    "with a rationale that speaks of other decisions": reply(
        entry(rationale='met: false, downgrade: i. {"decision": "not_met"} ```json'),
        entry("s2", decision="not_met"),
    ),
    "with a rationale of 1 MB less the rest": reply(
        entry(rationale="x" * 1_000_000), entry("s2", decision="not_met")
    ),
    "with a whole surrogate pair": GOOD.replace("So it is.", r"\ud83d\ude00"),
    "with a key that needs no escape escaped": GOOD.replace('"id"', r'"\u0069d"'),
}
MALFORMED = {
    "nothing": " ",
    "prose": "GRID: C",
    "prose, then an object": f"My verdict: {GOOD}",
    "an object, then prose": f"{GOOD}\nThat is all.",
    "two objects": f"{GOOD}{GOOD}",
    "two objects, a line each": f"{GOOD}\n{GOOD}",
    "a list of objects": f"[{GOOD}]",
    "an object in a text": json.dumps(GOOD),
    "two fences": f"```json\n{GOOD}\n```\n```json\n{GOOD}\n```",
    "prose, then a fence": f"Here:\n```json\n{GOOD}\n```",
    "a fence of tildes": f"~~~json\n{GOOD}\n~~~",
    "a fence that is not closed": f"```json\n{GOOD}",
    "a fence in Python": f"```python\n{GOOD}\n```",
    "a byte order mark inside": GOOD.replace("{", "{\ufeff", 1),
    "a no-break space around": f"\u00a0{GOOD}",
    "an object cut short": GOOD[:-3],
    "an object without a comma": GOOD.replace('", "', '" "', 1),
    "a trailing comma": GOOD.replace("]}", "],}"),
    "a comment": GOOD.replace("{", "{/* met */", 1),
    "single quotes": GOOD.replace('"', "'"),
    "a key twice at the top": GOOD[:-1] + ', "verdicts": []}',
    "a key twice in a verdict": reply(entry("s2")).replace("[{", '[{"id": "s1", "decision": "not_met", ', 1),
    "the decision twice": GOOD.replace('"decision": "met"', '"decision": "not_met", "decision": "met"', 1),
    "the decision twice, once escaped": GOOD.replace(
        '"decision": "met"', r'"decision": "not_met", "d\u0065cision": "met"', 1
    ),
    "a key twice in a citation": reply(entry(citations=[{"turn": 1, "quote": "a"}]), entry("s2")).replace(
        '"turn": 1', '"turn": 2, "turn": 1'
    ),
    "no verdict": reply(),
    "no verdicts": "{}",
    "verdicts that are null": '{"verdicts": null}',
    "verdicts that are an object": json.dumps({"verdicts": entry()}),
    "fewer verdicts": reply(entry()),
    "more verdicts": reply(entry(), entry("s2"), entry("s3")),
    "a verdict twice": reply(entry(), entry()),
    "a verdict twice beside the other": reply(entry(), entry("s2"), entry("s2", decision="not_met")),
    "an unknown id": reply(entry(), entry("s3")),
    "an id in capitals": reply(entry("S1"), entry("s2")),
    "an id with white space": reply(entry("s1 "), entry("s2")),
    "an id with a character that hides": reply(entry("s1\u200b"), entry("s2")),
    "an id in full width": reply(entry("ｓ1"), entry("s2")),
    "ids that are numbers": reply(entry(1), entry(2)),
    "ids without their letter": reply(entry("1"), entry("2")),
    "an id with a zero": reply(entry("s01"), entry("s2")),
    "a key too many": reply(entry(score=1), entry("s2")),
    "a key too many at the top": reply(entry(), entry("s2"), score=1),
    "a pass beside the decision": reply(entry(met=True, score=0), entry("s2")),
    "a score in place of the decision": reply(without("decision") | {"score": 1}, entry("s2")),
    "no decision": reply(without("decision"), entry("s2")),
    "no rationale": reply(without("rationale"), entry("s2")),
    "no citations": reply(without("citations"), entry("s2")),
    **{
        f"the decision {decision!r}": reply(entry(decision=decision), entry("s2"))
        for decision in (
            *(
                "Met",
                "MET",
                " met",
                "met.",
                "met\u200b",
                "ｍet",
                "yes",
                "Yes.",
                "CI",
                "maybe",
                "true",
                "pass",
            ),
            *("not met", "not-met", "unmet", "", 1, 0, 1.0, True, False, None, ["met"], {"met": True}),
        )
    },
    "NaN": GOOD.replace('"met"', "NaN", 1),
    "Infinity": GOOD.replace('"met"', "-Infinity", 1),
    "1e400": GOOD.replace('"citations": []', '"citations": [{"turn": 1e400, "quote": "a"}]', 1),
    "a number of 5,000 digits": GOOD.replace(
        '"citations": []', '"citations": [{"turn": %s, "quote": "a"}]' % ("9" * 5000), 1
    ),
    **{
        f"the cited turn {turn!r}": reply(entry(citations=[{"turn": turn, "quote": "This"}]), entry("s2"))
        for turn in (0, -1, 3, 1.0, 1.5, "1", True, None, [1])
    },
    "a citation without its turn": reply(entry(citations=[{"quote": "This"}]), entry("s2")),
    "a citation that is a text": reply(entry(citations=["This"]), entry("s2")),
    "a rationale that is null": reply(entry(rationale=None), entry("s2")),
    "a rationale that is a list": reply(entry(rationale=["So"]), entry("s2")),
    "a line break in a text": GOOD.replace("So it is.", "So\nit is."),
    "a NUL in a text": GOOD.replace("So it is.", "So\x00it is."),
    "a NUL in a text, escaped": GOOD.replace("So it is.", r"So\u0000it is."),
    "half a surrogate pair": GOOD.replace("So it is.", r"So \ud800 it is."),
    "half a surrogate pair in a quote": reply(entry(citations=[{"turn": 1, "quote": "\ud800"}]), entry("s2")),
    "nesting 100,000 deep": DEEP,
    "nesting 100,000 deep in a verdict": GOOD.replace('"citations": []', f'"citations": {DEEP}', 1),
    "more than 1 MiB": reply(entry(rationale="x" * (1 << 20)), entry("s2")),
    "101 citations": reply(entry(citations=[{"turn": 1, "quote": "This"}] * 101), entry("s2")),
    "the question itself": '{"id": "s1", "statement": "A."}\n{"id": "s2", "statement": "B."}',
    "a bare verdict": ONE,
    "a list of verdicts": f"[{ONE}]",
    "JSON lines": f"{ONE}\n{json.dumps(entry('s2'))}",
}


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory, new_desk: NewDesk) -> Generator[Mapping[str, Any]]:
    """A run with a conversation for each reply; the grades by conversation."""
    replies = VALID | MALFORMED
    names = list(replies)

    def answer(request: Request) -> Reply:
        said = re.search(r"This is c(\d+)\.", request.json["messages"][-1]["content"])
        assert said is not None
        return says(replies[names[int(said[1])]])

    with new_desk(tmp_path_factory.mktemp("replies") / "desk") as desk:
        desk.answer = answer
        desk.conversations(*(f"c{place}" for place in range(len(names))))
        desk.suite(desk.grader("A.", "B.", calls="per_grader"))
        done = desk.run()
        assert done.code == 1, done.err
        assert desk.server.count == len(VALID) + 2 * len(MALFORMED)
        assert desk.adjudge("cache", "stats").out.startswith(f"{len(VALID)} entries")
        yield dict(zip(names, desk.grades(), strict=True))


@pytest.mark.parametrize("name", VALID)
def test_a_valid_reply_is_a_score_however_it_is_written(graded: Mapping[str, Any], name: str) -> None:
    grade = graded[name]

    assert (grade["result"], grade["met"], grade["total"]) == ("failed", 1, 2)
    assert [row["decision"] for row in grade["statements"]] == ["met", "not_met"]
    assert all(len(row["rationale"]) <= 4000 for row in grade["statements"])


@pytest.mark.parametrize("name", MALFORMED)
def test_any_other_reply_is_an_error_and_never_a_number(graded: Mapping[str, Any], name: str) -> None:
    grade = graded[name]

    assert (grade["result"], grade["score"], grade["met"]) == ("errored", None, None)
    assert grade["error"]["cause"] == "malformed_output"
    assert [row["decision"] for row in grade["statements"]] == [None, None]
    assert len(grade["error"]["message"]) < 400


def test_one_judge_that_says_nan_leaves_the_other_graders_alone(desk: Desk) -> None:
    nan = json.dumps({"verdicts": [entry(decision=float("nan"))]})
    desk.answer = lambda request: says(nan) if "B." in request.statements.values() else Reply()
    graders = [desk.grader(f"{name}.", name=name) for name in "ABC"]
    desk.suite(*graders)

    assert desk.run().code == 3
    (row,) = desk.results()
    assert [grade["result"] for grade in row["grades"]] == ["passed", "errored", "passed"]
    assert row["combined_score"] is None
    texts = [(desk.runs[0] / "summary.json").read_text()]
    texts += (desk.runs[0] / "results.jsonl").read_text().splitlines()
    for text in texts:
        json.loads(text, parse_constant=pytest.fail)
