"""Suites: what is read, and every mistake named with its place (spec section 6, S2, S4)."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest
import yaml

from adjudge.judges.failure import UsageError
from adjudge.judges.request import digest
from adjudge.pipeline.scoring import exact
from adjudge.pipeline.suite.load import (
    ChecksGrader,
    StatementsGrader,
    SuiteError,
    SuiteFile,
    load_suite,
    suite_schema,
)

SUITE = """\
name: refund-desk
conversations:
  - path: data/*.jsonl
    format: auto
judges:
  main:
    model: openai/gpt-5-mini
    params: {temperature: 0}
graders:
  - name: expected
    type: statements
    judge: main
    threshold: 0.75
    statements:
      - The agent confirms the order number.
      - {text: The agent never promises a date., required: true}
  - name: balance
    type: checks
    verifier: verify.py:verify
tests:
  over-limit:
    statements: {expected: [The agent refuses.]}
    graders: [expected]
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A directory with what the suites here name."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "b.jsonl").touch()
    (tmp_path / "data" / "a.jsonl").touch()
    (tmp_path / "verify.py").write_text("def verify(conversation):\n    return []\n")
    return tmp_path


def written(home: Path, text: str) -> Path:
    path = home / "suite.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def problems(home: Path, text: str) -> list[str]:
    """What is wrong with a suite: `line:column: message`, in order."""
    with pytest.raises(SuiteError) as caught:
        load_suite(written(home, text))
    return [f"{p.line}:{p.column}: {p.message}" for p in caught.value.problems]


def with_grader(keys: str) -> str:
    """A suite with one judge and one grader, whose keys begin on line 4."""
    return "judges: {main: {model: m}}\ngraders:\n  - name: g\n" + indent(dedent(keys), "    ")


def test_a_suite_is_read_as_written(home: Path) -> None:
    suite = load_suite(written(home, SUITE))

    first, second = suite.graders
    assert isinstance(first, StatementsGrader)
    assert isinstance(second, ChecksGrader)
    assert suite.name == "refund-desk"
    assert (first.judges, first.gating, first.samples) == (["main"], True, 1)
    assert [(s.text, s.required) for s in first.statements or []] == [
        ("The agent confirms the order number.", False),
        ("The agent never promises a date.", True),
    ]
    assert suite.tests["over-limit"].graders == ["expected"]
    assert suite.judges["main"].attempts == 4
    assert (suite.text, suite.digest) == (SUITE, digest(SUITE))


def test_a_threshold_keeps_its_decimal_text_exactly(home: Path) -> None:
    suite = load_suite(written(home, SUITE.replace("0.75", "0.7")))

    assert exact(suite.graders[0].threshold) == Fraction(7, 10)
    assert exact(suite.graders[1].threshold) == 1


def test_globs_are_expanded_in_order_and_a_file_comes_once(home: Path) -> None:
    text = SUITE.replace("  - path: data/*", "  - data/b.jsonl\n  - path: data/*")

    suite = load_suite(written(home, text))

    assert [file.path.name for file in suite.conversation_files] == ["b.jsonl", "a.jsonl"]


def test_a_file_whose_name_looks_like_a_glob_is_found(home: Path) -> None:
    (home / "data" / "x[1].jsonl").touch()

    suite = load_suite(written(home, SUITE.replace("data/*.jsonl", "data/x[1].jsonl")))

    assert [file.path.name for file in suite.conversation_files] == ["x[1].jsonl"]


def test_conversations_given_instead_are_relative_to_the_working_directory(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = written(home, SUITE.replace("data/*", "gone/*"))
    monkeypatch.chdir(home / "data")

    loaded = load_suite(suite, conversations=["a.jsonl"])

    assert [str(file.path) for file in loaded.conversation_files] == ["a.jsonl"]
    with pytest.raises(UsageError, match=r"'nope\.jsonl' matches no file"):
        load_suite(suite, conversations=["nope.jsonl"])


def test_a_suite_without_a_name_has_its_files(home: Path) -> None:
    assert load_suite(written(home, SUITE.replace("name: refund-desk\n", ""))).name == "suite"


def test_a_suite_survives_json(home: Path) -> None:
    suite = load_suite(written(home, SUITE))
    kept = suite.model_dump(mode="json", include=set(SuiteFile.model_fields))

    again = SuiteFile.model_validate(json.loads(json.dumps(kept)))

    assert {key: getattr(again, key) for key in kept} == {key: getattr(suite, key) for key in kept}


def test_a_missing_suite_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        load_suite(tmp_path / "none.yaml")


def test_a_problem_shows_file_line_column_source_and_caret(home: Path) -> None:
    path = written(home, SUITE.replace("threshold", "treshold"))

    with pytest.raises(SuiteError) as caught:
        load_suite(path)

    assert str(caught.value) == (
        f"{path}:13:5: unknown key 'treshold'; did you mean 'threshold'?\n        treshold: 0.75\n        ^"
    )


def test_all_problems_are_listed_together(home: Path) -> None:
    text = SUITE.replace("threshold: 0.75", "threshold: 1.5").replace("judge: main", "judge: mian")
    text = text.replace("verify.py", "gone.py").replace("name: refund-desk", "nam: x")

    assert problems(home, text) == [
        "1:1: unknown key 'nam'; did you mean 'name'?",
        "12:12: judge: unknown judge 'mian'; did you mean 'main'?",
        "13:16: threshold: must be at most 1, not 1.5",
        "19:15: verifier: can't read 'gone.py': No such file or directory",
    ]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("null", "must be a number, not null"),
        ("true", "must be a number, not true"),
        ("'0.7'", "must be a number, not the text '0.7'; write it without quotes, as plain digits"),
        ("high", "must be a number, not the text 'high'"),
        ("-0.1", "must be at least 0, not -0.1"),
        ("1.01", "must be at most 1, not 1.01"),
    ],
)
def test_a_threshold_that_is_no_number_from_0_to_1_is_refused(home: Path, value: str, said: str) -> None:
    assert problems(home, SUITE.replace("0.75", value)) == [f"13:16: threshold: {said}"]


@pytest.mark.parametrize("value", [".nan", ".inf", "0.1234567890123456789"])
def test_a_threshold_no_float_can_keep_is_refused(home: Path, value: str) -> None:
    (problem,) = problems(home, SUITE.replace("0.75", value))

    assert problem.startswith("13:16: ")


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (
            "type: statements\njudge: main\nstatements:\n  - A\n  - B\n  -  A",
            ["9:10: statements[2]: the same statement is on line 7; it would count twice"],
        ),
        (
            "type: statements\njudge: main\nthreshold: 0\nstatements: [A]",
            ["6:16: threshold: with 0 and no required statement nothing could fail; "],
        ),
        (
            "type: statements\njudge: main\nstatements: []",
            ["6:17: statements: nothing could fail; write statements, or leave the key out"],
        ),
        ("type: statements\nstatements: [A]", ["3:5: graders[0]: names no judge; add 'judge': one of main"]),
        (
            "type: statements\njudge: main\njury: [main]\nstatements: [A]",
            ["6:5: a grader has a judge or a jury, not both"],
        ),
        (
            "type: statements\njury: [main, main, x]\nstatements: [A]",
            [
                "5:18: jury[1]: judge 'main' is listed already",
                "5:24: jury[2]: unknown judge 'x'; known: main",
            ],
        ),
        (
            "type: statements\njudge: main\nstatements:\n  - The agent says: yes\n  - ~\n  - ''",
            [
                "7:9: statements[0]: is a mapping because of its ': '; put the whole sentence in quotes",
                "8:9: statements[1]: must be a sentence, not null",
                "9:9: text: must not be empty",
            ],
        ),
        (
            "type: statements\njudge: main\nstatements:\n  - {text: A, requird: true}",
            ["7:19: unknown key 'requird'; did you mean 'required'?"],
        ),
        (
            "type: statements\njudge: main\nstatements: [A]\nprompt: prompts/gone.md",
            ["7:13: prompt: 'prompts/gone.md' matches no file in "],
        ),
        (
            "type: checks\nverifier: verify.py:verfy",
            ["5:15: verifier: unknown function 'verfy'; did you mean 'verify'? (in 'verify.py')"],
        ),
        ("type: checks\nverifier: verify.py", ["5:15: verifier: must be file.py:function, not 'verify.py'"]),
        ("type: checks\nverifier: broken.py:f", ["5:15: verifier: 'broken.py' is not Python, line 1: "]),
        ("type: chekcs", ["3:5: graders[0]: 'type' must be 'statements' or 'checks', not 'chekcs'"]),
        ("judge: main", ["3:5: graders[0]: 'type' is missing; it says what kind this is"]),
        (
            "type: statements\njudge: main\nstatements: [A]\ncalls: per_grade\nsamples: 0",
            [
                "7:12: calls: must be 'per_statement' or 'per_grader'; did you mean 'per_grader'?",
                "8:14: samples: must be at least 1, not 0",
            ],
        ),
    ],
)
def test_a_grader_that_could_mislead_is_refused(home: Path, keys: str, expected: list[str]) -> None:
    (home / "broken.py").write_text("def f(:\n")

    found = problems(home, with_grader(keys))

    assert len(found) == len(expected)
    assert all(message.startswith(start) for message, start in zip(found, expected, strict=True))


def test_two_graders_of_one_name_are_refused(home: Path) -> None:
    assert problems(home, SUITE.replace("name: balance", "name: expected")) == [
        "17:11: name: a grader named 'expected' is on line 10 already"
    ]


def test_a_statement_of_a_test_that_its_grader_has_is_refused(home: Path) -> None:
    text = SUITE.replace("[The agent refuses.]", "[The agent confirms the  order number.]")

    assert problems(home, text) == [
        "22:29: expected[0]: the same statement is on line 15; it would count twice"
    ]


def test_two_tests_may_bring_the_same_statement(home: Path) -> None:
    text = SUITE + "  other:\n    statements: {expected: [The agent refuses.]}\n"

    assert set(load_suite(written(home, text)).tests) == {"over-limit", "other"}


def test_statements_left_out_may_come_from_conversations(home: Path) -> None:
    suite = load_suite(written(home, with_grader("type: statements\njudge: main")))

    assert isinstance(suite.graders[0], StatementsGrader)
    assert suite.graders[0].statements is None


def test_threshold_0_is_fine_beside_a_required_statement(home: Path) -> None:
    keys = "type: statements\njudge: main\nthreshold: 0\nstatements: [{text: A, required: true}]"

    assert load_suite(written(home, with_grader(keys))).graders[0].threshold == 0


def test_threshold_0_is_fine_for_checks(home: Path) -> None:
    keys = "type: checks\nthreshold: 0\nverifier: verify.py:verify"

    assert load_suite(written(home, with_grader(keys))).graders[0].threshold == 0


def test_threshold_0_needs_a_required_statement_in_every_test_that_selects_the_grader(home: Path) -> None:
    suite = with_grader("type: statements\njudge: main\nthreshold: 0\n")
    a = "  a: {statements: {g: [{text: A, required: true}]}}\n"

    assert load_suite(written(home, f"{suite}tests:\n{a}")).tests.keys() == {"a"}
    assert "nothing could fail" in problems(home, f"{suite}tests:\n{a}  b: {{statements: {{g: [B]}}}}\n")[0]


def test_a_test_may_name_only_graders_there_are_and_statements_they_ask(home: Path) -> None:
    tests = dedent("""\
        |  x:
        |    graders: [expectd, balance, balance]
        |    statements: {expected: [A], balance: [B], q: [C]}
        """).replace("|", "")

    assert problems(home, SUITE + tests) == [
        "25:15: graders[0]: unknown grader 'expectd'; did you mean 'expected'?",
        "25:33: graders[2]: grader 'balance' is listed already",
        "26:18: grader 'expected' is not among this test's graders, so these would never be asked",
        "26:33: grader 'balance' runs checks; it takes no statements",
        "26:47: unknown grader 'q'; known: expected, balance",
    ]


@pytest.mark.parametrize(
    ("judge", "expected"),
    [
        ("{}", "1:16: main: 'model' is missing"),
        ("{model: 3}", "1:24: model: must be text, not the number 3; put it in quotes"),
        ("{model: m, attempts: 11}", "1:37: attempts: must be at most 10, not 11"),
        ("{model: m, deadline: 0}", "1:37: deadline: must be more than 0, not 0"),
        ("{model: m, output: jsn}", "1:35: output: must be 'auto', 'json_schema', 'tool' or 'text'"),
        ("{model: m, api_base: local}", "1:37: api_base: must begin with http:// or https://"),
        ("{model: m, api_base: 'http://u:p@h'}", "1:37: api_base: holds a user, a password or a query, and"),
        (
            "{model: m, params: {extra_headers: {X-Key: k}}}",
            "1:59: X-Key: looks like a secret, and would stand",
        ),
        ("{model: m, api_key_env: sk-k}", "1:40: api_key_env: must be the name of an environment variable"),
        ("{model: m, headers_env: {X-Key: k}}", "1:48: X-Key: must be the name of an environment variable"),
        ("{model: m, params: {api_key: k}}", "1:36: 'api_key' can't be a parameter; name its environment"),
        ("{model: m, params: {num_retries: 3}}", "1:36: 'num_retries' can't be a parameter; set 'attempts'"),
        ("{model: m, price: {input: 1}}", "1:34: price: 'output' is missing"),
    ],
)
def test_a_judge_that_can_not_be_asked_is_refused(home: Path, judge: str, expected: str) -> None:
    text = with_grader("type: checks\nverifier: verify.py:verify").replace("{model: m}", judge)

    (problem,) = problems(home, text)

    assert problem.startswith(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("policy: {min_pass_rate: 2}", "1:25: min_pass_rate: must be at most 1, not 2"),
        ("policy: {max_errored: -1}", "1:23: max_errored: must be at least 0, not -1"),
        ("policy: {require: most}", "1:19: require: must be 'all_passed', not the text 'most'"),
        ("budget: {max_calls: many}", "1:21: max_calls: must be a whole number, not the text 'many'"),
        (
            "evidence: {tool_results: some}",
            "1:26: tool_results: must be 'full' or 'none' or a whole number, not the text 'some'",
        ),
        ("evidence: {system_prompt: no}", "1:27: system_prompt: must be true or false, not the text 'no'"),
        ("conversations: [data/z*]", "1:17: conversations[0]: 'data/z*' matches no file in "),
        ("conversations: [data]", "1:17: conversations[0]: 'data' is a directory; name its files"),
        (
            "conversations: [{path: data/a.jsonl, format: opanai}]",
            "1:46: format: unknown format 'opanai'; did you mean 'openai'?",
        ),
        ("recorded: [gone.jsonl]", "1:12: recorded[0]: 'gone.jsonl' matches no file in "),
        ("labels: [gone.jsonl]", "1:10: labels[0]: 'gone.jsonl' matches no file in "),
    ],
)
def test_any_other_key_is_held_to_its_range_and_its_files(home: Path, text: str, expected: str) -> None:
    suite = f"{text}\ngraders:\n  - {{name: g, type: checks, verifier: verify.py:verify}}\n"

    (problem,) = problems(home, suite)

    assert problem.startswith(expected)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "a suite is a mapping with 'graders', not null"),
        ("- a", "a suite is a mapping with 'graders', not a list"),
        ("name: x", "1:1: 'graders' is missing"),
        ("graders: []", "1:10: graders: must not be empty"),
        ("graders: [", "not YAML"),
    ],
)
def test_what_is_no_suite_is_refused(home: Path, text: str, said: str) -> None:
    assert any(said in problem for problem in problems(home, text))


def test_a_yaml_problem_and_a_mistake_elsewhere_are_both_listed(home: Path) -> None:
    text = SUITE.replace("model: openai/gpt-5-mini", "model: *m").replace("0.75", "2")

    assert problems(home, text) == [
        "7:12: alias '*m' is not allowed; write the value out",
        "13:16: threshold: must be at most 1, not 2",
    ]


def test_of_very_many_problems_the_first_are_listed_and_the_rest_counted(home: Path) -> None:
    path = written(home, SUITE + "".join(f"k{n}: 1\n" for n in range(100)))

    with pytest.raises(SuiteError) as caught:
        load_suite(path)

    lines = str(caught.value).splitlines()
    assert len(lines) == 3 * 50 + 1
    assert lines[-1] == f"{path}: 50 more problems, not listed"


def test_a_verifier_is_looked_at_but_never_run(home: Path) -> None:
    (home / "verify.py").write_text("open('ran', 'w')\ndef verify(conversation): ...\n")

    load_suite(written(home, SUITE))

    assert not (home / "ran").exists()


def test_a_verifier_bound_by_an_import_or_an_assignment_is_taken(home: Path) -> None:
    (home / "verify.py").write_text("from elsewhere import verify\n")
    load_suite(written(home, SUITE))

    (home / "verify.py").write_text("verify = lambda conversation: []\n")
    load_suite(written(home, SUITE))


def test_the_schema_describes_every_key() -> None:
    schema = suite_schema()
    models: list[dict[str, Any]] = [schema, *schema["$defs"].values()]
    undescribed = [
        f"{model['title']}.{key}"
        for model in models
        for key, value in model.get("properties", {}).items()
        if "description" not in value and model["title"] != "StatementSpec" and key != "type"
    ]

    assert undescribed == []
    assert schema["required"] == ["graders"]


def test_the_schema_accepts_the_shorthands_the_loader_accepts() -> None:
    definitions = suite_schema()["$defs"]

    statements = definitions["StatementsGrader"]["properties"]["statements"]["anyOf"][0]["items"]
    assert {"type": "string"} in statements["anyOf"]
    assert yaml.safe_dump(suite_schema())
