"""No secret is ever written down: not in a run, not in a cache, not in an export, not on a screen (S1)."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

import adjudge
from adjudge.testing import Reply, Request, says, verdicts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tests.end_to_end.conftest import Desk

KEY = 'pl4nted/k3y+in:the"environment-0123456789'
HEADER = "pl4nted-h3ader-value-9876543210"
SPLIT = f"{KEY[:15]}\n{KEY[15:]} and {HEADER[:15]}\r\n    {HEADER[15:]}"
BASIC = b64encode(f"user:{KEY}".encode()).decode()
WRITTEN = f"{KEY}, {HEADER}, {SPLIT}, {BASIC}, {quote(KEY)}, {json.dumps(KEY)}"
"""Both secrets, in every way a server might give them back."""

NEEDLES = [KEY[:12], KEY[-12:], HEADER[:12], HEADER[-12:], BASIC[8:20], BASIC[-16:-4], quote(KEY)[:12]]

READING = [
    "show",
    "show --json",
    "show latest c1",
    "show latest c1 --json",
    "rollouts",
    "whatif --threshold 0.5",
    *(f"export --format {form}" for form in ("jsonl", "csv", "junit", "markdown", "result-json")),
    "export --format result-json --to exported",
    "cache stats",
    "cache verify",
    "cache export",
    "cache export exported.jsonl",
    "cache why-miss suite.yaml --judge openai/another",
    "doctor",
    "run suite.yaml --dry-run",
]
"""Every command that shows or writes something of a run."""


def valid(request: Request, words: str) -> Reply:
    citations = [{"turn": 1, "quote": words}]
    rows = [
        {"id": id_, "rationale": words, "citations": citations, "decision": "met"}
        for id_ in request.statements
    ]
    return Reply(text=json.dumps({"verdicts": rows}), model=words)


def told(words: str, status: int) -> Reply:
    return Reply(status=status, body={"error": {"message": words, "code": words}}, headers={"X-Echo": KEY})


SAYINGS: dict[str, Callable[[Request], Reply]] = {
    "an error": lambda _: told(WRITTEN, 500),
    "a refused key": lambda _: told(f"Incorrect API key provided: {WRITTEN}", 401),
    "an error that is no JSON": lambda request: Reply(status=400, body=f"{request.headers} {WRITTEN}"),
    "an error within a 200": lambda _: told(WRITTEN, 200),
    "an error cut off in the middle of a key": lambda _: told(f"{'x' * 285} {KEY}", 400),
    "a redirect": lambda _: Reply(status=307, headers={"Location": f"http://{HEADER}/{KEY[:5]}"}),
    "a malformed reply": lambda _: says(WRITTEN),
    "a long malformed reply": lambda _: says(f"{KEY}{HEADER} " * 400),
    "a refusal": lambda _: Reply(refusal=WRITTEN),
    "an ending": lambda _: says(verdicts({"s1": "met"}), finish=f"{'x' * 45}{KEY}"),
}


def traces(desk: Desk, commands: Sequence[str]) -> list[str]:
    """Where any part of a secret stands: in a file, or in what was said to one of those commands."""
    said: dict[str, bytes] = {}
    for command in commands:
        done = desk.adjudge(*command.split())
        assert "Traceback" not in done.err
        said[command] = (done.out + done.err).encode()
    files = {str(path): path.read_bytes() for path in desk.path.parent.rglob("*") if path.is_file()}
    return [
        f"{needle} in {place}"
        for place, content in (said | files).items()
        for needle in NEEDLES
        if needle.encode() in content
    ]


def planted(desk: Desk) -> None:
    """A suite whose judge has a key and a header, both from the environment."""
    desk.environ |= {"OPENAI_API_KEY": KEY, "GATE": HEADER}
    desk.suite(desk.grader("A."), judges={"main": desk.judge(headers_env={"X-Gate": "GATE"})})


def check(desk: Desk, code: int, *commands: str) -> None:
    """Run the suite, see that both secrets were sent, and find no trace of either."""
    done = desk.run("--junit", "junit.xml")

    assert done.code == code
    assert desk.server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert desk.server.requests[0].headers["x-gate"] == HEADER
    assert traces(desk, ["resume", "show latest c1", *commands]) == []


@pytest.mark.parametrize("saying", SAYINGS)
def test_a_failure_that_gives_secrets_back_leaves_no_trace_of_them(desk: Desk, saying: str) -> None:
    planted(desk)
    desk.answer = SAYINGS[saying]

    check(desk, 3)

    assert "[redacted]" in (desk.runs[0] / "errors.jsonl").read_text()


def test_no_command_shows_a_secret_that_a_failure_gave_back(desk: Desk) -> None:
    planted(desk)
    desk.answer = lambda _: told(WRITTEN, 500)

    check(desk, 3, *READING)


def test_a_verdict_that_gives_the_key_back_leaves_no_trace_of_it(desk: Desk) -> None:
    planted(desk)
    desk.answer = lambda request: valid(request, f"{KEY}, {KEY[:15]}\n{KEY[15:]}, {BASIC}, {quote(KEY)}")

    check(desk, 0, *READING)

    assert "[redacted]" in desk.grades()[0]["statements"][0]["rationale"]


MINE = "h0nter2-is-my-password"


@pytest.mark.parametrize(
    ("judge", "words"),
    [
        ({"params": {"extra_headers": {"Authorization": f"Bearer {MINE}"}}}, "headers_env"),
        ({"params": {"extra_headers": {"X-Gateway-Token": MINE}}}, "headers_env"),
        ({"params": {"extra_body": {"deep": [{"password": MINE}]}}}, "api_key_env"),
        ({"params": {"aws_secret_access_key": MINE}}, "environment variable"),
        ({"params": {"user": f"sk-proj-{MINE}"}}, "environment variable"),
        ({"params": {"api_key": MINE}}, "api_key_env"),
        ({"api_key": MINE}, "api_key_env"),
        ({"api_key_env": MINE}, "environment variable"),
        ({"headers_env": {"X-Gate": MINE}}, "environment variable"),
        ({"api_base": f"http://me:{MINE}@127.0.0.1:9/v1"}, "api_key_env"),
        ({"api_base": f"http://{MINE}@127.0.0.1:9/v1"}, "api_key_env"),
        ({"api_base": f"http://127.0.0.1:9/v1?key={MINE}"}, "headers_env"),
        ({"api_base": f"me:{MINE}@127.0.0.1:9/v1"}, "http://"),
    ],
)
def test_a_secret_in_a_suite_is_refused_and_not_shown_and_its_right_place_is_named(
    desk: Desk, judge: dict[str, Any], words: str
) -> None:
    desk.suite(desk.grader("A."), judges={"main": desk.judge(**judge)})
    before = desk.files()

    done = desk.run()

    assert (done.code, done.out) == (2, "")
    assert "suite.yaml:" in done.err
    assert words in done.err
    assert MINE not in done.err
    assert desk.files() == before


ADDRESS = f"http://me:{MINE}@127.0.0.1:9/v1?key={MINE}"


@pytest.mark.parametrize(
    ("options", "environ"),
    [
        (["--api-base", ADDRESS], {}),
        ([], {"ADJUDGE_API_BASE": ADDRESS}),
        ([], {"OPENAI_BASE_URL": ADDRESS}),
        (["--dry-run"], {"OPENAI_BASE_URL": ADDRESS}),
    ],
)
def test_a_secret_in_an_address_is_refused_wherever_it_comes_from(
    desk: Desk, options: list[str], environ: dict[str, str]
) -> None:
    judge = desk.judge()
    del judge["api_base"]
    desk.suite(desk.grader("A."), judges={"main": judge})
    desk.environ |= environ
    before = desk.files()

    done = desk.run(*options)

    assert (done.code, done.out) == (2, "")
    assert "judge 'main': its address holds" in done.err
    assert MINE not in done.err
    assert desk.files() == before


def test_a_secret_given_to_the_python_interface_is_refused(tmp_path: Path) -> None:
    conversation: dict[str, Any] = {"id": "c1", "messages": []}

    with pytest.raises(adjudge.UsageError, match="its address holds") as caught:
        adjudge.grade(
            conversation, statements=["A."], judge="openai/any", api_base=ADDRESS, cache=tmp_path / "cache"
        )

    assert MINE not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_key_that_can_not_be_sent_is_named_by_its_variable_alone(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.environ["OPENAI_API_KEY"] = f"{MINE}\nX-Evil: 1"

    done = desk.run()

    assert done.code == 2
    assert "OPENAI_API_KEY" in done.err
    assert MINE not in done.err
    assert desk.server.count == 0


def test_a_header_from_the_environment_changes_no_key_and_needs_its_variable(desk: Desk) -> None:
    planted(desk)
    desk.run()
    desk.environ["GATE"] = "another-value"
    assert desk.run().code == 0
    assert desk.server.count == 1
    del desk.environ["GATE"]

    done = desk.run("--refresh")

    assert done.code == 2
    assert "GATE is not set; it must hold the header 'X-Gate'" in done.err
