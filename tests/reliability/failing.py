"""The program that commands are forks of, where what they do to files can fail and clocks can jump.

The environment of a command says how:

- `FAIL=die:7`: it is killed at its 7th step. Steps are writes, fsyncs, renames, truncations and removals of
  files, and the commits of SQLite. A write that is killed has written half of its bytes.
- `FAIL=full:7`: from its 7th step on, other than commits, writes and fsyncs find no space left.
- `FAIL=once:7`: only its 7th step, other than commits, does.
- `JUMPS=-3600,86400,0`: each look at the wall clock sees it so many seconds wrong, in turn.
- `GRACE=0.2`: calls in flight have so many seconds to finish after a signal.
"""

from __future__ import annotations

import errno
import io
import os
import signal
import sqlite3
import sys
from collections.abc import Callable
from datetime import datetime, timedelta, tzinfo
from importlib.util import module_from_spec, spec_from_file_location
from itertools import cycle
from pathlib import Path
from typing import Any, Self

import adjudge.judges.ledger.judge
import adjudge.pipeline.grading.leg
import adjudge.pipeline.planning.freeze
import adjudge.pipeline.rundir
from adjudge.pipeline.grading import session


class Steps:
    """Counts what a command does to files, and lets one step fail."""

    def __init__(self, how: str, which: int) -> None:
        self._how, self._which, self._count = how, which, 0

    def take(self, *, fails: bool = True) -> bool:
        """Whether to die now; the other ways to fail are an error of this step, if it `fails` at all."""
        self._count += fails or self._how == "die"
        if self._how == "die":
            return self._count == self._which
        if fails and (self._count == self._which or (self._how == "full" and self._count > self._which)):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return False

    def write(self, real: Callable[[Any, Any], int]) -> Callable[[Any, Any], int]:
        """`real`, a write to what its first argument says, as a step."""

        def write(to: Any, data: Any) -> int:
            if self.take():
                real(to, memoryview(data)[: len(data) // 2])
                die()
            return real(to, data)

        return write

    def before(self, real: Callable[..., Any], *, fails: bool = True) -> Callable[..., Any]:
        """`real` as a step, at which it is not done if the command dies."""

        def step(*args: Any, **kwargs: Any) -> Any:
            if self.take(fails=fails):
                die()
            return real(*args, **kwargs)

        return step

    def install(self) -> None:
        """Count from now on."""
        raw_write = self.write(io.FileIO.write)

        class Raw(io.FileIO):
            def write(self, data: Any, /) -> int:
                return raw_write(self, data)

        def fdopen(descriptor: int, mode: str) -> Any:
            return io.BufferedWriter(Raw(descriptor, mode)) if "w" in mode else open_(descriptor, mode)

        def connect(*args: Any, **kwargs: Any) -> sqlite3.Connection:
            connection = open_database(*args, **kwargs)
            connection.set_trace_callback(commits)
            return connection

        def commits(sql: str) -> None:
            if sql == "COMMIT" and self.take(fails=False):
                die()

        os.write = self.write(os.write)
        os.fsync = self.before(os.fsync)
        for name in ("replace", "rename", "ftruncate", "unlink"):
            setattr(os, name, self.before(getattr(os, name), fails=False))
        open_, os.fdopen = os.fdopen, fdopen
        open_database, sqlite3.connect = sqlite3.connect, connect


def die() -> None:
    """End like a process that is killed, in whatever thread."""
    os.kill(os.getpid(), signal.SIGKILL)


def let_the_clock_jump(jumps: list[float]) -> None:
    """Let the wall clock be wrong by each of `jumps` in turn. What adjudge waits by is another clock."""
    wrong = cycle(jumps)

    class Jumping(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return super().now(tz) + timedelta(seconds=next(wrong))

    for module in (
        adjudge.judges.ledger.judge,
        adjudge.pipeline.grading.leg,
        adjudge.pipeline.planning.freeze,
        adjudge.pipeline.rundir,
    ):
        vars(module)["datetime"] = Jumping


def forking() -> Any:
    """The program of the end-to-end tests."""
    path = Path(__file__).parents[1] / "end_to_end" / "forking.py"
    spec = spec_from_file_location("forking", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def serve() -> None:
    """Carry out orders, with what their environments ask for."""
    program = forking()
    sound = program.main

    def main() -> int:
        if "FAIL" in os.environ:
            how, _, which = os.environ["FAIL"].partition(":")
            Steps(how, int(which)).install()
        if "JUMPS" in os.environ:
            let_the_clock_jump([float(jump) for jump in os.environ["JUMPS"].split(",")])
        if "GRACE" in os.environ:
            session.GRACE_SECONDS = float(os.environ["GRACE"])
        return sound()

    program.main = main
    program.serve()


if __name__ == "__main__":
    serve()
