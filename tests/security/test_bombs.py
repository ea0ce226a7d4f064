"""Files made to use up time or memory are refused at little cost (S8, S12)."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from adjudge.testing import Reply

if TYPE_CHECKING:
    from tests.end_to_end.conftest import Desk

MEGABYTE = 1024  # in the units of ru_maxrss
REPOSITORY = Path(__file__).parents[2]


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a command said and took: seconds of processor time, peak memory in kB."""

    code: int
    err: str
    seconds: float
    memory: int


def cost(folder: Path, *command: str) -> Cost:
    """Run `adjudge` in a process of its own and see what it takes."""
    with (folder / "err").open("wb+") as err:
        process = subprocess.Popen(
            [sys.executable, "-m", "adjudge", *command],
            cwd=folder,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(REPOSITORY)},
            stdout=subprocess.DEVNULL,
            stderr=err,
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        said = err.read().decode()
    seconds = used.ru_utime + used.ru_stime
    return Cost(code=process.returncode, err=said, seconds=seconds, memory=used.ru_maxrss)


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 30)


def holding(text: str) -> Callable[[Path], object]:
    return lambda path: path.write_text(text)


SUITES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a bomb of aliases": (
        holding((REPOSITORY / "tests/data/nasty/alias_bomb.yaml").read_text()),
        "is not allowed",
    ),
    "a file of 1 GB": (sparse, "larger than 1 MiB"),
    "flow collections 100,000 deep": (holding("graders: " + "[" * 100_000), "exceeded maximum nesting depth"),
    "block collections 1,000 deep": (
        holding("\n".join(" " * depth + "a:" for depth in range(1000))),
        "nested more than 32 deep",
    ),
    "80,000 keys": (holding("".join(f"k{n}: 1\n" for n in range(80_000))), "more than 50000 values"),
    "10,000 mistakes": (
        holding("graders: [" + "{name: g, type: x}, " * 10_000 + "]"),
        "more problems, not listed",
    ),
    "tags that would run code": (
        holding('graders: !!python/object/apply:os.system ["touch executed"]\n'),
        "tag 'tag:yaml.org,2002:python/object/apply:os.system' is not allowed",
    ),
    "a merge key": (holding("base: &b {a: 1}\ngraders:\n  <<: *b\n"), "merge key '<<' is not allowed"),
    "a number of 900,000 digits": (holding("name: " + "9" * 900_000), "more than 18 digits"),
    "a text of 1 MB": (holding("name: '" + "x" * 1_000_000 + "'"), "graders"),
    "a key of 1 MB": (holding('? "' + "x" * 1_000_000 + '"\n: 1\n'), "graders"),
    "20,000 anchors": (holding("graders:\n" + "  - &a x\n" * 20_000), "anchor '&a' is not allowed"),
    "an endless device": (lambda path: path.symlink_to("/dev/zero"), "larger than 1 MiB"),
}


@pytest.fixture(scope="module")
def ordinary(tmp_path_factory: pytest.TempPathFactory) -> Cost:
    """What it takes to refuse a small suite with a small mistake."""
    folder = tmp_path_factory.mktemp("ordinary")
    (folder / "suite.yaml").write_text("graders: [{name: g, type: statements, judge: j}]\n")
    return cost(folder, "run", "suite.yaml")


@pytest.mark.parametrize("name", SUITES)
def test_a_hostile_suite_is_refused_within_a_second_and_50_megabytes(
    tmp_path: Path, ordinary: Cost, name: str
) -> None:
    make, words = SUITES[name]
    make(tmp_path / "suite.yaml")

    found = cost(tmp_path, "run", "suite.yaml")

    assert found.code == ordinary.code == 2
    assert words in found.err
    assert found.err.startswith("adjudge: suite.yaml")
    assert len(found.err) < 40_000
    assert found.seconds - ordinary.seconds < 1
    assert found.memory - ordinary.memory < 50 * MEGABYTE
    assert {path.name for path in tmp_path.iterdir()} == {"suite.yaml", "err"}


def test_a_conversation_of_10_megabytes_and_one_of_10_000_turns_err_after_one_call(desk: Desk) -> None:
    too_long = {
        "error": {"message": "maximum context length is 8192 tokens", "code": "context_length_exceeded"}
    }
    desk.answer = lambda request: Reply(status=400, body=too_long) if len(request.body) > 100_000 else Reply()
    turns = [{"role": "user", "content": f"{n}"} for n in range(10_000)]
    huge = [{"role": "user", "content": "x" * (10 << 20)}]
    desk.conversations("c1", {"id": "c2", "messages": huge}, {"id": "c3", "messages": turns})
    desk.suite(desk.grader("A."), judges={"main": desk.judge(attempts=4)})

    assert desk.run().code == 3
    assert [grade["result"] for grade in desk.grades()] == ["passed", "errored", "errored"]
    assert [grade["error"]["cause"] for grade in desk.grades()[1:]] == ["input_too_long"] * 2
    assert desk.server.count == 3
    assert max(path.stat().st_size for path in desk.runs[0].glob("[!c]*")) < 1_000_000


def test_memory_does_not_grow_with_the_number_of_long_conversations(tmp_path: Path) -> None:
    suite = {
        "conversations": ["*.jsonl"],
        "judges": {"main": {"model": "openai/any", "max_concurrency": 1}},
        "graders": [{"name": "g", "type": "statements", "judge": "main", "statements": ["A."]}],
    }
    (tmp_path / "suite.yaml").write_text(json.dumps(suite))
    messages = [{"role": "user", "content": "x" * (4 << 20)}]
    peaks: list[int] = []
    for count in (2, 24):
        for number in range(count):
            line = json.dumps({"id": f"c{number}", "messages": messages})
            (tmp_path / f"{number:02}.jsonl").write_text(line)
        found = cost(tmp_path, "run", "suite.yaml", "--dry-run")
        assert found.code == 0, found.err
        peaks.append(found.memory)

    assert peaks[1] - peaks[0] < 50 * MEGABYTE


def test_the_units_of_memory_are_kilobytes() -> None:
    assert 1 * MEGABYTE < resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 10_000 * MEGABYTE
