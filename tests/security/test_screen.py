"""What conversations, judges, files and caches say is shown on a terminal, never obeyed by one (S4, S15)."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from adjudge.judges.ledger.record import decode, encode
from adjudge.judges.request import canonical_json, digest
from adjudge.pipeline.display import visible
from adjudge.testing import Reply, Request

if TYPE_CHECKING:
    from tests.end_to_end.conftest import Desk, NewDesk

EVIL = (
    "\x1b[2J\x1b[1;1H"  # clears the screen
    "\x1b]8;;http://127.0.0.1:9/\x07click\x1b]8;;\x07"  # a link
    "\x1b]52;c;aGk=\x07"  # the clipboard
    "FAIL\rPASS"  # overwrites
    "\x9b31m"  # the same as ESC [, in one character
    "\u202eevil\u200b\u2060"  # turns the direction of writing, hides
    "\nadjudge: warning: forged\u2028forged\x08\x7f\x00"
)
ID = EVIL.replace("\x00", "")  # which no argument can hold
SEEN = visible(ID)
ALLOWED = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\x1b\[2K|\x1b\[1A|\r")
"""What adjudge itself sends: colours, and what a progress bar is redrawn with."""


def reply(request: Request) -> Reply:
    words = EVIL.replace("\x00", "")  # which no reply may hold
    rows = [
        {
            "id": id_,
            "rationale": words,
            "citations": [{"turn": 1, "quote": words}],
            "decision": "met" if statement == "A." else "not_met",
        }
        for id_, statement in request.statements.items()
    ]
    return Reply(text=json.dumps({"verdicts": rows}), model=words)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, new_desk: NewDesk) -> Generator[Desk]:
    """A desk with a run in which everything that can hold text holds commands for a terminal."""
    with new_desk(tmp_path_factory.mktemp("screen") / "desk") as desk:
        desk.answer = reply
        text = dict.fromkeys(("test", "agent_output", "error", "termination_reason"), EVIL)
        said = [{"role": "user", "content": EVIL}, {"role": "assistant", "content": EVIL}]
        graded: dict[str, Any] = {"messages": said, "statements": {"behaves": [f"It is so: {EVIL}"]}, **text}
        rows: list[dict[str, Any]] = [
            {"id": f"c1{ID}", **graded, "rollout": 1},
            {"id": f"c2{ID}", **graded, "rollout": 2},
            {"id": f"c3{ID}", **graded, "status": "failed"},
            {"id": f"c4{ID}", EVIL: "a key that nobody knows"},
            {"id": f"c1{ID}"},
        ]
        desk.conversations(*rows, file="\x1b[2J\u202enamed.jsonl")
        label = {"conversation_id": f"c1{ID}", "statement": "A.", "label": "not_met", "note": EVIL}
        (desk.path / "labels.jsonl").write_text(json.dumps(label) + "\n")
        checked = desk.verifier(f"return [check(conversation.id, False, {EVIL!r})]")
        files = ["*named.jsonl", "conversations.jsonl"]
        desk.suite(desk.grader("A."), checked, conversations=files, labels=["labels.jsonl"])
        done = desk.run()
        assert done.code == 1, done
        yield desk


def on_a_terminal(desk: Desk, *arguments: str) -> str:
    """What `adjudge` sends to a terminal, on either stream."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "adjudge", *arguments],
        cwd=desk.path,
        env={**desk.environ, "TERM": "xterm-256color", "PYTHONPATH": str(Path(__file__).parents[2])},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    pieces: list[bytes] = []
    with suppress(OSError):  # the other end was closed
        while piece := os.read(ours, 1 << 16):
            pieces.append(piece)
    os.close(ours)
    process.wait()
    return b"".join(pieces).decode()


def shown(text: str) -> str:
    """What is to be seen of what was sent; everything that would act is a failure."""
    plain = ALLOWED.sub("", text)
    assert visible(plain, keep="\n") == plain
    return plain


@pytest.mark.parametrize(
    "command",
    [
        ["show"],
        ["show", "latest", f"c1{ID}"],
        ["rollouts"],
        ["whatif", "--threshold", "0.5"],
        ["run", "suite.yaml", "--offline"],
        ["export", "--format", "jsonl"],
        ["cache", "export"],
        ["convert", "\x1b[2J\u202enamed.jsonl"],
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_a_terminal_is_sent_nothing_but_text_and_colours(hostile: Desk, command: list[str]) -> None:
    assert shown(on_a_terminal(hostile, *command))


COMMANDS = {
    "show --json": "",
    "rollouts": SEEN,
    "whatif --threshold behaves=0.5": SEEN,
    "whatif --threshold behaves=0.5 --json": "c1",
    "export --format csv": r"\x1b[2J",
    "export --format junit": SEEN,
    "export --format markdown": SEEN,
    "export --format jsonl": r"\u001b[2J",
    "conversations {file}": SEEN,
    "convert {file} --to converted.json": "",
    "cache stats": "model openai/any: ",
    "cache verify": "sound",
    "cache why-miss suite.yaml --judge openai/another": SEEN,
    "doctor": "",
    "run suite.yaml": f"c1{SEEN} behaves s1: a person says not_met, the judge met",
    "run suite.yaml --json": "",
    "run suite.yaml --dry-run --json": "",
    "show latest {file}": visible("\x1b[2J\u202enamed.jsonl"),
}
"""Commands, and what of the hostile text stands in what they say."""


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_says_anything_that_acts_or_hides(hostile: Desk, command: str) -> None:
    words = [word.replace("{file}", "\x1b[2J\u202enamed.jsonl") for word in command.split()]

    done = hostile.adjudge(*words)

    assert "Traceback" not in done.err
    for said in (done.out, done.err):
        assert visible(said, keep="\n\t") == said
    assert COMMANDS[command] in done.out + done.err


def test_a_conversation_is_found_by_its_id_whatever_that_is(hostile: Desk) -> None:
    done = hostile.adjudge("show", "latest", f"c1{ID}")

    assert done.code == 0
    assert done.out.startswith(f"  Conversation  c1{SEEN}\n")
    assert [row["conversation_id"] for row in hostile.results()] == [*(f"c{n}{ID}" for n in (1, 2, 3)), "c1"]


def test_a_warning_is_one_line_whatever_it_is_about(hostile: Desk) -> None:
    done = hostile.run("--quiet")

    assert len(done.err.splitlines()) == 2
    for line in done.err.splitlines():
        assert line.startswith(r"adjudge: warning: \x1b[2J\u202enamed.jsonl:")
    assert "forged" in done.err


def test_every_line_of_a_journal_is_one_event_whatever_it_is_about(hostile: Desk) -> None:
    for name in ("grades.jsonl", "errors.jsonl", "results.jsonl", "conversations.jsonl"):
        content = (hostile.runs[0] / name).read_bytes()
        assert len([json.loads(line) for line in content.splitlines()]) == content.count(b"\n")


@pytest.mark.parametrize("place", ["created", "key", "extra"])
def test_a_hostile_recording_and_a_hostile_cache_say_nothing_that_acts(desk: Desk, place: str) -> None:
    desk.suite(desk.grader("A."))
    desk.run()
    desk.adjudge("cache", "export", "recorded.jsonl")
    path = desk.path / "recorded.jsonl"
    row = json.loads(path.read_text())
    if place == "created":
        row["created"] = "2026-11-30\x9b12:00:00+00:00"
    elif place == "key":
        row["fields"]["model"] = row["fields"]["output"] = f"openai/any{EVIL}"
        row["key"] = digest(canonical_json(row["fields"]))
        row["verdicts"][0]["rationale"] = EVIL
    else:
        row[EVIL] = 1
    line = json.dumps(row)
    path.write_text(line if place == "extra" else encode(decode(line)).decode() + "\n")
    desk.suite(desk.grader("A.", "B."), recorded=["recorded.jsonl"])

    for words in (
        ["cache", "import", "recorded.jsonl", "--cache", "other"],
        ["cache", "stats", "--cache", "other"],
        ["cache", "verify", "--cache", "other"],
        ["cache", "why-miss", "suite.yaml", "--cache", "other"],
        ["run", "suite.yaml", "--cache", "other"],
    ):
        done = desk.adjudge(*words)
        assert "Traceback" not in done.err
        assert visible(done.out + done.err, keep="\n") == done.out + done.err
