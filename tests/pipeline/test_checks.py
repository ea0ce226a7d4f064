"""Verifiers: loading foreign code, believing only what it may say, and the grade its checks make (S4)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from adjudge import Check, Conversation, NoRequiredChecks, check, optional
from adjudge.judges.failure import Failure, UsageError
from adjudge.pipeline.checks import Verifier, load_verifier, verify
from adjudge.pipeline.grading.checks_grade import checks_grade
from adjudge.pipeline.planning.plan import PlannedGrader

CONVERSATION = Conversation(id="c1")


def grader(threshold: float = 1.0) -> PlannedGrader:
    return PlannedGrader(name="g", type="checks", version="v", threshold=threshold, gating=True)


def load(folder: Path, source: str) -> Verifier:
    file = folder / "verifier.py"
    file.write_text(source)
    return load_verifier(file, "verify")


def failure(returned: Any) -> Failure:
    """What becomes of a verifier that returns this."""
    outcome = verify(lambda _: returned, CONVERSATION)
    assert isinstance(outcome, Failure)
    return outcome


def test_checks_are_required_and_optional_ones_are_not() -> None:
    assert check("a", True, "why") == Check(label="a", passed=True, detail="why", required=True)
    assert optional("a", False) == Check(label="a", passed=False, detail="", required=False)


def test_a_verifier_may_import_what_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "beside_this_test.py").write_text("from adjudge import check\n")
    verifier = load(
        tmp_path, "from beside_this_test import check\ndef verify(c): return [check(c.id, True)]\n"
    )

    assert verify(verifier, CONVERSATION) == [check("c1", True)]


def test_a_verifier_may_yield_its_checks(tmp_path: Path) -> None:
    verifier = load(
        tmp_path,
        "from adjudge import check, optional\n"
        "def verify(c):\n    yield check('a', True)\n    yield optional('b', False)\n",
    )

    assert verify(verifier, CONVERSATION) == [check("a", True), optional("b", False)]


def test_a_verifier_may_define_dataclasses(tmp_path: Path) -> None:
    verifier = load(
        tmp_path,
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n"
        "from adjudge import check\n"
        "@dataclass\nclass Order:\n    number: int\n"
        "def verify(c): return [check('a', Order(7).number == 7)]\n",
    )

    assert verify(verifier, CONVERSATION) == [check("a", True)]


def test_two_files_of_one_name_are_two_verifiers(tmp_path: Path) -> None:
    found: list[Any] = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        source = f"from adjudge import check\ndef verify(c): return [check({name!r}, True)]\n"
        found.append(load(tmp_path / name, source))

    assert [verify(verifier, CONVERSATION) for verifier in found] == [
        [check("one", True)],
        [check("two", True)],
    ]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("1 / 0\n", r"could not be loaded: ZeroDivisionError: division by zero \(verifier\.py:1\)"),
        ("import nonsense_that_is_not_there\n", "ModuleNotFoundError"),
        ("raise SystemExit\n", "SystemExit"),
        ("verify = 3\n", "has no function 'verify'"),
        ("", "has no function 'verify'"),
    ],
)
def test_a_file_that_can_not_be_run_is_refused(tmp_path: Path, source: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        load(tmp_path, source)


@pytest.mark.parametrize(
    "returned",
    [
        None,
        7,
        "text",
        ["text"],
        [True],
        [("a", True)],
        [Check(label="a", passed=cast("bool", 1))],
        [Check(label="a", passed=cast("bool", None))],
        [Check(label=cast("str", 1), passed=True)],
        [Check(label="a", passed=True, detail=cast("str", None))],
        [Check(label="\ud800", passed=True)],
    ],
    ids=repr,
)
def test_what_is_no_list_of_checks_is_the_verifiers_error(returned: Any) -> None:
    assert failure(returned).cause == "verifier_error"


@pytest.mark.parametrize("returned", [[], [optional("a", True)]], ids=["none", "only optional ones"])
def test_checks_of_which_none_is_required_could_never_fail(returned: Any) -> None:
    assert failure(returned).cause == "no_required_checks"


def test_a_verifier_may_say_itself_that_nothing_is_required() -> None:
    def verifier(_: Conversation) -> list[Check]:
        raise NoRequiredChecks("nothing to check here")

    assert verify(verifier, CONVERSATION) == Failure(
        cause="no_required_checks", message="nothing to check here"
    )


def test_an_error_is_told_on_one_line_with_its_place() -> None:
    def verifier(_: Conversation) -> list[Check]:
        raise ValueError("one\n two" + "x" * 1000)

    outcome = verify(verifier, CONVERSATION)

    assert isinstance(outcome, Failure)
    assert outcome.message.startswith("ValueError: one two")
    assert "(test_checks.py:" in outcome.message
    assert len(outcome.message) < 400


def test_the_place_told_is_in_the_verifiers_own_file(tmp_path: Path) -> None:
    verifier = load(tmp_path, "import json\ndef verify(c):\n    return json.loads('{')\n")

    outcome = verify(verifier, CONVERSATION)

    assert isinstance(outcome, Failure)
    assert outcome.message.endswith("(verifier.py:3)")


def test_what_was_returned_has_no_place_in_a_file(tmp_path: Path) -> None:
    outcome = verify(load(tmp_path, "def verify(c): return [True]\n"), CONVERSATION)

    assert isinstance(outcome, Failure)
    assert ".py" not in outcome.message


@pytest.mark.parametrize(
    ("threshold", "checks", "score", "result"),
    [
        (0.0, [check("a", True), optional("b", False)], 0.5, "passed"),
        (0.0, [check("a", False), optional("b", True)], 0.5, "failed"),
        (1.0, [check("a", True), optional("b", False)], 0.5, "failed"),
        (0.5, [check("a", True), optional("b", False)], 0.5, "passed"),
        (0.0, [check("a", True), check("b", False)], 0.5, "failed"),
    ],
)
def test_required_checks_decide_and_so_does_the_threshold(
    threshold: float, checks: list[Check], score: float, result: str
) -> None:
    made = checks_grade(grader(threshold), checks)

    assert (made["score"], made["result"], made["error"]) == (score, result, None)
    assert (made["met"], made["total"]) == (1, 2)


def test_a_failure_makes_an_errored_grade_without_checks() -> None:
    made = checks_grade(grader(0.0), Failure(cause="verifier_error", message="broke"))

    assert (made["result"], made["score"], made["met"], made["total"]) == ("errored", None, None, None)
    assert made["error"] == {"cause": "verifier_error", "message": "broke", "retryable": False}
    assert made.get("checks") == []
