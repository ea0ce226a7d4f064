"""A browser, and runs served to it by `adjudge review` as a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from adjudge.pipeline.conclude import conclude
from adjudge.pipeline.files import Journal
from adjudge.pipeline.planning.freeze import plan_run
from adjudge.pipeline.rundir import GRADES, Run
from adjudge.pipeline.spent import spent_nothing
from adjudge.pipeline.suite.load import load_suite

ASKS = "The agent asks for the order number."
PROMISES = "The agent never promises a date."


def make_run(
    folder: Path, rows: Iterable[Mapping[str, Any]], grades: Mapping[str, list[dict[str, Any]]], **suite: Any
) -> Run:
    """A concluded run in `folder`/home of native conversations, with the grades of each by its id."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "v.py").write_text(
        "from adjudge import check\n\n\ndef verify(c):\n    return [check('a', True)]\n"
    )
    data = {
        "name": "refund-desk",
        "conversations": ["conversations.jsonl"],
        "judges": {"main": {"model": "openai/any", "api_base": "http://127.0.0.1:9/v1"}},
        "graders": [
            {"name": "behaves", "type": "statements", "judge": "main", "statements": [ASKS, PROMISES]},
            {"name": "books", "type": "checks", "verifier": "v.py:verify"},
        ],
    } | suite
    ids: list[str] = []
    with (folder / "conversations.jsonl").open("w") as file:
        for row in rows:
            ids.append(row["id"])
            file.write(json.dumps(row) + "\n")
    (folder / "suite.yaml").write_text(json.dumps(data))
    run = plan_run(load_suite(folder / "suite.yaml"), folder / "home")
    with Journal(run.file(GRADES)) as journal:
        for number, id_ in enumerate(ids):
            for grade in grades.get(id_, []):
                journal.append(json.dumps({"number": number, "grade": grade}).encode())
    conclude(run, run.plan())
    return run


def statement(
    place: int, text: str, decision: str | None = "met", *, error: str | None = None, **more: Any
) -> dict[str, Any]:
    """A judged statement, live and by the judge `main` unless told otherwise."""
    row: dict[str, Any] = {
        "id": f"s{place}",
        "text": text,
        "required": False,
        "decision": decision,
        "counted": True,
        "rationale": None if decision is None else "Because it says so.",
        "citations": [],
        "error": failure(error) if error else None,
        "cached": False,
        "source": None if error else "live",
        "verdict_key": "0" * 64,
        "judge": "main",
        "model": "openai/any",
        "served_model": "any-2026",
        "attempts": 1,
        "usage": {"input_tokens": 900, "output_tokens": 40, "cached_input_tokens": 0},
        "cost_usd": 0.0012,
    }
    return row | more


def failure(cause: str, message: str = "it went wrong") -> dict[str, Any]:
    """An error of that cause."""
    return {"cause": cause, "message": message, "retryable": cause == "unavailable"}


def grade(statements: list[dict[str, Any]], name: str = "behaves", threshold: float = 1.0) -> dict[str, Any]:
    """The grade that judged statements make."""
    errors = [row for row in statements if row["error"]]
    met = sum(row["decision"] == "met" for row in statements)
    score = None if errors else met / len(statements)
    return {
        "grader": name,
        "grader_version": "1",
        "type": "statements",
        "gating": True,
        "result": "errored" if score is None else "passed" if score >= threshold else "failed",
        "score": score,
        "met": None if errors else met,
        "total": len(statements),
        "threshold": threshold,
        "error": errors[0]["error"] if errors else None,
        "spent": spent_nothing(),
        "statements": statements,
    }


def checks_grade(*checks: tuple[str, bool, str]) -> dict[str, Any]:
    """The grade that checks make, of label, whether it passed, and detail."""
    met = sum(passed for _, passed, _ in checks)
    rows = [
        {"label": label, "passed": passed, "detail": detail, "required": True}
        for label, passed, detail in checks
    ]
    return {
        "grader": "books",
        "grader_version": "1",
        "type": "checks",
        "gating": True,
        "result": "passed" if met == len(checks) else "failed",
        "score": met / len(checks),
        "met": met,
        "total": len(checks),
        "threshold": 1.0,
        "error": None,
        "spent": spent_nothing(),
        "checks": rows,
    }


HOSTILE = (
    "<script>window.ran = 1</script><img src=x onerror='window.ran = 1'><!--<script></title></textarea>"
    "<svg/onload='window.ran = 1'></style>"
    "\u202egnp.exe zero\u200bwidth \x1b[31mred\x1b[0m {{7*7}} javascript:alert(1)"
)


def turn(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


REFUND = [
    turn("system", "You are the refund desk. Refunds above 100 euros need a manager."),
    turn("user", "I want my money back for the blue kettle.", timestamp="2026-11-30T10:00:00Z"),
    turn("assistant", "Of course. What is your “order number”, please?"),
    turn("user", "It is A-1001, and A-1002."),
    turn(
        "assistant",
        "One moment.",
        tool_calls=[
            {"id": "a", "name": "find_order", "arguments": {"id": "A-1001"}},
            {"id": "b", "name": "find_order", "arguments": {"id": "A-1002"}},
        ],
    ),
    turn("tool", '{"price": 40, "item": "kettle"}', tool_call_id="a"),
    turn("tool", None, tool_call_id="b", error="no such order"),
    turn("assistant", "Your refund of 40 euros is on its way.\nIs there anything else?"),
]


def cites(turn_: int, quote: str, verified: bool = True) -> dict[str, Any]:
    return {"turn": turn_, "quote": quote, "verified": verified}


def vote(judge: str, decision: str) -> dict[str, Any]:
    return {
        "judge": judge,
        "model": f"openai/{judge}",
        "sample": 0,
        "decision": decision,
        "rationale": f"{judge} thinks so.",
        "error": None,
        "cached": False,
        "verdict_key": "1" * 64,
    }


def desk_run(folder: Path) -> Run:
    """Six conversations: passed, failed, errored, split and unverified, hostile, and one without a trace."""
    asked = statement(1, ASKS, citations=[cites(3, 'What is your "order number", please?')])
    found = statement(
        2,
        PROMISES,
        citations=[cites(6, '{"price": 40, "item": "kettle"}'), cites(8, "is on its way. Is there")],
    )
    books = checks_grade(("refunds once", True, "1 refund"), ("books balance", True, ""))
    grades = {
        "passed-1": [grade([asked, found]), books],
        "failed-1": [
            grade([asked, statement(2, PROMISES, "not_met", required=True)]),
            checks_grade(("refunds once", False, "2 refunds"), ("books balance", True, "")),
        ],
        "errored-1": [grade([statement(1, ASKS, None, error="unavailable", cost_usd=None), found]), books],
        "split-1": [
            grade(
                [
                    statement(
                        1,
                        ASKS,
                        judge="one+two+three",
                        votes=[vote("one", "met"), vote("two", "not_met"), vote("three", "met")],
                        citations=[cites(3, "words nobody said", verified=False)],
                    ),
                    statement(
                        2,
                        PROMISES,
                        source="recorded",
                        windows=[
                            {
                                "window": 1,
                                "first_turn": 1,
                                "last_turn": 5,
                                "does_not_show": ["turns 6 to 8"],
                                "cut": [],
                                "decision": "met",
                                "rationale": "No date here.",
                                "error": None,
                                "cached": False,
                                "verdict_key": "2" * 64,
                            }
                        ],
                    ),
                ]
            ),
            books,
        ],
        "hostile-1": [
            grade(
                [
                    statement(
                        1,
                        HOSTILE,
                        "not_met",
                        rationale=HOSTILE,
                        citations=[cites(1, HOSTILE)],
                        model=HOSTILE,
                        served_model=HOSTILE,
                    ),
                    statement(2, PROMISES, None, error="refusal")
                    | {"error": failure("refusal", f"the model said {HOSTILE}")},
                ]
            ),
            checks_grade((HOSTILE, False, HOSTILE)),
        ],
    }
    rows = [
        {"id": "passed-1", "messages": REFUND, "test": "refund", "rollout": 1},
        {"id": "failed-1", "messages": REFUND[:4], "test": "refund", "rollout": 2},
        {"id": "errored-1", "messages": [*REFUND[:-1], turn("assistant", "The zebra is refunded.")]},
        {"id": "split-1", "messages": REFUND, "test": "split"},
        {
            "id": "hostile-1",
            "messages": [
                turn("user", HOSTILE),
                turn(
                    "assistant",
                    HOSTILE,
                    tool_calls=[{"id": "x", "name": HOSTILE, "arguments": {"a": HOSTILE}}],
                ),
                turn("tool", HOSTILE, tool_call_id="x", name=HOSTILE),
                turn("assistant", "long " + "x" * 1_000_000 + " the needle at the end"),
            ],
            "test": HOSTILE,
            "termination_reason": HOSTILE,
        },
        {"id": "no-trace-1", "status": "failed", "error": "the agent crashed", "messages": REFUND[:2]},
    ]
    return make_run(folder, rows, grades)


CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@dataclass(frozen=True, kw_only=True)
class Served:
    """A run that is being reviewed."""

    address: str
    labels: Path
    process: subprocess.Popen[str]

    @property
    def port(self) -> int:
        """The port it is served at."""
        return int(self.address.split(":")[2].split("/")[0])

    @property
    def token(self) -> str:
        """The secret in its address."""
        return self.address.split("/")[3]


Serve = Callable[..., AbstractContextManager[Served]]
NewPage = Callable[..., Page]


@contextmanager
def served(run: Run, labels: Path, *options: str) -> Generator[Served]:
    """Serve `run`, with labels of Ann in `labels`."""
    command = [sys.executable, "-m", "adjudge", "review", str(run.path), "--labels", str(labels)]
    command += ["--reviewer", "Ann", "--no-open", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[-1]
        try:
            yield Served(address=address, labels=labels, process=process)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait()


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The run with a bit of everything."""
    return desk_run(tmp_path_factory.mktemp("desk"))


@pytest.fixture
def serve(run: Run, tmp_path: Path) -> Serve:
    """Serves that run, with a file of labels of the test's own."""
    return lambda *options: served(run, tmp_path / "labels.jsonl", *options)


@pytest.fixture(scope="session")
def read_only(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    """That run, served for tests that label nothing."""
    with served(run, tmp_path_factory.mktemp("labels") / "labels.jsonl") as it:
        yield it


@pytest.fixture(scope="session")
def labelled(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    """That run, served for tests that mind no labels but their own."""
    with served(run, tmp_path_factory.mktemp("labels") / "labels.jsonl") as it:
        yield it


@pytest.fixture(scope="module")
def browser() -> Generator[Browser]:
    """Chromium. Of a module, not the session: while it is open, no test can run an event loop of its own."""
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine; install it, such as by `apt-get install chromium`")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Pages:
    """Pages of a browser, one for each size and scheme, and what they complained of."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._pages: dict[tuple[int, int, bool], Page] = {}
        self.complaints: list[str] = []

    def open(self, address: str, *, width: int = 1440, height: int = 900, dark: bool = False) -> Page:
        """Open an address and wait until the page is ready."""
        key = width, height, dark
        if key not in self._pages:
            self._pages[key] = self._new(*key)
        page = self._pages[key]
        page.goto("about:blank")
        page.goto(address)
        page.wait_for_selector("body[data-ready]")
        return page

    def _new(self, width: int, height: int, dark: bool) -> Page:
        context = self._browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
        )
        page = context.new_page()
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        return page


@pytest.fixture(scope="module")
def pages(browser: Browser) -> Pages:
    """The pages of a module: opening another address is quicker than another window."""
    return Pages(browser)


@pytest.fixture
def new_page(pages: Pages) -> Generator[NewPage]:
    """Opens an address and waits until the page is ready; anything it complains of fails the test."""
    pages.complaints.clear()
    yield pages.open
    assert pages.complaints == []


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="


@pytest.fixture(scope="module")
def pictured(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    """A run of a conversation with an image that was passed on, and with reasoning that was not."""
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
    thought = {"type": "reasoning", "text": "secretive"}
    messages = [turn("user", [image]), turn("assistant", [thought, {"type": "text", "text": "A dot."}])]
    folder = tmp_path_factory.mktemp("pictured")
    row = {"id": "dot", "messages": messages}
    run = make_run(folder, [row], {"dot": [grade([statement(1, ASKS)])]}, evidence={"media": "pass"})
    with served(run, folder / "labels.jsonl") as it:
        yield it


MANY = 10_000


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of ten thousand conversations, each with a passing grade."""
    names = [f"c{number:05}" for number in range(MANY)]
    rows = [
        {"id": name, "messages": [{"role": "user", "content": f"This is number {name}."}]} for name in names
    ]
    passed = grade([statement(1, ASKS)])
    suite = {
        "graders": [{"name": "behaves", "type": "statements", "judge": "main", "statements": [ASKS]}],
    }
    return make_run(tmp_path_factory.mktemp("many"), rows, {name: [passed] for name in names}, **suite)


@pytest.fixture(scope="session")
def many_served(many: Run, tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with served(many, tmp_path_factory.mktemp("labels") / "labels.jsonl") as it:
        yield it
