"""What commands print and write: stdout for results, stderr for the rest, nothing a terminal obeys."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any

import pytest

from adjudge.testing import Reply, Request, says

if TYPE_CHECKING:
    from tests.end_to_end.conftest import Desk

HEAVY = {"aiohttp", "httpx", "litellm", "openai", "tenacity"}
HOSTILE = "\x1b[2J\x1b]52;c;aGk=\x07 \r\x9b31m \u202egnp.exe \u200b|\n# A heading <script>alert(1)</script>"


def contents(desk: Desk) -> dict[str, bytes]:
    """Every file, but those through which SQLite's readers see each other."""
    paths = (path for path in desk.path.rglob("*") if path.is_file() and not path.match("cache.db-*"))
    return {str(path): path.read_bytes() for path in paths}


def test_json_is_alone_on_stdout_and_equals_the_summary(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.conversations("c1", "c1")  # a warning, on stderr

    done = desk.run("--json")

    assert json.loads(done.out) == desk.summary()
    assert done.code == json.loads(done.out)["exit_code"] == 3
    assert json.loads(desk.adjudge("show", "--json").out) == desk.summary()
    assert json.loads(desk.adjudge("show", "latest", "c1", "--json").out) == desk.results()[0]


def test_json_is_alone_on_stdout_when_every_call_fails(desk: Desk) -> None:
    judge = desk.judge(model="anthropic/any", api_base=desk.server.origin)
    desk.suite(desk.grader("A."), judges={"main": judge})
    desk.answer = lambda _: Reply(status=500)

    done = desk.run("--json")

    assert json.loads(done.out)["errors_by_cause"] == {"unavailable": 1}
    assert done.err == ""


def test_a_quiet_run_says_nothing_and_writes_everything(desk: Desk) -> None:
    desk.suite(desk.grader("A."))

    done = desk.run("--quiet")

    assert (done.code, done.out, done.err) == (0, "", "")
    assert desk.summary()["counts"]["passed"] == 1


def test_an_errored_run_says_what_to_do_next(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.answer = lambda _: Reply(status=503)

    done = desk.run()

    assert f"adjudge resume {desk.runs[0].name}" in done.out
    assert "Exit code     3" in done.out


def test_junit_tells_failed_from_errored(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.conversations("c1", "c2", "c3")

    def answer(request: Request) -> Reply:
        failed = b"This is c3." in request.body
        return Reply(status=500 if failed else 200, decision="not_met" if b"c2." in request.body else "met")

    desk.answer = answer

    assert desk.run("--junit", "junit.xml").code == 1
    root = ET.fromstring((desk.path / "junit.xml").read_text())
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("3", "1", "1")
    assert desk.adjudge("export", "--format", "junit").out == (desk.path / "junit.xml").read_text()


def test_a_junit_file_that_can_not_be_written_is_named_and_the_run_is_kept(desk: Desk) -> None:
    desk.suite(desk.grader("A."))

    done = desk.run("--junit", "nowhere/junit.xml")

    assert done.code == 4
    assert "Exit code     0" in done.out
    assert "nowhere/" in done.err
    assert desk.summary()["exit_code"] == 0


def test_every_format_is_exported_to_stdout_and_to_a_file_alike(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.run()

    for form in ("jsonl", "csv", "junit", "markdown"):
        to_stdout = desk.adjudge("export", "--format", form)
        to_file = desk.adjudge("export", "--format", form, "--to", f"out.{form}")
        assert (to_stdout.code, to_file.code, to_file.out, to_file.err) == (0, 0, "", "")
        assert (desk.path / f"out.{form}").read_text() == to_stdout.out != ""
    assert to_stdout.err == ""
    assert [json.loads(line) for line in (desk.path / "out.jsonl").read_text().splitlines()] == desk.results()
    (row,) = csv.DictReader(io.StringIO((desk.path / "out.csv").read_text()))
    assert row["result"] == "passed"


def test_result_files_are_named_by_hash_and_listed_in_an_index(desk: Desk) -> None:
    desk.suite(desk.grader("A."), desk.grader("B.", name="../second"))
    desk.conversations(desk.conversation("../../c1"), "c2")
    desk.run()

    assert desk.adjudge("export", "-f", "result-json", "--to", "out").code == 0
    index = json.loads((desk.path / "out" / "index.json").read_text())
    assert [(row["conversation_id"], row["grader"]) for row in index] == [
        ("../../c1", "behaves"),
        ("../../c1", "../second"),
        ("c2", "behaves"),
        ("c2", "../second"),
    ]
    for row in index:
        assert re.fullmatch(r"[0-9a-f]{16}/result\.json", row["file"])
        assert json.loads((desk.path / "out" / row["file"]).read_text())["passed"] is True


def test_one_result_needs_to_be_named_where_there_are_several(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.conversations("c1", "c2")
    desk.run()

    done = desk.adjudge("export", "-f", "result-json")

    assert (done.code, done.out) == (2, "")
    assert "--conversation" in done.err
    assert desk.adjudge("export", "-f", "result-json", "--conversation", "c2").code == 0


def test_a_dry_run_counts_what_would_be_asked_and_writes_nothing(desk: Desk) -> None:
    price = {"input": 1, "output": 2}
    desk.suite(desk.grader("A.", "B."), judges={"main": desk.judge(price=price)})
    desk.conversations("c1", "c2")
    del desk.environ["OPENAI_API_KEY"]
    before = desk.files()

    done = desk.run("--dry-run", "--json")

    found = json.loads(done.out)
    assert (done.code, done.err) == (0, "")
    assert (found["conversations"], found["grades"], found["questions"]) == (2, 2, 4)
    assert (found["calls"], found["cached"]) == (4, 0)
    assert found["cost_usd"] > 0
    assert desk.files() == before
    assert desk.server.count == 0


def test_a_dry_run_knows_what_is_cached_and_what_has_no_price(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.run()
    desk.suite(desk.grader("A.", "B."))
    before = contents(desk)

    done = desk.run("--dry-run")

    assert done.code == 0
    assert "1 are answered already; 1 calls would be made" in done.out
    assert "no price is known for main" in done.out
    assert contents(desk) == before


def test_hostile_text_is_shown_and_not_obeyed(desk: Desk) -> None:
    said = {"id": "s1", "rationale": HOSTILE, "citations": [{"turn": 1, "quote": HOSTILE}], "decision": "met"}
    desk.suite(desk.grader(f"A {HOSTILE}"), desk.verifier(f"return [check({HOSTILE!r}, False, {HOSTILE!r})]"))
    desk.conversations(
        {
            "id": f"c1 {HOSTILE}",
            "messages": [{"role": "user", "content": HOSTILE}],
            "test": HOSTILE,
            "termination_reason": HOSTILE,
        }
    )
    desk.answer = lambda _: Reply(text=json.dumps({"verdicts": [said]}), model=HOSTILE)

    done = desk.run()
    outputs = [
        done.out,
        done.err,
        *(
            desk.adjudge(*command).out
            for command in (
                ["show"],
                ["show", "latest", f"c1 {HOSTILE}"],
                ["rollouts"],
                ["whatif", "--threshold", "0.5"],
                ["cache", "stats"],
                ["cache", "why-miss", "suite.yaml"],
            )
        ),
    ]

    assert done.code == 1
    for output in outputs:
        assert not set("\x1b\x07\r\x9b\u202e\u200b") & set(output)
    assert "\\x1b[2J" in outputs[3]


def test_hostile_text_is_harmless_in_every_export(desk: Desk) -> None:
    formula = "=HYPERLINK(A1)"
    said: dict[str, Any] = {"id": "s1", "rationale": formula + HOSTILE, "citations": [], "decision": "met"}
    desk.suite(desk.grader(formula))
    desk.conversations(desk.conversation(formula))
    desk.answer = lambda _: says(json.dumps({"verdicts": [said]}))
    desk.run()

    cells = [cell for row in csv.reader(io.StringIO(desk.adjudge("export", "-f", "csv").out)) for cell in row]
    assert not [cell for cell in cells if cell.startswith("=")]
    ET.fromstring(desk.adjudge("export", "-f", "junit").out)
    assert "<script>" not in desk.adjudge("export", "-f", "markdown").out


def test_the_progress_of_a_run_is_not_drawn_where_there_is_no_terminal(desk: Desk) -> None:
    desk.suite(desk.grader("A."))

    done = desk.run()

    assert done.err == ""
    assert "\x1b" not in done.out


def test_the_doctor_says_which_keys_are_set_and_never_what_they_are(desk: Desk) -> None:
    done = desk.adjudge("doctor")

    assert "ok    OPENAI_API_KEY: set\n" in done.out
    assert "-     ANTHROPIC_API_KEY: not set\n" in done.out
    assert (done.code, "look" in done.out) == (0, False)
    assert "sk-test" not in done.out
    assert desk.files() == {"conversations.jsonl"}


def test_results_that_lost_a_row_are_no_smaller_run(desk: Desk) -> None:
    desk.conversations("c1", "c2")
    desk.suite(desk.grader("A."))
    desk.run("--no-github")
    results = desk.runs[0] / "results.jsonl"
    whole = results.read_bytes()
    results.write_bytes(whole[: whole.index(b"\n") + 1])

    reading = ("show", "rollouts", "export", "export -f csv", "export -f junit", "compare latest latest")
    for command in (
        *reading,
        "agreement --labels /dev/null",
        "stability --dry-run",
        "whatif",
        "review --no-open",
    ):
        done = desk.adjudge(*command.split())
        assert done.code == 4, command
        assert "holds 1 of the run's 2 conversations" in done.err, command
    assert desk.adjudge("resume").code == 0
    assert results.read_bytes() == whole


def test_frozen_conversations_that_lost_a_line_are_no_fewer_questions(desk: Desk) -> None:
    desk.conversations("c1", "c2")
    desk.suite(desk.grader("A."))
    desk.run()
    conversations = desk.runs[0] / "conversations.jsonl"
    whole = conversations.read_bytes()
    conversations.write_bytes(whole[: whole.index(b"\n") + 1])

    for command in ("stability", "agreement --labels /dev/null --by metadata.k", "compare latest latest"):
        done = desk.adjudge(*command.split())
        assert (done.code, "is damaged" in done.err) == (4, True), command
    assert desk.server.count == 2


@pytest.mark.parametrize("content", ["[]", '{"main": 3}', '{"main": {}}', "{"])
def test_what_judges_did_may_be_damaged(desk: Desk, content: str) -> None:
    desk.suite(desk.grader("A."))
    desk.run()
    (desk.runs[0] / "judges.json").write_text(content)

    done = desk.adjudge("show")

    assert done.code == (0 if content == "[]" else 4)
    assert "Traceback" not in done.err


def imported(desk: Desk, *arguments: str) -> tuple[int, set[str], str]:
    """Exit code, top-level modules imported and stdout of a command in an interpreter of its own."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "adjudge", *arguments],
        cwd=desk.path,
        env=desk.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    names = re.findall(r"\| +(\S+)$", done.stderr, re.MULTILINE)
    return done.returncode, {name.split(".")[0] for name in names}, done.stdout


def test_nothing_but_a_call_waits_for_what_calls_need(desk: Desk) -> None:
    desk.suite(desk.grader("A."), desk.verifier("return [check('a', True)]"))
    desk.run()
    expected = desk.summary()["counts"]

    for command in (["--help"], ["show"], ["run", "suite.yaml"], ["run", "suite.yaml", "--dry-run"]):
        code, modules, out = imported(desk, *command)
        assert (code, modules & HEAVY) == (0, set()), command
        assert out
        assert "adjudge" in modules
    assert len(desk.runs) == 2
    assert desk.summary()["counts"] == expected
    assert desk.server.count == 1


def test_a_live_run_in_an_interpreter_of_its_own_ends_without_a_word_on_stderr(desk: Desk) -> None:
    desk.suite(desk.grader("A.", "B."))

    done = subprocess.run(
        [sys.executable, "-m", "adjudge", "run", "suite.yaml", "--json"],
        cwd=desk.path,
        env=desk.environ,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0
    assert json.loads(done.stdout)["calls"] == 2
    assert "Unclosed" not in done.stderr
    assert "never" not in done.stderr


def test_a_reader_that_hangs_up_is_no_failed_grade(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.conversations(*(f"c{n}" for n in range(300)))
    desk.run("--quiet")

    done = subprocess.run(
        f"{sys.executable} -m adjudge export | head -c 10; exit ${{PIPESTATUS[0]}}",
        cwd=desk.path,
        env=desk.environ,
        capture_output=True,
        text=True,
        check=False,
        shell=True,
        executable="/bin/bash",
    )

    assert done.returncode != 1
    assert "Traceback" not in done.stderr


def test_what_a_verifier_prints_is_not_taken_for_a_result(desk: Desk) -> None:
    desk.suite(desk.verifier("print('looking')\nreturn [check('a', True)]"))

    done = desk.run("--json")

    assert json.loads(done.out)["exit_code"] == 0
    assert done.err == "looking\n"


def test_the_suite_that_init_writes_runs(desk: Desk) -> None:
    made = desk.adjudge("init", "mine")
    done = desk.adjudge("run", "mine/suite.yaml", "--judge", "openai/any", "--api-base", desk.server.url)

    assert made.code == 0
    assert "mine/suite.yaml" in made.out
    assert done.code in (0, 1)
    assert desk.summary()["counts"]["errored"] == 0
    assert desk.summary()["calls"] > 0
