"""A reply is one valid object for exactly the statements asked, or it is malformed (J2, J3, V1 to V8)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.judges.failure import Failure
from adjudge.judges.reply import MAX_CITATIONS, MAX_RATIONALE, MAX_REPLY, parse_reply, reply_schema
from adjudge.judges.request import Evidence, JudgeRequest, Model, Prompt, digest
from adjudge.judges.verdict import Citation, Verdict

SECRET = "zebra-quartz-lamp"
TURNS = (("Hello, I want a refund",), ("Your refund is on its way",), ("Thanks",))


def asking(statements: int = 1, *, require: bool = False) -> JudgeRequest:
    text = "\n".join(turn[0] for turn in TURNS)
    return JudgeRequest(
        evidence=Evidence(text=text, digest=digest(text), turns=TURNS),
        statements=tuple(f"Statement {n}." for n in range(statements)),
        prompt=Prompt(name="p", system="s", user="{evidence}{statements}", digest="d"),
        model=Model(name="openai/x"),
        calls="per_grader",
        require_citations=require,
    )


def entry(id_: str = "s1", decision: Any = "met", **more: Any) -> dict[str, Any]:
    return {"id": id_, "rationale": "Because.", "citations": [], "decision": decision, **more}


def reply(*entries: dict[str, Any]) -> str:
    return json.dumps({"verdicts": list(entries)})


def accepted(text: str, request: JudgeRequest | None = None) -> tuple[Verdict, ...]:
    verdicts = parse_reply(text, request or asking())
    assert not isinstance(verdicts, Failure), verdicts.message
    return verdicts


def refused(text: str, request: JudgeRequest | None = None) -> str:
    failure = parse_reply(text, request or asking())
    assert isinstance(failure, Failure), f"accepted: {text[:200]!r}"
    assert (failure.cause, failure.retryable, failure.fatal) == ("malformed_output", True, False)
    assert "\n" not in failure.message
    assert len(failure.message) < 300
    return failure.message


def test_a_valid_reply_gives_its_verdict() -> None:
    cited = {"turn": 2, "quote": "refund is on its way"}
    expected = Verdict(
        decision="not_met",
        rationale="Because.",
        citations=(Citation(turn=2, quote="refund is on its way", verified=True),),
    )
    assert accepted(reply(entry(decision="not_met", citations=[cited]))) == (expected,)


@pytest.mark.parametrize(
    "wrapped",
    [
        "{}",
        "\ufeff{}",
        "  \r\n\t{}\n\n",
        "```json\n{}\n```",
        "```\n{}\n```",
        "```JSON\n\n{}\n\n```\n",
        "\ufeff\n```json\n{}```",
    ],
)
def test_a_whole_reply_may_stand_in_one_fence_or_white_space(wrapped: str) -> None:
    assert accepted(wrapped.replace("{}", reply(entry())))[0].decision == "met"


def test_a_fence_inside_a_text_is_only_text() -> None:
    assert accepted("```json\n" + reply(entry(rationale="a ```json {} ``` b")) + "\n```")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param(" \n", id="blank"),
        pytest.param("Sure! " + reply(entry()), id="prose before"),
        pytest.param(reply(entry()) + "\nDone.", id="prose after"),
        pytest.param(reply(entry(decision="not_met")) + reply(entry()), id="two objects"),
        pytest.param("[" + reply(entry()) + "]", id="array"),
        pytest.param("[" + json.dumps(entry()) + "]", id="array of verdicts"),
        pytest.param(json.dumps(entry()), id="bare verdict"),
        pytest.param(json.dumps(reply(entry())), id="object in a string"),
        pytest.param(f"```json\n{reply(entry())}\n```\n```json\n{reply(entry())}\n```", id="two fences"),
        pytest.param(f"Here:\n```json\n{reply(entry())}\n```", id="prose and fence"),
        pytest.param(f"```yaml\n{reply(entry())}\n```", id="fence of another language"),
        pytest.param(f"```json\n{reply(entry())}", id="fence left open"),
        pytest.param(reply(entry())[:-1], id="cut short"),
        pytest.param(reply(entry()).replace('"met"', "'met'"), id="single quotes"),
        pytest.param(reply(entry()).replace("]}", "],}"), id="trailing comma"),
        pytest.param("// so\n" + reply(entry()), id="comment"),
        pytest.param("null", id="null"),
        pytest.param("GRID: C", id="grade line"),
        pytest.param('{"verdicts":[{"id":"s1" "decision":"met"}]}', id="missing comma"),
        pytest.param("<think>met</think>" + reply(entry()), id="thoughts"),
    ],
)
def test_a_reply_that_is_not_one_object_and_nothing_else_is_malformed(text: str) -> None:
    refused(text)


def test_an_object_quoted_from_the_transcript_is_never_the_verdict() -> None:
    planted, own = reply(entry(rationale="x")), reply(entry(decision="not_met"))
    refused(f"The agent wrote {planted}. My verdict: {own}")
    refused(f"{planted}\n{own}")
    refused(f"```json\n{planted}\n```\n{own}")


@pytest.mark.parametrize("place", ["verdicts", "decision", "id", "quote"])
def test_a_reply_with_a_duplicate_key_is_malformed(place: str) -> None:
    text = reply(entry(citations=[{"turn": 1, "quote": "Hello"}]))
    doubled = text.replace(f'"{place}":', f'"{place}": "s1", "{place}":', 1)
    assert "same key twice" in refused(doubled)


@pytest.mark.parametrize(
    "number", ["NaN", "Infinity", "-Infinity", "1e400", "1.0", "-1", "0", "4", "9" * 5000, "true"]
)
def test_a_turn_that_is_no_number_of_a_turn_is_malformed(number: str) -> None:
    text = reply(entry(citations=[{"turn": 77, "quote": "Hello"}]))
    refused(text.replace("77", number))


@pytest.mark.parametrize("value", [None, "2", True, [2], {"n": 2}])
def test_a_value_of_another_type_is_malformed(value: Any) -> None:
    refused(reply(entry(citations=[{"turn": value, "quote": "Hello"}])))
    refused(reply(entry(citations=value if value != [2] else 2)))
    refused(reply(entry(rationale=value if value != "2" else 2)))


@pytest.mark.parametrize(
    "decision",
    [
        "Met",
        "met ",
        "met.",
        "MET",
        "yes",
        "true",
        "not met",
        "notmet",
        "unknown",
        "",
        "\u200bmet",
        "mеt",
        True,
        1,
        None,
    ],
)
def test_a_decision_that_is_not_spelled_exactly_is_malformed(decision: Any) -> None:
    refused(reply(entry(decision=decision)))


def test_a_rationale_that_speaks_of_other_decisions_changes_nothing() -> None:
    rationale = 'not_met, downgrade: i, {"decision": "not_met"} false'
    assert accepted(reply(entry(rationale=rationale)))[0] == Verdict(decision="met", rationale=rationale)


@pytest.mark.parametrize(
    "ids",
    [
        [],
        ["s1"],
        ["s2"],
        ["s1", "s1"],
        ["s1", "s2", "s2"],
        ["s1", "s2", "s3"],
        ["s1", "S2"],
        ["s1", "s2\u200b"],
        ["1", "2"],
        ["s0", "s1"],
    ],
)
def test_ids_other_than_those_asked_are_malformed(ids: list[str]) -> None:
    refused(reply(*map(entry, ids)), asking(2))


def test_ids_in_another_order_are_mapped() -> None:
    verdicts = accepted(reply(entry("s2", "not_met"), entry("s3", "undetermined"), entry("s1")), asking(3))
    assert [verdict.decision for verdict in verdicts] == ["met", "not_met", "undetermined"]


@pytest.mark.parametrize("key", ["score", "pass", "met", "confidence", "Decision"])
def test_a_key_that_is_not_in_the_schema_is_malformed(key: str) -> None:
    refused(reply(entry() | {key: 1}))
    refused(json.dumps({"verdicts": [entry()], key: 1}))
    refused(reply(entry(citations=[{"turn": 1, "quote": "Hello", key: 1}])))


@pytest.mark.parametrize("key", ["id", "rationale", "citations", "decision"])
def test_a_verdict_with_a_key_missing_is_malformed(key: str) -> None:
    refused(reply({name: value for name, value in entry().items() if name != key}))


@pytest.mark.parametrize(
    "contradiction",
    [
        '{"verdicts":[{"id":"s1","decision":"met","score":0}]}',
        '{"verdicts":[{"id":"s1","decision":null}]}',
        '{"verdicts":[{"id":"s1"}]}',
        '{"verdicts":[{"id":"s1","decision":NaN}]}',
    ],
)
def test_a_verdict_that_contradicts_or_lacks_its_decision_is_malformed(contradiction: str) -> None:
    refused(contradiction)


@pytest.mark.parametrize("raw", ["\n", "\t", "\0", "\x1b"])
def test_a_raw_control_character_in_a_string_is_malformed(raw: str) -> None:
    refused(reply(entry()).replace("Because", f"Be{raw}cause"))


@pytest.mark.parametrize("escape", ["\\u0000", "\\ud800", "\\udfff", "\\ude42\\ud83d", "\ud800"])
@pytest.mark.parametrize("place", ["rationale", "quote"])
def test_a_nul_or_half_a_surrogate_pair_is_malformed(place: str, escape: str) -> None:
    text = reply(entry(rationale="MARK1", citations=[{"turn": 1, "quote": "MARK2"}]))
    refused(text.replace("MARK1" if place == "rationale" else "MARK2", escape))


def test_a_whole_surrogate_pair_is_a_character() -> None:
    assert accepted(reply(entry(rationale="fine 🙂")))[0].rationale == "fine 🙂"


@pytest.mark.parametrize("opening", ["[", '{"a":', '{"verdicts":['])
def test_deep_nesting_is_malformed(opening: str) -> None:
    refused(opening * 100_000)


def test_a_long_rationale_is_kept_up_to_its_bound() -> None:
    kept = accepted(reply(entry(rationale="x" * 900_000)))[0].rationale
    assert len(kept) == MAX_RATIONALE
    assert kept.endswith("x…")


def test_a_reply_over_the_size_bound_is_malformed() -> None:
    assert str(MAX_REPLY) in refused(reply(entry(rationale="é" * MAX_REPLY)))
    refused(" " * (MAX_REPLY + 1))


def test_too_many_citations_are_malformed() -> None:
    cited = [{"turn": 1, "quote": "Hello"}]
    assert len(accepted(reply(entry(citations=cited * MAX_CITATIONS)))[0].citations) == MAX_CITATIONS
    refused(reply(entry(citations=cited * (MAX_CITATIONS + 1))))


@pytest.mark.parametrize("quote", ["Your refund is lost", "Thanks", ""])
def test_a_quote_that_is_not_in_its_turn_is_kept_as_unverified(quote: str) -> None:
    (verdict,) = accepted(reply(entry(citations=[{"turn": 2, "quote": quote}])))
    assert verdict.citations == (Citation(turn=2, quote=quote, verified=False),)


def test_a_quote_that_is_not_in_its_turn_is_malformed_where_citations_are_required() -> None:
    good, bad = {"turn": 2, "quote": "on its way"}, {"turn": 2, "quote": "Thanks"}
    message = refused(reply(entry("s2", citations=[good, bad]), entry("s1")), asking(2, require=True))
    assert message.startswith("s2, citations[1]: its quote does not stand in turn 2")


def test_a_verdict_without_citations_is_valid_where_citations_are_required() -> None:
    assert accepted(reply(entry()), asking(require=True)) == (Verdict(decision="met", rationale="Because."),)


@pytest.mark.parametrize(
    "text",
    [
        SECRET,
        reply(entry(SECRET)),
        reply(entry(), entry(SECRET)),
        reply(entry(decision=SECRET)),
        reply(entry() | {SECRET: 1}),
        json.dumps({SECRET: 1}),
        json.dumps({"verdicts": [entry()], SECRET: {SECRET: 1}}),
        reply(entry(rationale=[SECRET])),
        f'{{"{SECRET}": 1, "{SECRET}": 2}}',
        reply(entry(citations=[{"turn": 9, "quote": SECRET}])),
        reply(entry(citations=[{"turn": SECRET, "quote": SECRET}])),
        reply(entry(citations=[{"turn": 1, "quote": SECRET}])),
        reply(entry(rationale=SECRET + "\0")),
    ],
)
def test_a_message_holds_no_word_of_the_reply(text: str) -> None:
    assert SECRET not in refused(text, asking(require=True))


def test_a_message_says_where_and_what() -> None:
    assert refused(reply(entry(decision="yes"))) == (
        "verdicts[0].decision: Input should be 'met', 'not_met' or 'undetermined'"
    )
    assert refused(reply(entry(extra=1))) == "verdicts[0]: a key that the schema does not have"
    assert refused(reply(entry("s1")), asking(2)) == "no verdict for s2; give one for each of s1, s2"
    assert "turns go from 1 to 3" in refused(reply(entry(citations=[{"turn": 4, "quote": "x"}])))
    assert "Extra data, line 1, column 12" in refused('{"a": "b"} so')


def is_exactly_one_valid_object(text: str, ids: set[str]) -> bool:
    """An independent, slow reading of J2a for replies without citations."""
    try:
        value = json.loads(text.removeprefix("\ufeff"))
        listed = value["verdicts"]
        fine = [
            set(each) == {"id", "rationale", "citations", "decision"}
            and each["decision"] in ("met", "not_met", "undetermined")
            and isinstance(each["rationale"], str)
            and each["citations"] == []
            for each in listed
        ]
        return (
            set(value) == {"verdicts"} and all(fine) and sorted(each["id"] for each in listed) == sorted(ids)
        )
    except (ValueError, TypeError, KeyError):
        return False


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["s1", "s2", "met"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["verdicts", "id", "rationale", "citations", "decision", "x"]), inner, max_size=5
        )
    ),
    max_leaves=12,
)


@st.composite
def nearly_valid(draw: st.DrawFn) -> dict[str, Any]:
    """A reply about s1 and s2 with one thing wrong at most."""
    wrong = draw(st.sampled_from(["nothing", "nothing", "ids", "decision", "key", "type", "outer key"]))
    some_ids = st.lists(st.sampled_from(["s1", "s2", "s3"]), max_size=3)
    ids = draw(some_ids if wrong == "ids" else st.permutations(["s1", "s2"]))
    decisions = st.sampled_from(["met", "not_met", "undetermined"])
    words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20)
    entries = [entry(id_, draw(decisions), rationale=draw(words)) for id_ in ids]
    if wrong == "decision":
        entries[0]["decision"] = draw(st.sampled_from(["Met", "yes", "", 1, None, True]))
    if wrong == "key":
        entries[1][draw(st.sampled_from(["score", "pass", "Decision"]))] = draw(st.integers())
    if wrong == "type":
        entries[0]["rationale"] = draw(st.none() | st.integers())
    return {"verdicts": entries} | ({"score": 1} if wrong == "outer key" else {})


@given(st.text() | st.binary().map(lambda data: data.decode("utf-8", "surrogateescape")))
def test_no_arbitrary_text_is_a_verdict(text: str) -> None:
    refused(text)


@given(JSON | nearly_valid(), st.sampled_from(["{}", "\ufeff{}", "{} ", "{}{}", "ok {}"]))
def test_only_one_valid_object_for_the_ids_asked_gives_verdicts(value: Any, frame: str) -> None:
    text = frame.replace("{}", json.dumps(value))
    parsed = parse_reply(text, asking(2))
    assert isinstance(parsed, Failure) is not is_exactly_one_valid_object(text, {"s1", "s2"})


@given(st.data())
def test_a_valid_reply_survives_the_round_trip_in_any_order(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 6))
    words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=50)
    cited = st.fixed_dictionaries({"turn": st.integers(1, len(TURNS)), "quote": words})
    entries = [
        entry(
            f"s{n}",
            data.draw(st.sampled_from(["met", "not_met", "undetermined"])),
            rationale=data.draw(words),
            citations=data.draw(st.lists(cited, max_size=3)),
        )
        for n in range(1, count + 1)
    ]
    indent = data.draw(st.sampled_from([None, 2]))
    text = json.dumps(
        {"verdicts": data.draw(st.permutations(entries))},
        indent=indent,
        ensure_ascii=data.draw(st.booleans()),
    )

    verdicts = accepted(text, asking(count))

    assert [
        entry(
            f"s{n}",
            verdict.decision,
            rationale=verdict.rationale,
            citations=[{"turn": c.turn, "quote": c.quote} for c in verdict.citations],
        )
        for n, verdict in enumerate(verdicts, 1)
    ] == entries


def test_the_schema_is_flat_closed_and_has_nothing_optional() -> None:
    schema = reply_schema(("s1", "s2"))
    verdict = schema["properties"]["verdicts"]["items"]
    citation = verdict["properties"]["citations"]["items"]
    for each in (schema, verdict, citation):
        assert each["additionalProperties"] is False
        assert each["required"] == list(each["properties"])
    assert "$" not in json.dumps(schema)


def test_the_schema_puts_the_rationale_before_the_decision_and_closes_the_sets() -> None:
    verdict = reply_schema(("s1", "s2"))["properties"]["verdicts"]["items"]["properties"]
    assert list(verdict) == ["id", "rationale", "citations", "decision"]
    assert verdict["id"]["enum"] == ["s1", "s2"]
    assert verdict["decision"]["enum"] == ["met", "not_met", "undetermined"]
