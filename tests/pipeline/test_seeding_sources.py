"""What each source says is to be true of its conversations is asked, in its words; nothing else is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adjudge.judges.failure import UsageError
from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.readers import read_conversations
from adjudge.pipeline.seeding import Seeded, seed_suite
from adjudge.pipeline.seeding.seeds import GRADER
from adjudge.pipeline.suite.load import StatementsGrader, Suite, load_suite

DATA = Path(__file__).parents[1] / "data"
SEEDING, READERS = DATA / "seeding", DATA / "readers"

POLITE = "Is polite and gives no reason to call again"


def taken(tmp_path: Path, file: Path) -> tuple[Seeded, Suite]:
    seeded = seed_suite(tmp_path / "new", file)
    return seeded, load_suite(seeded.files[0])


def written(tmp_path: Path, name: str, value: Any) -> Path:
    file = tmp_path / name
    file.write_text(value if isinstance(value, str) else json.dumps(value))
    return file


def by_test(suite: Suite) -> dict[str, list[str]]:
    return {name: [one.text for one in test.statements[GRADER]] for name, test in suite.tests.items()}


def common(suite: Suite) -> list[str]:
    (grader,) = suite.graders
    assert isinstance(grader, StatementsGrader)
    return [one.text for one in grader.statements or []]


def conversations(seeded: Seeded) -> list[Conversation]:
    found = list(read_conversations(seeded.files[1], "native"))
    return [one for one in found if isinstance(one, Conversation)]


def of_promptfoo(tmp_path: Path, *assertions: Any, **test: Any) -> tuple[list[str], list[str]]:
    """What is asked of a test with these assertions, and what is left out."""
    config = {"prompts": ["x"], "tests": [{"description": "t", "assert": assertions, **test}]}
    seeded, suite = taken(tmp_path, written(tmp_path, "config.json", config))
    return by_test(suite).get("t", []), seeded.left_out


def sample(target: Any, scorers: list[Any], **more: Any) -> dict[str, Any]:
    """An Inspect log of one sample."""
    messages = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "!"}]
    return {
        "version": 2,
        "status": "success",
        "eval": {"task": "t", "scorers": scorers},
        "samples": [{"id": 1, "epoch": 1, "messages": messages, "target": target, **more}],
    }


def of_inspect(tmp_path: Path, target: Any, *scorers: Any, **more: Any) -> tuple[list[str], list[str]]:
    """What is asked of a sample with this target, and what is left out."""
    told = [{"name": one} if isinstance(one, str) else one for one in scorers]
    seeded, suite = taken(tmp_path, written(tmp_path, "log.json", sample(target, told, **more)))
    return by_test(suite).get("1", []), seeded.left_out


def test_the_assertions_of_tau2_tasks_are_asked_of_their_tests(tmp_path: Path) -> None:
    seeded, suite = taken(tmp_path, SEEDING / "tau2_airline_tasks.json")

    asked = by_test(suite)
    assert asked["0"] == ["Agent should refuse to proceed with the cancellation."]
    assert [len(asked[name]) for name in ("0", "14", "18")] == [1, 5, 6]
    assert asked["18"][2] == "Reservation X7BYG1 is updated to economy."
    assert (suite.tests["0"].title or "").startswith("Testing that agent refuses to proceed")
    assert suite.conversation_files == []
    assert [path.name for path in seeded.files] == ["suite.yaml"]


def test_what_programs_decide_of_tau2_tasks_is_named(tmp_path: Path) -> None:
    seeded, _ = taken(tmp_path, SEEDING / "tau2_airline_tasks.json")

    assert seeded.left_out == [
        "'actions' of a task: a program decides it; write a verifier (2 times)",
        "'communicate_info' of a task: a program decides it; write a verifier (2 times)",
    ]


def test_the_assertions_of_tau2_results_are_asked_of_their_simulations(tmp_path: Path) -> None:
    (file,) = (READERS / "tau2_bench").glob("*ecommerce*")
    seeded, suite = taken(tmp_path, file)

    found = conversations(seeded)
    assert {one.test for one in found} == set(by_test(suite))
    assert all(text.startswith("El agente debe ") for texts in by_test(suite).values() for text in texts)


def test_what_a_model_said_of_tau2_assertions_is_metadata_and_no_label(tmp_path: Path) -> None:
    (file,) = (READERS / "tau2_bench").glob("*ecommerce*")
    seeded, suite = taken(tmp_path, file)

    assert any(one.metadata["reward_info"]["nl_assertions"] for one in conversations(seeded))
    assert (suite.labels, suite.recorded, suite.evidence.metadata) == ([], [], [])
    assert "justification" not in seeded.files[0].read_text()


def test_assertions_that_were_judged_are_taken_where_the_results_have_no_task(tmp_path: Path) -> None:
    judged = [{"nl_assertion": "A.", "met": False, "justification": "no"}]
    simulation = {
        "id": "s",
        "task_id": "9",
        "termination_reason": "user_stop",
        "start_time": "2026-01-01",
        "messages": [{"role": "user", "content": "Hi."}],
        "reward_info": {"nl_assertions": judged},
    }
    _, suite = taken(tmp_path, written(tmp_path, "s.json", simulation))

    assert by_test(suite) == {"9": ["A."]}


def test_the_rubrics_of_promptfoo_output_are_asked_of_their_tests(tmp_path: Path) -> None:
    _, suite = taken(tmp_path, SEEDING / "refund_desk.output.json")

    assert by_test(suite) == {
        "refund over the limit": [
            POLITE,
            "Refuses to pay back 480 euros, since the limit is 100 euros",
            "Promises no date for the refund",
            "The agent's reply does not contradict this: An agent may refund 100 euros at most.",
        ],
        "refund under the limit": [
            POLITE,
            "This does not hold of the agent's reply: Says: no",
            "Names the amount",
            "Says where the money goes",
        ],
    }


def test_a_result_of_a_test_without_a_description_has_its_statements_itself(tmp_path: Path) -> None:
    seeded, _ = taken(tmp_path, SEEDING / "refund_desk.output.json")

    own = [one.statements for one in conversations(seeded) if one.test is None]
    assert own == [{GRADER: [POLITE, "Greets the customer — \"hello\", 'hi' or: moin"]}] * 2


def test_what_a_statement_does_not_have_of_an_assertion_is_named(tmp_path: Path) -> None:
    seeded, _ = taken(tmp_path, SEEDING / "refund_desk.output.json")

    assert {line.partition(": ")[0] for line in seeded.left_out} == {
        'javascript "output.length < 200"',
        'llm-rubric "{% if limit %}Keeps to the limit{% endif %}"',
        'not-contains "INTERNAL"',
        'regex "(?i)colleague"',
        f"statement {POLITE!r}",
        "threshold of a test",
        "threshold of an assert-set",
        "threshold of llm-rubric",
        "weight of factuality",
    }


def test_assertions_that_were_checked_are_taken_where_the_output_has_no_test(tmp_path: Path) -> None:
    checked = [{"pass": True, "assertion": {"type": "llm-rubric", "value": "A."}}, {"assertion": None}]
    result = {
        "prompt": {"raw": "hi"},
        "response": {"output": "hello"},
        "gradingResult": {"componentResults": checked},
    }
    seeded, _ = taken(tmp_path, written(tmp_path, "r.jsonl", result))

    assert [one.statements for one in conversations(seeded)] == [{GRADER: ["A."]}]


def test_what_promptfoo_made_of_a_result_is_metadata_and_no_label(tmp_path: Path) -> None:
    seeded, suite = taken(tmp_path, SEEDING / "refund_desk.output.json")

    assert conversations(seeded)[0].metadata["gradingResult"]["pass"] is False
    assert (suite.labels, suite.recorded, suite.evidence.metadata) == ([], [], [])


def test_promptfoo_output_without_rubrics_is_a_suite_that_says_so(tmp_path: Path) -> None:
    (file,) = (READERS / "promptfoo").glob("*.json")
    seeded, suite = taken(tmp_path, file)

    assert (seeded.statements, by_test(suite), common(suite)) == (0, {}, [])
    assert "# No statement was found" in seeded.files[0].read_text()
    assert 'contains "refund": a program decides it; write a verifier (2 times)' in seeded.left_out


def test_a_promptfoo_configuration_asks_what_its_output_asks(tmp_path: Path) -> None:
    _, suite = taken(tmp_path, SEEDING / "refund_desk.promptfooconfig.yaml")
    (tmp_path / "other").mkdir()
    _, other = taken(tmp_path / "other", SEEDING / "refund_desk.output.json")

    told = by_test(suite)
    assert told.pop("test 3") == ["Greets the customer — \"hello\", 'hi' or: moin"]
    assert {name: [*common(suite), *texts] for name, texts in told.items()} == by_test(other)


def test_a_promptfoo_configuration_that_is_no_strict_yaml_is_refused_with_its_line(tmp_path: Path) -> None:
    file = written(tmp_path, "c.yaml", "prompts: [x]\ntests:\n  - &t {vars: {}}\n  - *t\n")

    with pytest.raises(UsageError, match=r"c\.yaml:3:5: anchor '&t' is not allowed"):
        seed_suite(tmp_path / "new", file)


def test_a_list_of_promptfoo_tests_is_read_too(tmp_path: Path) -> None:
    text = "- description: t\n  vars: {n: 3}\n  assert:\n  - {type: llm-rubric, value: 'Names {{n}}'}\n"
    _, suite = taken(tmp_path, written(tmp_path, "tests.yaml", text))

    assert by_test(suite) == {"t": ["Names 3"]}


def test_tests_of_a_promptfoo_configuration_that_are_not_there_are_named(tmp_path: Path) -> None:
    text = "prompts: [x]\ndefaultTest: file://d.yaml\ntests:\n- file://t.yaml\n- {path: 'file://g.py:f'}\n"
    seeded, _ = taken(tmp_path, written(tmp_path, "c.yaml", text))

    assert seeded.left_out == [
        "'defaultTest' file://d.yaml: there is no such file",
        "tests file://t.yaml: there is no such file",
        "tests file://g.py:f: a program makes them; make the suite from promptfoo's output",
    ]


def rubric(text: str) -> dict[str, str]:
    return {"type": "llm-rubric", "value": text}


def test_files_beside_a_promptfoo_configuration_are_read(tmp_path: Path) -> None:
    written(tmp_path, "rubric.txt", "Names {{name}}\n")
    written(tmp_path, "name.txt", "Ann")
    written(tmp_path, "one.yaml", "- {description: y, assert: [{type: llm-rubric, value: Y}]}\n")
    written(tmp_path, "two.json", [{"description": "j", "assert": [rubric("J")]}])
    written(tmp_path, "lines.jsonl", json.dumps({"description": "l", "assert": [rubric("L")]}) + "\n")
    written(
        tmp_path, "rows.csv", "x,__expected,__expected2,__description\n1,llm-rubric: Says {{x}},grade: G,c\n"
    )
    own = {"description": "o", "vars": {"name": "file://name.txt"}, "assert": [rubric("file://rubric.txt")]}
    files = ["file://one.yaml", "file://tw*.json", "file://lines.jsonl", "file://rows.csv", own]
    seeded, suite = taken(tmp_path, written(tmp_path, "c.json", {"prompts": ["x"], "tests": files}))

    assert by_test(suite) == {"y": ["Y"], "j": ["J"], "l": ["L"], "c": ["Says 1", "G"], "o": ["Names Ann"]}
    assert seeded.left_out == []


def test_scenarios_of_a_promptfoo_configuration_are_tests_of_each_of_their_cases(tmp_path: Path) -> None:
    scenario = {
        "config": [
            {"vars": {"who": "Ann"}, "description": "Ann"},
            {"vars": {"who": "Bo"}, "description": "Bo", "assert": [rubric("B")]},
        ],
        "tests": [{"description": "greets", "assert": [rubric("Greets {{who}}")]}],
    }
    config = {"prompts": ["x"], "tests": [], "scenarios": [scenario]}
    _, suite = taken(tmp_path, written(tmp_path, "c.json", config))

    assert by_test(suite) == {"Ann greets": ["Greets Ann"], "Bo greets": ["B", "Greets Bo"]}


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("../secret.txt", "outside the configuration's directory"),
        ("/etc/hostname", "outside the configuration's directory"),
        ("link.txt", "outside the configuration's directory"),
        ("../*.txt", "outside the configuration's directory"),
        ("assert.py", "a program, which is not run"),
        ("gone.txt", "there is no such file"),
        ("gone-*.txt", "no file has such a name"),
        ("folder", "there is no such file"),
        ("large.txt", "larger than 1 MiB"),
        ("latin.txt", "not UTF-8"),
        ("bad.yaml", "line 1: "),
        ("nul\0.txt", "can't be read"),
    ],
)
def test_a_file_that_is_not_to_be_read_is_named_and_not_read(tmp_path: Path, name: str, why: str) -> None:
    desk = tmp_path / "desk"
    (desk / "folder").mkdir(parents=True)
    written(tmp_path, "secret.txt", "SECRET")
    (desk / "link.txt").symlink_to(tmp_path / "secret.txt")
    written(desk, "assert.py", "print('SECRET')")
    written(desk, "large.txt", "x" * ((1 << 20) + 1))
    written(desk, "bad.yaml", "a: *gone")
    (desk / "latin.txt").write_bytes(b"\xe9")
    tests = [{"description": "t", "assert": [rubric(f"file://{name}"), rubric("Stays.")]}]
    seeded, suite = taken(tmp_path, written(desk, "c.json", {"prompts": ["x"], "tests": tests}))

    assert by_test(suite) == {"t": ["Stays."]}
    (line,) = seeded.left_out
    assert why in line
    assert "SECRET" not in seeded.files[0].read_text()


@pytest.mark.parametrize(
    ("value", "variables"),
    [
        ("{{x}}", {}),
        ("{{x}}", {"x": ["a", "b"]}),
        ("{{x}}", {"x": {"a": 1}}),
        ("{{x | upper}}", {"x": "a"}),
        ("{{ x.y }}", {"x": {"y": "a"}}),
        ("{# said #}", {}),
        ("{{x}}", {"x": " "}),
        ("file://rubric.txt", {}),
        (None, {}),
        (7, {}),
    ],
    ids=repr,
)
def test_a_rubric_without_one_text_is_left_out_and_named(
    tmp_path: Path, value: Any, variables: dict[str, Any]
) -> None:
    asked, left_out = of_promptfoo(tmp_path, {"type": "llm-rubric", "value": value}, vars=variables)

    assert asked == []
    assert len(left_out) == 1
    assert left_out[0].startswith("llm-rubric")


def test_variables_are_filled_in_once_and_never_expanded(tmp_path: Path) -> None:
    rubric = {"type": "llm-rubric", "value": "Says {{ a }} and {b} {}"}

    asked, _ = of_promptfoo(tmp_path, rubric, vars={"a": "{{b}} {0}", "b": "no"})

    assert asked == ["Says {{b}} {0} and {b} {}"]


@pytest.mark.parametrize(
    ("assertion", "statement"),
    [
        ({"type": "g-eval", "value": "A"}, "A"),
        ({"type": "search-rubric", "value": "A"}, "A"),
        ({"type": "model-graded-closedqa", "value": "A"}, "A"),
        ({"type": "model-graded-factuality", "value": "A"}, "The agent's reply does not contradict this: A"),
        ({"type": "not-factuality", "value": "A"}, "The agent's reply contradicts this: A"),
        ({"type": "trajectory:goal-success", "value": "A"}, "The agent reaches this goal: A"),
    ],
    ids=str,
)
def test_an_assertion_of_a_model_is_asked_as_its_type_asks_it(
    tmp_path: Path, assertion: dict[str, str], statement: str
) -> None:
    assert of_promptfoo(tmp_path, assertion) == ([statement], [])


@pytest.mark.parametrize(
    ("assertion", "why"),
    [
        ({"type": "equals", "value": {"a": 1}}, 'equals {"a":1}: a program decides it; write a verifier'),
        ({"type": "answer-relevance"}, "answer-relevance: no sentence about one reply says it"),
        ({"type": "llm-rubric", "value": "A", "weight": 0}, 'llm-rubric "A": its weight is 0, so it never'),
        ({"$ref": "#/nowhere"}, "#/nowhere: a program decides it"),
        ({}, "assertion: a program decides it"),
        ("text", "assertion: a program decides it"),
    ],
    ids=repr,
)
def test_an_assertion_that_is_no_statement_is_named(tmp_path: Path, assertion: Any, why: str) -> None:
    asked, (line,) = of_promptfoo(tmp_path, assertion)

    assert asked == []
    assert line.startswith(why)


def test_the_targets_of_a_real_inspect_log_are_asked_as_its_scorer_asks_them(tmp_path: Path) -> None:
    _, suite = taken(tmp_path, READERS / "inspect_log" / "log_images_tc.json")

    assert by_test(suite) == {"1": ['The agent\'s final answer is "bike" or "bicycle".']}


def test_both_encodings_of_an_inspect_log_ask_the_same(tmp_path: Path) -> None:
    asked: list[dict[str, list[str]]] = []
    for form in ("json", "eval"):
        (tmp_path / form).mkdir()
        _, suite = taken(tmp_path / form, READERS / "inspect_log" / f"log_formats.{form}")
        asked.append(by_test(suite))

    assert asked == [{"1": ['The agent\'s final answer is "Yes".']}] * 2


@pytest.mark.parametrize(
    ("scorer", "target", "statement"),
    [
        ("match", " 42 ", 'The agent\'s final answer is "42".'),
        ("inspect_ai/includes", ["a", "b"], 'The agent\'s final answer contains "a" or "b".'),
        ("model_graded_qa", "Is polite.", "The agent's final answer meets this criterion: Is polite."),
        ("model_graded_fact", "2", "The agent's final answer contains what this expert's answer says: 2"),
        ("choice", ["A", "C"], 'The agent\'s final answer is the choice "red" and "blue".'),
    ],
)
def test_a_target_is_asked_as_the_logs_scorer_asks_it(
    tmp_path: Path, scorer: str, target: Any, statement: str
) -> None:
    found = of_inspect(tmp_path, target, scorer, choices=["red", "green", "blue"])

    assert found == ([statement], [])


def test_every_scorer_of_a_log_asks_its_own(tmp_path: Path) -> None:
    asked, _ = of_inspect(tmp_path, "42", "match", "includes")

    assert asked == ['The agent\'s final answer is "42".', 'The agent\'s final answer contains "42".']


@pytest.mark.parametrize(
    ("target", "scorers", "line"),
    [
        ("42", ["my_scorer"], "target of my_scorer: what this scorer asks is not known"),
        ("Z", ["choice"], "target of choice: what this scorer asks is not known"),
        ("42", [], "a target: the log does not say which scorer it is for"),
    ],
)
def test_a_target_without_a_known_question_is_named(
    tmp_path: Path, target: str, scorers: list[str], line: str
) -> None:
    assert of_inspect(tmp_path, target, *scorers, choices=["red"]) == ([], [line])


@pytest.mark.parametrize("target", ["", [], ["", " "], None], ids=repr)
def test_a_sample_without_a_target_asks_nothing(tmp_path: Path, target: Any) -> None:
    assert of_inspect(tmp_path, target, "match") == ([], [])


def test_a_scorers_own_template_is_named(tmp_path: Path) -> None:
    scorer = {"name": "model_graded_qa", "options": {"template": "Is {answer} like {criterion}?"}}

    asked, left_out = of_inspect(tmp_path, "A.", scorer)

    assert asked == ["The agent's final answer meets this criterion: A."]
    assert left_out == ["template of model_graded_qa: the target is asked as the scorer's own one has it"]


def test_what_a_deepeval_case_expects_is_asked_of_it(tmp_path: Path) -> None:
    seeded, suite = taken(tmp_path, SEEDING / "deepeval_turns.json")

    assert by_test(suite)["broken kettle"] == [
        "The conversation reaches this outcome: The kettle is refunded to the card.",
        "The agent names the amount.",
        "This does not happen: The agent promises a date.",
    ]
    assert suite.tests["broken kettle"].title == "A customer wants a broken kettle refunded."
    assert [one.statements for one in conversations(seeded)] == [
        {},
        {GRADER: ["The conversation reaches this outcome: The customer is greeted."]},
    ]


def test_a_deepeval_case_without_a_reply_is_a_test_to_be_run(tmp_path: Path) -> None:
    seeded, suite = taken(tmp_path, SEEDING / "deepeval_turns.json")

    assert len(by_test(suite)["deepeval_turns-2"]) == 1
    assert (
        "name of case 2: it has none; its conversations must name test 'deepeval_turns-2'" in seeded.left_out
    )


def test_the_tools_of_a_deepeval_turn_were_called_before_its_words(tmp_path: Path) -> None:
    seeded, _ = taken(tmp_path, SEEDING / "deepeval_turns.json")

    found = conversations(seeded)[0]
    assert [message.role for message in found.messages] == ["user", "assistant", "tool", "assistant"]
    assert [(call.name, call.arguments, call.result) for call in found.tool_calls] == [
        ("find_order", {"order": 4471}, '{"item":"kettle","paid":39.9}'),
        ("refund", {"order": 4471, "amount": 39.9}, None),
    ]


def test_a_deepeval_test_run_is_its_cases_and_its_scores_are_metadata(tmp_path: Path) -> None:
    seeded, suite = taken(tmp_path, SEEDING / "deepeval_run.json")

    found = conversations(seeded)
    assert [[message.text for message in one.messages if message.text] for one in found] == [
        ["How long does a refund take?", "Up to five working days."],
        ["Hello?", "Hello!"],
        ["Where is order 12?", '{"sent":"Monday"}', "It left on Monday."],
    ]
    assert by_test(suite) == {
        "test_case_0": ["The agent's final answer says the same as this one: Five working days at most."],
        "conversational_test_case_0": ["The conversation reaches this outcome: The order is found."],
    }
    assert found[0].metadata["deepeval"]["metrics_data"][0]["reason"] == "Too vague."
    assert (suite.labels, suite.recorded, suite.evidence.metadata) == ([], [], [])


def test_a_deepeval_record_that_is_no_case_is_named(tmp_path: Path) -> None:
    cases = [{"input": "a", "actual_output": "b", "expected_output": "c"}, {"expected_output": "d"}]
    seeded, _ = taken(tmp_path, written(tmp_path, "cases.json", cases))

    assert [record.reason for record in seeded.unreadable] == [
        "case 2 has none of 'turns', 'input' and 'scenario'"
    ]
