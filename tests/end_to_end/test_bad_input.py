"""What can't be used is refused in one message that names it; nothing half-written is left behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from adjudge.testing import Reply, Request

if TYPE_CHECKING:
    from tests.end_to_end.conftest import Desk, Done

SUITE = """\
name: refund-desk
conversations: [conversations.jsonl]
judges:
  main: {model: openai/any, api_base: 'http://127.0.0.1:9/v1'}
graders:
  - name: behaves
    type: statements
    judge: main
    threshold: 0.75
    statements: [A., B.]
"""


def refused(desk: Desk, *command: str, code: int = 2) -> str:
    """What a command says that is refused and leaves everything as it was."""
    before = desk.files()
    done = desk.adjudge(*command)
    assert (done.code, done.out) == (code, "")
    assert desk.files() == before
    assert desk.server.count == 0
    return said(done)


def said(done: Done) -> str:
    """What stands on standard error: a message of adjudge's own."""
    assert done.err.startswith("adjudge: ")
    assert "Traceback" not in done.err
    return done.err


@pytest.mark.parametrize(
    ("old", "new", "place", "words"),
    [
        ("threshold: 0.75", "treshold: 0.75", "9:5", "did you mean 'threshold'"),
        ("threshold: 0.75", "threshold: 0.75\n    threshold: 1", "10:5", "'threshold'"),
        ("threshold: 0.75", "threshold: 'NaN'", "9:16", "number"),
        ("threshold: 0.75", "threshold: .nan", "9:16", "threshold"),
        ("threshold: 0.75", "threshold: null", "9:16", "number"),
        ("threshold: 0.75", "threshold: true", "9:16", "number"),
        ("threshold: 0.75", "threshold: 1.5", "9:16", "1"),
        ("threshold: 0.75", "threshold: -0.1", "9:16", "0"),
        ("threshold: 0.75", "threshold: 0", "9:16", "nothing could fail"),
        ("[A., B.]", "[]", "10:17", "nothing could fail"),
        ("[A., B.]", "[A., A.]", "10:22", "count twice"),
        ("[A., B.]", "&all [A., B.]", "10:17", "anchor"),
        ("judge: main", "judge: mian", "8:12", "did you mean 'main'"),
        ("conversations.jsonl", "missing.jsonl", "2:17", "matches no file"),
        (
            "[conversations.jsonl]",
            "[{path: conversations.jsonl, format: openia}]",
            "2:53",
            "did you mean 'openai'",
        ),
        (SUITE, "", " a suite", "graders"),
        (SUITE, "- a\n- b\n", " a suite", "not a list"),
        (SUITE, "name: [\n", "2:1", "YAML"),
    ],
)
def test_a_suite_that_can_not_be_used_is_refused_with_its_line(
    desk: Desk, old: str, new: str, place: str, words: str
) -> None:
    assert old in SUITE
    (desk.path / "suite.yaml").write_text(SUITE.replace(old, new))

    message = refused(desk, "run", "suite.yaml")

    assert f"suite.yaml:{place}" in message
    assert words in message


def test_a_suite_that_is_not_there_is_refused(desk: Desk) -> None:
    assert "'nowhere.yaml'" in refused(desk, "run", "nowhere.yaml")


def test_a_suite_that_is_a_directory_is_refused(desk: Desk) -> None:
    assert refused(desk, "run", ".")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--grader", "behavs"], "did you mean 'behaves'"),
        (["--judge", "mian=openai/x"], "'mian'"),
        (["--conversations", "nowhere.jsonl"], "'nowhere.jsonl' matches no file"),
        (["--dry-run", "--grader", "behavs"], "did you mean 'behaves'"),
    ],
)
def test_an_option_that_names_nothing_is_refused(desk: Desk, options: list[str], words: str) -> None:
    (desk.path / "suite.yaml").write_text(SUITE)

    assert words in refused(desk, "run", "suite.yaml", *options)


@pytest.mark.parametrize(
    "options",
    [
        ["--limit", "0"],
        ["--max-calls", "-1"],
        ["--max-cost", "nan"],
        ["--concurrency", "0"],
        ["--no-such-option"],
        ["another.yaml"],
    ],
)
def test_an_option_that_makes_no_sense_is_a_usage_error(desk: Desk, options: list[str]) -> None:
    (desk.path / "suite.yaml").write_text(SUITE)
    before = desk.files()

    done = desk.adjudge("run", "suite.yaml", *options)

    assert (done.code, done.out) == (2, "")
    assert "Traceback" not in done.err
    assert desk.files() == before


def test_an_empty_conversations_file_is_nothing_to_judge(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.conversations()

    done = desk.run()

    assert (done.code, done.err) == (5, "")
    assert desk.summary()["counts"]["conversations"] == 0


def test_a_line_cut_short_is_named_and_the_others_are_graded(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.conversations("c1", "c2", "c3")
    lines = (desk.path / "conversations.jsonl").read_text().splitlines(keepends=True)
    (desk.path / "conversations.jsonl").write_text(lines[0] + lines[1][:40] + "\n" + lines[2])

    done = desk.run()

    assert done.code == 3
    assert "conversations.jsonl:2" in done.err
    assert len(done.err.splitlines()) == 1
    assert [row["conversation_id"] for row in desk.results()] == ["c1", "c3"]
    assert desk.summary()["counts"]["passed"] == 2
    assert desk.summary()["counts"]["unreadable"] == 1


def test_the_second_conversation_of_an_id_is_named_and_not_graded(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.conversations("c1", "c2", "c1")

    done = desk.run()

    assert done.code == 3
    assert "conversations.jsonl:3" in done.err
    assert "'c1'" in done.err
    assert [row["conversation_id"] for row in desk.results()] == ["c1", "c2"]


@pytest.mark.parametrize("more", [{"graders": ["behavs"]}, {"statements": {"behavs": ["A."]}}])
def test_a_conversation_that_names_an_unknown_grader_is_named_and_not_graded(
    desk: Desk, more: dict[str, object]
) -> None:
    desk.suite(desk.grader("A."))
    desk.conversations("c1", desk.conversation("c2", **more))

    done = desk.run()

    assert done.code == 3
    assert "conversations.jsonl:2" in done.err
    assert "'behavs'" in done.err
    assert "did you mean 'behaves'" in done.err
    assert desk.summary()["counts"]["passed"] == 1


@pytest.mark.parametrize(
    "body", ["raise ZeroDivisionError('none left')", "import sys; sys.exit(0)", "return 7", "return ['yes']"]
)
def test_a_verifier_that_breaks_errs_and_its_siblings_go_on(desk: Desk, body: str) -> None:
    guarded = f"if conversation.id == 'c2':\n    {body}\nreturn [check('a', True)]"
    desk.suite(desk.verifier(guarded), desk.grader("A."))
    desk.conversations("c1", "c2", "c3")

    assert desk.run().code == 3
    first, second, third = desk.grades("checked")
    assert (first["result"], third["result"]) == ("passed", "passed")
    assert (second["result"], second["error"]["cause"]) == ("errored", "verifier_error")
    assert [grade["result"] for grade in desk.grades()] == ["passed"] * 3


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def verify(conversation:\n", "checked.py' is not Python, line 1"),
        ("import sys\nsys.exit(3)\ndef verify(conversation): ...\n", "SystemExit: 3 (checked.py:2)"),
        ("1 / 0\ndef verify(conversation): ...\n", "ZeroDivisionError"),
        ("def verfy(conversation): ...\n", "did you mean 'verfy'"),
    ],
)
def test_a_verifier_that_can_not_be_loaded_is_refused(desk: Desk, source: str, words: str) -> None:
    desk.suite(desk.verifier("return []"), desk.grader("A."))
    (desk.path / "checked.py").write_text(source)

    done = desk.run()

    assert (done.code, done.out) == (2, "")
    assert words in said(done)
    assert desk.runs == []
    assert desk.server.count == 0


def test_a_missing_api_key_is_named_and_no_run_is_left_behind(desk: Desk) -> None:
    del desk.environ["OPENAI_API_KEY"]
    judge = {"model": "openai/gpt-4.1-mini"}
    desk.suite(desk.verifier("return [check('a', True)]"), desk.grader("A."), judges={"main": judge})

    done = desk.run()

    assert (done.code, done.out) == (2, "")
    assert "OPENAI_API_KEY" in said(done)
    assert len(done.err.splitlines()) == 1
    assert desk.runs == []


def test_an_api_key_of_a_named_variable_that_is_not_set_is_named(desk: Desk) -> None:
    desk.suite(desk.grader("A."), judges={"main": desk.judge(api_key_env="MY_KEY")})

    done = desk.run()

    assert (done.code, done.out) == (2, "")
    assert "MY_KEY" in said(done)
    assert (desk.runs, desk.server.count) == ([], 0)


@pytest.mark.parametrize(
    ("judge", "words"),
    [
        ({"model": "any"}, "provider/model"),
        ({"model": "nobody/any"}, "no provider that litellm knows"),
        ({"params": {"extra_headers": {"a b": "c"}}}, "header"),
    ],
)
def test_a_judge_that_can_not_be_asked_is_refused(desk: Desk, judge: dict[str, object], words: str) -> None:
    desk.suite(desk.grader("A."), judges={"main": desk.judge(**judge)})

    done = desk.run()

    assert (done.code, done.out) == (2, "")
    assert words in said(done)
    assert (desk.runs, desk.server.count) == ([], 0)


def test_a_run_that_is_not_there_is_refused(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.run()
    (run,) = desk.runs

    done = desk.adjudge("show", "19990101")

    assert (done.code, done.out) == (2, "")
    assert "'19990101' names no run" in said(done)
    assert run.name in done.err


@pytest.mark.parametrize("command", ["show", "resume", "rollouts", "export", "whatif"])
def test_the_latest_of_no_runs_is_refused(desk: Desk, command: str) -> None:
    assert "adjudge run SUITE" in refused(desk, command)


def test_a_conversation_that_is_not_there_is_refused(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.run()

    done = desk.adjudge("show", "latest", "c9")

    assert (done.code, done.out) == (2, "")
    assert "'c9'" in said(done)


def test_a_judge_that_refuses_the_key_fails_for_good_and_the_other_judge_goes_on(desk: Desk) -> None:
    desk.conversations(*(f"c{n}" for n in range(30)))
    judges = {"main": desk.judge(max_concurrency=4), "other": desk.judge(model="openai/other")}
    desk.suite(desk.grader("A."), desk.grader("B.", name="second", judge="other"), judges=judges)
    desk.answer = lambda request: Reply(status=401 if request.json["model"] == "any" else 200)

    assert desk.run().code == 3
    assert {grade["error"]["cause"] for grade in desk.grades()} == {"auth"}
    assert {grade["result"] for grade in desk.grades("second")} == {"passed"}
    assert desk.server.calls["A."] <= 4
    assert "sk-test" not in "".join(path.read_text() for path in desk.runs[0].iterdir())


def test_a_verifier_that_changes_its_conversation_changes_nothing_for_others(desk: Desk) -> None:
    spoiling = desk.verifier("conversation.messages.clear()\nreturn [check('a', True)]", name="first")
    counting = desk.verifier("return [check('a', len(conversation.messages) == 2)]", name="second")
    desk.suite(spoiling, counting, desk.grader("A."))

    assert desk.run().code == 0
    assert b"This is c1." in desk.server.requests[0].body


@pytest.mark.parametrize("body", ["raise ValueError('\\ud800')", "return [check('a', True, '\\ud800')]"])
def test_a_verifier_that_speaks_no_unicode_errs(desk: Desk, body: str) -> None:
    desk.suite(desk.verifier(body))

    assert desk.run().code == 3
    assert desk.grades("checked")[0]["error"]["cause"] == "verifier_error"


def test_a_conversation_with_a_lone_surrogate_is_graded_or_named(desk: Desk) -> None:
    desk.suite(desk.grader("A."), desk.verifier("return [check(conversation.final_text, True)]"))
    (desk.path / "conversations.jsonl").write_text(
        '{"id": "c1", "messages": [{"role": "assistant", "content": "a \\ud800 b"}]}\n'
        '{"id": "c2", "messages": [{"role": "assistant", "content": "fine"}]}\n'
    )

    done = desk.run()

    assert done.code == 3
    assert "Traceback" not in done.err
    assert "fault of adjudge" not in done.err
    assert desk.results()[-1]["combined_score"] == 1


def test_a_file_that_begins_with_a_conversation_that_failed_before_a_word_is_read(
    desk: Desk,
) -> None:
    desk.suite(desk.grader("A."))
    desk.conversations({"id": "c1", "status": "failed", "error": "no line"}, "c2")

    assert desk.run().code == 3
    assert [row["status"] for row in desk.results()] == ["failed", "completed"]
    assert desk.results()[0]["error"] == "no line"


def test_labels_that_can_not_be_read_are_refused_before_anything_is_asked(desk: Desk) -> None:
    desk.suite(desk.grader("A."), labels=["labels.jsonl"])
    (desk.path / "labels.jsonl").write_text('{"conversation_id": "c1"}\n')

    assert "labels.jsonl:1" in refused(desk, "run", "suite.yaml")


def test_labels_that_are_lost_during_a_run_cost_a_warning_and_not_the_run(desk: Desk) -> None:
    labels = desk.path / "labels.jsonl"
    labels.write_text('{"conversation_id": "c1", "statement": "A.", "label": "met"}\n')
    desk.suite(desk.grader("A."), labels=["labels.jsonl"])

    def answer(_: Request) -> Reply:
        labels.unlink()
        return Reply()

    desk.answer = answer

    done = desk.run()

    assert done.code == 0
    assert done.err.startswith("adjudge: warning: labels ")
    assert desk.summary()["counts"]["passed"] == 1
