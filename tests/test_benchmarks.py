"""The benchmarks measure what they say: their server answers what is asked, their limits are read."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import jsonschema
import pytest

from adjudge.judges.reply import reply_schema

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture
def base() -> Generator[str]:
    """Address of the benchmarks' server, in a process of its own."""
    words = [sys.executable, str(BENCHMARKS / "server.py")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


def filled(schema: object) -> object:
    """What the server puts into `schema`."""
    script = "import json, server; it = json.loads(input()); print(json.dumps(server.instance(it, it)))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=json.dumps(schema),
        capture_output=True,
        text=True,
        cwd=BENCHMARKS,
        check=True,
    )
    return json.loads(done.stdout)


def test_the_server_fills_the_schema_that_adjudge_asks_for_with_the_good_verdict() -> None:
    schema = reply_schema(("s1",))
    reply = filled(schema)

    jsonschema.validate(reply, schema)
    assert reply == {
        "verdicts": [
            {"id": "s1", "rationale": "It does so in turn 2.", "citations": [], "decision": "met"},
        ]
    }


def test_the_server_follows_references_and_alternatives() -> None:
    schema = {
        "type": "object",
        "properties": {
            "grade": {"$ref": "#/$defs/Grade"},
            "score": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        },
        "$defs": {"Grade": {"enum": ["not_met", "met"]}},
    }

    assert filled(schema) == {"grade": "met", "score": 1}


@pytest.mark.parametrize("contender", ["raw", "aiohttp_pydantic"])
def test_a_floor_gets_a_verdict_for_every_statement_and_asks_for_nothing_else(
    contender: str, base: str
) -> None:
    job = {"base": base, "conversations": 3, "size": 2048, "concurrency": 4}
    script = BENCHMARKS / "contenders" / f"{contender}.py"
    done = subprocess.run(
        [sys.executable, str(script), json.dumps(job)], capture_output=True, text=True, check=True
    )
    cost = json.loads(done.stdout)

    assert (cost["verdicts"], cost["asked"]) == (30, 30)
    assert cost["cpu"] > 0


def test_a_run_with_a_missing_verdict_has_a_reason_and_no_figure(tmp_path: Path) -> None:
    script = """
import contest, pathlib, sys
contest.ENVIRONMENTS = pathlib.Path(sys.argv[1])
lacking = contest.Contender(name="a", script="raw", environment="nobody", conversations=1)
broken = contest.Contender(name="b", script="raw", conversations=1)
job = {"conversations": 1, "size": 2048, "concurrency": 1}
print(contest.measured(lacking, "http://127.0.0.1:9", **job))
print(contest.measured(broken, "http://127.0.0.1:9", **job))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=BENCHMARKS,
        check=True,
    )

    lacking, broken = done.stdout.splitlines()
    assert lacking == "not installed: `make benchmark-peers`"
    assert "Error" in broken
