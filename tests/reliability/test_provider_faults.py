"""What providers do wrong, through the whole program: the right cause, no score, few calls, nothing kept."""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Mapping
from email.utils import formatdate
from pathlib import Path
from time import monotonic, time
from typing import TYPE_CHECKING, Any

import pytest

from adjudge.testing import Fault, FaultServer, Reply, Request, says

if TYPE_CHECKING:
    from tests.end_to_end.conftest import Desk, Running

FATAL: dict[str, tuple[Reply, str]] = {
    "401": (Reply(status=401), "auth"),
    "402": (Reply(status=402), "quota"),
    "403": (Reply(status=403), "auth"),
    "404": (Reply(status=404), "not_found"),
    "no credit": (Reply(status=429, body={"error": {"code": "insufficient_quota"}}), "quota"),
}

NO_REPLY: dict[str, Any] = {
    "nothing": b"",
    "half": b"{",
    "null": b"null",
    "a list": b"[]",
    "an empty object": b"{}",
    "a page": b"<html>It works!</html>",
    "no choices": {"choices": []},
    "null choices": {"choices": None},
    "null content": {"choices": [{"message": {"content": None}, "finish_reason": "stop"}]},
    "empty content": {"choices": [{"message": {"content": ""}, "finish_reason": "stop"}]},
    "blank content": {"choices": [{"message": {"content": " \n"}, "finish_reason": "stop"}]},
}


def error(message: str) -> Reply:
    return Reply(status=400, body={"error": {"message": message}})


ANSWERED: dict[str, tuple[Reply, str, int]] = {
    "refusal": (Reply(refusal="I would rather not."), "refusal", 1),
    "filter as a status": (error("The response was filtered by our content policy"), "content_filter", 1),
    "filter as an ending": (Reply(finish="content_filter"), "content_filter", 1),
    "unknown ending": (Reply(finish="weird"), "malformed_output", 2),
    "error as an ending": (Reply(finish="error"), "malformed_output", 2),
    "cut off": (says('{"verdicts": [{"id": "s1"', finish="length"), "truncated", 2),
    "cut off and complete": (Reply(finish="length"), "truncated", 2),
    "too long for OpenAI": (error("This model's maximum context length is 8192 tokens"), "input_too_long", 1),
    "too long for Anthropic": (error("prompt is too long: 210000 tokens > 200000"), "input_too_long", 1),
    "too long for Gemini": (error("The input token count exceeds the maximum"), "input_too_long", 1),
}
"""Replies, the cause they end in, and how many calls that takes."""


def answer_each(desk: Desk, replies: Mapping[str, Reply], *, times: int | None = None) -> Counter[str]:
    """A conversation for each reply, which gets it so often, then a good one; calls by conversation."""
    calls: Counter[str] = Counter()
    desk.conversations(*replies)

    def answer(request: Request) -> Reply:
        name = next(name for name in replies if f"This is {name}.".encode() in request.body)
        calls[name] += 1
        return replies[name] if times is None or calls[name] <= times else Reply()

    desk.answer = answer
    return calls


def assert_errored(desk: Desk, causes: Mapping[str, str]) -> None:
    """Run, and see each conversation end with its cause, without a score, and nothing stored."""
    done = desk.run()
    assert (done.code, done.err) == (3, "")
    found = {row["conversation_id"]: row["grades"][0] for row in desk.results()}
    assert {name: grade["error"]["cause"] for name, grade in found.items()} == causes
    assert {(grade["result"], grade["score"], grade["met"]) for grade in found.values()} == {
        ("errored", None, None)
    }
    assert desk.summary()["errors_by_cause"] == Counter(causes.values())
    assert desk.adjudge("cache", "stats").out.startswith("0 entries")


@pytest.mark.soak
def test_a_storm_of_429s_loses_nothing_and_wastes_few_calls(desk: Desk) -> None:
    tokens, filled = 10.0, monotonic()

    def answer(_: Request) -> Reply:
        nonlocal tokens, filled
        now = monotonic()
        tokens, filled = min(10.0, tokens + 50 * (now - filled)), now
        if tokens < 1:
            return Reply(status=429, headers={"Retry-After": "0.2"})
        tokens -= 1
        return Reply(delay=random.uniform(0.01, 0.05))

    desk.conversations(*(f"c{number}" for number in range(500)))
    desk.suite(desk.grader("A."), judges={"main": desk.judge(attempts=4, max_concurrency=64)})
    desk.answer = answer

    assert desk.run().code == 0
    assert desk.summary()["counts"]["passed"] == 500
    assert desk.server.count <= 2 * 500


def test_a_retry_after_that_says_nothing_usable_is_no_obstacle(desk: Desk) -> None:
    headers = {
        "negative": {"Retry-After": "-5"},
        "nan": {"Retry-After": "nan"},
        "infinite": {"Retry-After": "inf"},
        "garbage": {"Retry-After": "soon"},
        "over": {"Retry-After": formatdate(time() - 60, usegmt=True)},
        "milliseconds": {"Retry-After-Ms": "20"},
        "zero": {"Retry-After": "0"},
    }
    desk.suite(desk.grader("A."), judges={"main": desk.judge(attempts=2)})
    replies = {name: Reply(status=429, headers=named) for name, named in headers.items()}
    calls = answer_each(desk, replies, times=1)

    assert desk.run().code == 0
    assert calls == dict.fromkeys(replies, 2)


@pytest.mark.parametrize("wait", ["1e12", "100", formatdate(time() + 1000, usegmt=True)])
def test_a_retry_after_beyond_the_deadline_is_not_waited_for(desk: Desk, wait: str) -> None:
    desk.suite(desk.grader("A."), judges={"main": desk.judge(attempts=4, deadline=20)})
    calls = answer_each(desk, {"throttled": Reply(status=429, headers={"Retry-After": wait})})

    assert_errored(desk, {"throttled": "rate_limited"})
    assert calls.total() == 1


def test_an_outage_costs_ten_calls_and_loses_nothing(desk: Desk) -> None:
    desk.conversations(*(f"c{number}" for number in range(50)))
    desk.suite(desk.grader("A."), judges={"main": desk.judge(attempts=4, deadline=20, max_concurrency=32)})
    faults: list[Fault] = ["reset", "close", "cut"]

    def answer(_: Request) -> Reply:
        if desk.server.count > 10:
            return Reply()
        return Reply(fault=faults[desk.server.count % 3]) if desk.server.count > 3 else Reply(status=503)

    desk.answer = answer

    assert desk.run().code == 0
    assert desk.summary()["counts"]["passed"] == 50
    assert desk.server.count == 50 + 10


@pytest.mark.parametrize("reachable", [True, False])
def test_an_outage_without_end_errs_everything_within_the_retry_quota(desk: Desk, reachable: bool) -> None:
    desk.conversations(*(f"c{number}" for number in range(60)))
    base = desk.server.url if reachable else "http://127.0.0.1:1/v1"
    judge = desk.judge(attempts=4, deadline=1, api_base=base, max_concurrency=32)
    desk.suite(desk.grader("A.", "B."), judges={"main": judge})
    desk.answer = lambda _: Reply(status=503)

    assert desk.run().code == 3
    summary = desk.summary()
    assert summary["errors_by_cause"].keys() == {"unavailable", "circuit_open"}
    assert summary["counts"]["errored"] == 60
    assert summary["calls"] <= 10 + 35
    assert desk.server.count == (summary["calls"] if reachable else 0)
    assert summary["combined_score"]["mean"] is None
    assert {row["combined_score"] for row in desk.results()} == {None}
    assert {grade["score"] for grade in desk.grades()} == {None}


@pytest.mark.parametrize("why", FATAL)
def test_a_judge_that_can_never_answer_is_asked_a_few_times_and_the_others_go_on(
    desk: Desk, why: str
) -> None:
    reply, cause = FATAL[why]
    desk.conversations(*(f"c{number}" for number in range(30)))
    judges = {"main": desk.judge(attempts=4), "other": desk.judge(model="openai/other")}
    desk.suite(desk.grader("A."), desk.grader("B.", name="well", judge="other"), judges=judges)
    desk.answer = lambda request: reply if request.json["model"] == "any" else Reply()

    assert desk.run().code == 3
    assert {grade["result"] for grade in desk.grades("well")} == {"passed"}
    assert {grade["error"]["cause"] for grade in desk.grades()} == {cause}
    assert all("'main'" in grade["error"]["message"] for grade in desk.grades())
    assert desk.server.calls["A."] <= 8


def test_a_redirect_ends_a_judge_and_its_target_receives_nothing(desk: Desk) -> None:
    desk.conversations(*(f"c{number}" for number in range(30)))
    desk.suite(desk.grader("A."), judges={"main": desk.judge(attempts=4)})
    with FaultServer() as elsewhere:
        moved = {"Location": f"{elsewhere.url}/chat/completions"}
        desk.answer = lambda _: Reply(status=307, headers=moved)

        assert desk.run().code == 3
        assert elsewhere.count == 0
    assert desk.summary()["errors_by_cause"] == {"bad_request": 30}
    assert desk.server.count <= 8


def test_a_reply_that_trickles_is_given_up_at_the_deadline_of_its_attempt(desk: Desk) -> None:
    desk.suite(desk.grader("A."), judges={"main": desk.judge(attempt_timeout=0.4)})
    endless = b" " * 10_000
    calls = answer_each(
        desk,
        {"head": Reply(fault="trickle_head", body=endless), "body": Reply(fault="trickle", body=endless)},
    )

    assert_errored(desk, {"head": "timeout", "body": "timeout"})
    assert calls == {"head": 1, "body": 1}


def test_a_connection_that_breaks_once_costs_one_retry(desk: Desk) -> None:
    faults: list[Fault] = ["half_close", "reset", "close", "cut", "cut_chunk"]
    desk.suite(desk.grader("A."), judges={"main": desk.judge(attempts=2)})
    calls = answer_each(desk, {str(fault): Reply(fault=fault) for fault in faults}, times=1)

    assert desk.run().code == 0
    assert calls == dict.fromkeys(faults, 2)
    journal = [json.loads(line) for line in (desk.runs[0] / "errors.jsonl").read_text().splitlines()]
    assert [line["cause"] for line in journal] == ["unavailable"] * 5


def test_a_200_that_is_no_reply_is_asked_for_once_more_and_then_errs(desk: Desk) -> None:
    desk.suite(desk.grader("A."), judges={"main": desk.judge(attempts=4)})
    calls = answer_each(desk, {name: Reply(body=body) for name, body in NO_REPLY.items()})

    assert_errored(desk, dict.fromkeys(NO_REPLY, "malformed_output"))
    assert calls == dict.fromkeys(NO_REPLY, 2)


def test_a_200_that_is_no_reply_once_is_mended_by_one_more_call(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    calls = answer_each(desk, {name: Reply(body=body) for name, body in NO_REPLY.items()}, times=1)

    assert desk.run().code == 0
    assert calls == dict.fromkeys(NO_REPLY, 2)


def test_a_reply_that_is_no_verdict_errs_with_the_cause_it_has(desk: Desk) -> None:
    desk.suite(desk.grader("A."), judges={"main": desk.judge(attempts=4)})
    calls = answer_each(desk, {name: reply for name, (reply, _, _) in ANSWERED.items()})

    assert_errored(desk, {name: cause for name, (_, cause, _) in ANSWERED.items()})
    assert calls == {name: count for name, (_, _, count) in ANSWERED.items()}


def test_a_response_as_large_as_memory_is_not_read(desk: Desk) -> None:
    packed = gzip.compress(bytes(100 << 20), 1)
    bombs = {
        "large": Reply(body=bytes(50 << 20)),
        "packed": Reply(body=packed, headers={"Content-Encoding": "gzip"}),
    }
    calls = answer_each(desk, {"first": Reply(), **bombs, "last": Reply()})
    answer, peaks = desk.answer, list[int]()
    running: list[Running] = []
    begun = threading.Event()

    def watched(request: Request) -> Reply:
        begun.wait()
        peaks.append(peak_kilobytes(running[0].pid))
        return answer(request)

    desk.answer = watched
    desk.suite(desk.grader("A."), judges={"main": desk.judge(max_concurrency=1)})
    running.append(desk.start("run", "suite.yaml"))
    begun.set()

    assert running[0].wait().code == 3
    results = {row["conversation_id"]: row["grades"][0] for row in desk.results()}
    assert {name for name, grade in results.items() if grade["error"]} == bombs.keys()
    assert desk.summary()["errors_by_cause"] == {"malformed_output": 2}
    assert calls == {"first": 1, "large": 2, "packed": 2, "last": 1}
    assert peaks[-1] - peaks[0] < 50_000


def peak_kilobytes(pid: int) -> int:
    """The most memory a process ever had."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))


def test_the_model_that_answered_is_recorded_beside_the_one_that_was_asked(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.answer = lambda _: Reply(model="another-1")

    assert desk.run().code == 0
    (statement,) = desk.grades()[0]["statements"]
    assert (statement["model"], statement["served_model"]) == ("openai/any", "another-1")


@pytest.mark.parametrize("usage", [None, (-100, -20), ("100", "20")], ids=str)
def test_a_cost_cap_holds_where_usage_is_missing_or_nonsense(desk: Desk, usage: Any) -> None:
    judge = desk.judge(price={"input": 10_000, "output": 0}, max_concurrency=1)  # 1 dollar a call
    desk.suite(desk.grader(*"ABCDEF"), judges={"main": judge})
    desk.answer = lambda _: Reply() if desk.server.count == 1 else Reply(usage=usage)

    assert desk.run("--max-cost", "2.5").code == 3
    assert desk.server.count == 3
    summary = desk.summary()
    assert (summary["cost_usd"], summary["cost_unknown_calls"]) == (1, 2)
    assert summary["errors_by_cause"] == {"budget_exhausted": 1}


@pytest.mark.soak
def test_a_run_reads_no_env_file_uses_no_proxy_and_connects_to_its_judge_alone(desk: Desk) -> None:
    program = (
        "import sys\n"
        "def watch(event, args):\n"
        "    if event in ('socket.connect', 'socket.getaddrinfo'):\n"
        "        sys.stderr.write(f'{event} {args[1:] if event == \"socket.connect\" else args}\\n')\n"
        "sys.addaudithook(watch)\n"
        "from adjudge.pipeline.cli.app import main\n"
        "raise SystemExit(main())\n"
    )
    desk.suite(desk.grader("A."))
    with FaultServer() as elsewhere:
        names = ("OPENAI_BASE_URL", "OPENAI_API_BASE", "HTTP_PROXY", "http_proxy", "ALL_PROXY")
        settings = dict.fromkeys(names, elsewhere.url)
        lines = [f"{name}={value}\n" for name, value in settings.items()]
        (desk.path / ".env").write_text("".join(lines))
        done = subprocess.run(
            [sys.executable, "-c", program, "run", "suite.yaml", "--quiet"],
            cwd=desk.path,
            env=desk.environ | {name: value for name, value in settings.items() if "PROXY" in name.upper()},
            capture_output=True,
            text=True,
            check=False,
        )
        assert elsewhere.count == 0

    assert done.returncode == 0, done.stderr
    assert desk.server.count == 1
    port = desk.server.origin.rpartition(":")[2]
    assert set(done.stderr.splitlines()) == {f"socket.connect (('127.0.0.1', {port}),)"}


def test_another_model_that_answers_is_named_at_the_end(desk: Desk) -> None:
    desk.suite(desk.grader("A."), judges={"main": desk.judge(model="openai/gpt-5")})
    desk.answer = lambda _: Reply(model="gpt-5-mini-2025-08-07")

    done = desk.run()

    assert done.code == 0
    assert "1 statements were decided by gpt-5-mini-2025-08-07 in place of openai/gpt-5" in done.err


def test_another_model_is_an_error_where_the_suite_requires_the_one_it_asks(desk: Desk) -> None:
    desk.suite(desk.grader("A."), judges={"main": desk.judge(model="openai/gpt-5", served_model="require")})
    desk.answer = lambda _: Reply(model="gpt-5-mini-2025-08-07")
    desk.conversations("c1", "c2", "c3")

    done = desk.run()

    assert done.code == 3
    assert desk.summary()["errors_by_cause"] == {"not_found": 3}
    assert "'gpt-5-mini-2025-08-07' answered in its place" in desk.grades()[0]["error"]["message"]
    assert desk.adjudge("cache", "stats").out.startswith("0 entries")


def test_a_judge_that_can_not_be_reached_is_named_with_its_address_at_once(desk: Desk) -> None:
    desk.conversations(*(f"c{number}" for number in range(4)))
    judge = desk.judge(api_base="http://127.0.0.1:9/v1", deadline=1)
    desk.suite(desk.grader("A."), judges={"main": judge})

    running = desk.start("run", "suite.yaml")
    running.wait_until_said("still trying")

    assert "judge 'main' (openai/any)" in running.err.read_text()
    assert "127.0.0.1:9" in running.err.read_text()
    assert running.wait().code == 3


def test_a_judge_that_comes_back_is_said_to_be_there_again(desk: Desk) -> None:
    desk.conversations(*(f"c{number}" for number in range(4)))
    desk.suite(desk.grader("A."), judges={"main": desk.judge(attempts=4)})
    desk.answer = lambda _: Reply(status=503) if desk.server.count <= 4 else Reply()

    done = desk.run()

    assert done.code == 0
    assert "judge 'main' answers again" in done.err
    judges = json.loads((desk.runs[-1] / "judges.json").read_text())
    assert (judges["main"]["calls"], judges["main"]["retries"]) == (8, 4)
