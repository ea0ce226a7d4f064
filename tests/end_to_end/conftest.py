"""A desk to run suites at: files in a fresh directory, a model server on loopback, commands as processes."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

import pytest

from adjudge.testing import FaultServer, Reply, Request

PROGRAM = Path(__file__).with_name("forking.py")
ENVIRON = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "OPENAI_API_KEY": "sk-test-0000"}


@dataclass(frozen=True, kw_only=True)
class Done:
    """A command that ended: its exit code (negative: the signal that ended it) and what it said."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, kw_only=True)
class Running:
    """A command that runs."""

    pid: int
    out: Path
    err: Path
    told: IO[str]

    def signal(self, number: int) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def wait(self) -> Done:
        """Wait for its end."""
        with self.told:
            code = int(self.told.readline())
        return Done(code=code, out=self.out.read_text(), err=self.err.read_text())

    def wait_until_said(self, words: str) -> None:
        """Wait until `words` stand on its standard error; its end is the end of waiting, too."""
        while words not in self.err.read_text() and Path(f"/proc/{self.pid}").exists():
            threading.Event().wait(0.01)


class Forker:
    """Starts commands as forks of a process that has imported everything."""

    def __init__(self) -> None:
        self._orders, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen([sys.executable, str(PROGRAM)], stdin=theirs.fileno())

    def start(
        self, *arguments: str, cwd: Path, streams: Path, environ: Mapping[str, str], largest_file: int | None
    ) -> Running:
        """Start `adjudge` with `arguments`; its output goes to files beginning with `streams`."""
        order = {
            "arguments": arguments,
            "cwd": str(cwd),
            "environ": dict(environ),
            "largest_file": largest_file,
        }
        out, err = Path(f"{streams}.out"), Path(f"{streams}.err")
        read, write = os.pipe()
        with out.open("wb") as to, err.open("wb") as errors:
            socket.send_fds(self._orders, [json.dumps(order).encode()], [to.fileno(), errors.fileno(), write])
        os.close(write)
        told = os.fdopen(read)
        return Running(pid=int(told.readline()), out=out, err=err, told=told)

    def close(self) -> None:
        """Hang up and wait for its end."""
        self._orders.close()
        self._process.wait()


@dataclass(kw_only=True)
class Desk:
    """A directory with a suite and its conversations, and a model server that does what it is told.

    Attributes:
        path: the working directory of commands.
        server: what the suite's judges ask.
        answer: what the server does with a request.
        environ: the commands' environment.
    """

    path: Path
    server: FaultServer
    forker: Forker
    answer: Callable[[Request], Reply] = lambda _: Reply()
    environ: dict[str, str] = field(default_factory=lambda: dict(ENVIRON))
    started: int = 0

    def decide(self, decisions: Mapping[str, str]) -> None:
        """Let the model decide so by statement text; anything else is met."""
        self.answer = lambda _: Reply(decision=decisions)

    def judge(self, **more: Any) -> dict[str, Any]:
        """A judge that asks the server."""
        plain = {"model": "openai/any", "api_base": self.server.url, "attempts": 1, "max_concurrency": 8}
        return plain | more

    def grader(self, *statements: str | dict[str, Any], **more: Any) -> dict[str, Any]:
        """A `statements` grader, called `behaves` unless told otherwise."""
        return {"name": "behaves", "type": "statements", "judge": "main", "statements": statements} | more

    def verifier(self, body: str, **more: Any) -> dict[str, Any]:
        """A `checks` grader, called `checked`, whose verifier is a function with that body."""
        grader = {"name": "checked", "type": "checks"} | more
        lines = "".join(f"    {line}\n" for line in body.splitlines())
        source = f"from adjudge import check, optional\n\n\ndef verify(conversation):\n{lines}"
        (self.path / f"{grader['name']}.py").write_text(source)
        return grader | {"verifier": f"{grader['name']}.py:verify"}

    def suite(self, *graders: dict[str, Any], **more: Any) -> None:
        """Write `suite.yaml` (JSON is YAML) with a judge called `main`."""
        data = {
            "name": "suite",
            "conversations": ["conversations.jsonl"],
            "judges": {"main": self.judge()},
            "graders": graders,
        } | more
        (self.path / "suite.yaml").write_text(json.dumps(data, indent=1))

    def conversations(self, *rows: str | dict[str, Any], file: str = "conversations.jsonl") -> None:
        """Write conversations: native rows, or ids of conversations whose evidence says `This is <id>.`."""
        lines = [json.dumps(self.conversation(row) if isinstance(row, str) else row) for row in rows]
        (self.path / file).write_text("".join(f"{line}\n" for line in lines))

    def conversation(self, id_: str, **more: Any) -> dict[str, Any]:
        """A small conversation."""
        messages = [
            {"role": "user", "content": f"This is {id_}."},
            {"role": "assistant", "content": "Hello, what is your order number?"},
        ]
        return {"id": id_, "messages": messages} | more

    def start(self, *arguments: str, largest_file: int | None = None) -> Running:
        """Start `adjudge` with `arguments`."""
        self.started += 1
        streams = self.path.parent / f"{self.path.name}-{self.started}"
        return self.forker.start(
            *arguments, cwd=self.path, streams=streams, environ=self.environ, largest_file=largest_file
        )

    def adjudge(self, *arguments: str, largest_file: int | None = None) -> Done:
        """Run `adjudge` with `arguments`."""
        return self.start(*arguments, largest_file=largest_file).wait()

    def run(self, *options: str) -> Done:
        """Run the suite."""
        return self.adjudge("run", "suite.yaml", *options)

    @property
    def runs(self) -> list[Path]:
        """The directories of all runs, oldest first, with whatever else lies beside them."""
        folder = self.path / ".adjudge" / "runs"
        return sorted(folder.iterdir()) if folder.exists() else []

    def results(self, run: Path | None = None) -> list[dict[str, Any]]:
        """The rows of `results.jsonl`, of the last run if none is named."""
        lines = ((run or self.runs[-1]) / "results.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def grades(self, name: str = "behaves") -> list[dict[str, Any]]:
        """The last run's grades by that grader, by conversation."""
        return [grade for row in self.results() for grade in row["grades"] if grade["grader"] == name]

    def summary(self, run: Path | None = None) -> dict[str, Any]:
        """`summary.json`, of the last run if none is named."""
        return json.loads(((run or self.runs[-1]) / "summary.json").read_text())

    def files(self) -> set[str]:
        """Everything that lies below the desk."""
        return {path.relative_to(self.path).as_posix() for path in self.path.rglob("*")}


@pytest.fixture(scope="session")
def forker() -> Generator[Forker]:
    """One for all tests."""
    forker = Forker()
    yield forker
    forker.close()


NewDesk = Callable[[Path], AbstractContextManager[Desk]]


@pytest.fixture(scope="session")
def new_desk(forker: Forker) -> NewDesk:
    """Makes a desk at a path, with one conversation, `c1`, and no suite yet."""

    @contextmanager
    def make(path: Path) -> Generator[Desk]:
        path.mkdir()

        def script(request: Request) -> Reply:
            return desk.answer(request)

        with FaultServer(script) as server:
            desk = Desk(path=path, server=server, forker=forker)
            desk.conversations("c1")
            yield desk

    return make


@pytest.fixture
def desk(new_desk: NewDesk) -> Generator[Desk]:
    """A desk for one test, in memory where that is possible: most of a small run is waiting for a disk."""
    memory = Path("/dev/shm")
    with (
        TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder,
        new_desk(Path(folder) / "desk") as desk,
    ):
        yield desk
