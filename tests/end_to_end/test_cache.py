"""What is asked again and what is not, what it may cost, and the cache carried elsewhere (C6 to C11)."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from adjudge.judges.request import digest
from adjudge.testing import Reply, says

if TYPE_CHECKING:
    from tests.end_to_end.conftest import Desk

Change = dict[str, Any]
PROMPT = "# system\n\nJudge. {reply_format}\n\n# user\n\n{evidence}\n\n{statements}\n"
MESSAGES: list[Any] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hello."},
    {"role": "assistant", "content": "Good morning."},
]


def write(desk: Desk, *, judge: Change, grader: Change, conversation: Change, suite: Change) -> None:
    """A suite of one question, changed."""
    (desk.path / "prompt.md").write_text(suite.pop("prompt", PROMPT))
    (desk.path / "renamed.md").write_text(PROMPT)
    name = suite.pop("judge_name", "main")
    plain = desk.grader({"text": "A.", "required": False}, judge=name, prompt="prompt.md")
    desk.suite(plain | grader, **({"judges": {name: desk.judge() | judge}} | suite))
    desk.conversations({"id": "c1", "messages": MESSAGES} | conversation)


def calls_after(desk: Desk, change: Change) -> int:
    """How many calls the same suite makes once more after a change."""
    nothing: dict[str, Change] = {"judge": {}, "grader": {}, "conversation": {}, "suite": {}}
    write(desk, **nothing)
    assert desk.run().code == 0
    write(desk, **(nothing | change))
    assert desk.run().code in (0, 1)
    return desk.server.count - 1


@pytest.mark.parametrize(
    "change",
    [
        {"judge": {"model": "openai/other"}},
        {"judge": {"params": {"temperature": 0}}},
        {"judge": {"output": "json_schema"}},
        {"grader": {"statements": ["A, edited."]}},
        {"grader": {"calls": "per_grader"}},
        {"grader": {"samples": 2}},
        {"conversation": {"messages": [*MESSAGES, {"role": "user", "content": "Bye."}]}},
        {"conversation": {"agent_output": "Done."}},
        {"suite": {"evidence": {"system_prompt": False}}},
        {
            "suite": {
                "prompt": "# system\n\nBe strict. {reply_format}\n\n# user\n\n{evidence}\n\n{statements}\n"
            }
        },
    ],
    ids=str,
)
def test_what_can_change_the_answer_is_asked_again(desk: Desk, change: Change) -> None:
    assert calls_after(desk, change) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"grader": {"threshold": 0.5}},
        {"grader": {"statements": [{"text": "A.", "required": True}]}},
        {"grader": {"gating": False}},
        {"grader": {"name": "renamed"}},
        {"grader": {"undetermined": "not_met"}},
        {"grader": {"citations": "require"}},
        {"grader": {"prompt": "renamed.md"}},
        {"conversation": {"id": "renamed"}},
        {"conversation": {"test": "greeting", "rollout": 3, "metadata": {"a": 1}}},
        {"suite": {"name": "renamed"}},
        {"suite": {"judge_name": "renamed"}},
        {"suite": {"policy": {"max_errored": 3}, "budget": {"max_calls": 100}}},
        {"judge": {"attempts": 5, "max_concurrency": 2, "deadline": 10, "attempt_timeout": 5}},
        {"judge": {"price": {"input": 1, "output": 1}}},
        {"judge": {"api_key_env": "HOME"}},
    ],
    ids=str,
)
def test_what_can_not_change_the_answer_is_not_asked_again(desk: Desk, change: Change) -> None:
    assert calls_after(desk, change) == 0


def test_another_api_key_asks_nothing_again(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.run()
    desk.environ["OPENAI_API_KEY"] = "sk-another"

    assert desk.run().code == 0
    assert desk.server.count == 1


def test_another_server_is_asked_again_wherever_its_address_comes_from(desk: Desk) -> None:
    judge = desk.judge()
    del judge["api_base"]
    desk.suite(desk.grader("A."), judges={"main": judge})
    desk.environ["OPENAI_BASE_URL"] = desk.server.url
    assert desk.run().code == 0
    desk.environ["OPENAI_BASE_URL"] = desk.server.url.replace("127.0.0.1", "localhost")

    assert desk.run().code == 0
    assert desk.server.count == 2


def test_an_error_is_not_stored_and_is_asked_again(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.answer = lambda _: Reply(body={"error": {"message": "rate limit exceeded", "code": 429}})
    assert desk.run().code == 3
    desk.answer = lambda _: Reply()

    assert desk.run().code == 0
    assert desk.server.count == 2


def test_refresh_asks_again_and_keeps_the_older_verdict_in_history(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.run()
    desk.decide({"A.": "not_met"})

    assert desk.run().code == 0
    assert desk.run("--refresh").code == 1
    assert desk.run().code == 1
    assert desk.server.count == 2
    assert desk.adjudge("cache", "stats").out.startswith("1 entries, 1 replaced, 0 damaged")
    (line,) = desk.adjudge("cache", "export").out.splitlines()
    assert [row["verdicts"][0]["decision"] for row in json.loads(line)["history"]] == ["met"]


@pytest.mark.parametrize("dry", [[], ["--dry-run"]], ids=["run", "dry run"])
def test_asking_again_offline_is_refused(desk: Desk, dry: list[str]) -> None:
    desk.suite(desk.grader("A."))

    done = desk.run("--offline", "--refresh", *dry)

    assert (done.code, desk.runs) == (2, [])
    assert "--refresh asks again and --offline asks nobody" in done.err


@pytest.mark.parametrize("where", ["suite", "option", "environment"])
def test_max_calls_is_a_hard_cap_and_resume_goes_on_with_more(desk: Desk, where: str) -> None:
    desk.suite(desk.grader(*"ABCDE"), budget={"max_calls": 3 if where == "suite" else 5})
    if where == "environment":
        desk.environ["ADJUDGE_MAX_CALLS"] = "3"

    done = desk.run(*(["--max-calls", "3"] if where == "option" else []))

    assert done.code == 3
    assert desk.server.count == desk.summary()["calls"] == 3
    (grade,) = desk.grades()
    assert (grade["score"], grade["error"]["cause"]) == (None, "budget_exhausted")
    assert sorted(row["decision"] or "" for row in grade["statements"]) == ["", "", "met", "met", "met"]
    resumed = desk.adjudge("resume", "--max-calls", "5")
    assert (resumed.code, desk.server.count, desk.summary()["calls"]) == (0, 5, 5)


def test_a_call_is_counted_once_however_often_its_grade_errs(desk: Desk) -> None:
    desk.suite(desk.grader(*"ABCDE"), budget={"max_calls": 2})
    desk.run()

    for cap in (3, 4):
        assert desk.adjudge("resume", "--max-calls", str(cap)).code == 3
        assert desk.server.count == desk.summary()["calls"] == cap
    assert desk.adjudge("resume", "--max-calls", "5").code == 0
    assert desk.server.count == desk.summary()["calls"] == 5
    assert desk.summary()["usage"]["input_tokens"] == 500


def test_a_resumed_run_keeps_to_the_cap_of_its_plan_over_all_its_legs(desk: Desk) -> None:
    desk.suite(desk.grader(*"ABCDE"), budget={"max_calls": 3})
    desk.run()

    assert desk.adjudge("resume").code == 3
    assert desk.server.count == 3


def test_a_cost_cap_ends_the_calls_once_it_is_reached(desk: Desk) -> None:
    judge = desk.judge(price={"input": 10_000, "output": 0}, max_concurrency=1)  # 1 dollar a call
    desk.suite(desk.grader(*"ABCDE"), judges={"main": judge})

    assert desk.run("--max-cost", "2.5").code == 3
    assert desk.server.count == 3
    assert desk.summary()["cost_usd"] == 3
    assert desk.summary()["errors_by_cause"] == {"budget_exhausted": 1}


def test_a_cost_cap_is_refused_up_front_where_the_price_is_unknown(desk: Desk) -> None:
    desk.suite(desk.verifier("return [check('a', True)]"), desk.grader("A."), budget={"max_cost_usd": 5})

    done = desk.run()

    assert (done.code, done.out) == (2, "")
    assert "price" in done.err
    assert "'main'" in done.err
    assert (desk.runs, desk.server.count) == ([], 0)


def test_tokens_that_are_not_reported_are_unknown_and_not_0(desk: Desk) -> None:
    judge = desk.judge(price={"input": 1, "output": 1})
    desk.suite(desk.grader("A."), judges={"main": judge})
    desk.answer = lambda _: Reply(usage=None)

    assert desk.run().code == 0
    summary = desk.summary()
    assert summary["usage"] == {"input_tokens": None, "output_tokens": None, "cached_input_tokens": None}
    assert (summary["usage_unknown_calls"], summary["cost_unknown_calls"]) == (1, 1)
    assert desk.grades()[0]["statements"][0]["cost_usd"] is None


def test_a_full_cache_answers_offline_without_a_key(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.run()
    del desk.environ["OPENAI_API_KEY"]

    assert desk.run("--offline").code == 0
    assert desk.grades()[0]["statements"][0]["source"] == "cache"
    assert (desk.summary()["calls"], desk.summary()["cached"]) == (0, 1)


def test_an_exported_cache_answers_where_it_is_imported(desk: Desk) -> None:
    desk.suite(desk.grader("A.", "B."))
    desk.run()
    exported = desk.adjudge("cache", "export", "verdicts.jsonl")
    assert (exported.code, exported.out) == (0, "")

    imported = desk.adjudge("cache", "import", "verdicts.jsonl", "--cache", "other")
    again = desk.adjudge("cache", "import", "verdicts.jsonl", "--cache", "other")

    assert (imported.code, imported.out) == (0, "2 added, 0 were there already, 0 refused\n")
    assert (again.code, again.out) == (0, "0 added, 2 were there already, 0 refused\n")
    assert desk.run("--offline", "--cache", "other").code == 0
    assert desk.server.count == 2


def test_an_import_names_the_line_it_refuses(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.run()
    line = desk.adjudge("cache", "export").out
    (desk.path / "forged.jsonl").write_text(line.replace('"A."', '"B."'))

    done = desk.adjudge("cache", "import", "forged.jsonl", "--cache", "other")

    assert (done.code, done.out) == (2, "0 added, 0 were there already, 1 refused\n")
    assert "forged.jsonl:1" in done.err


def test_recorded_verdicts_are_replayed_and_say_so(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.run()
    desk.adjudge("cache", "export", "recorded.jsonl")
    desk.suite(desk.grader("A."), recorded=["recorded.jsonl"])
    del desk.environ["OPENAI_API_KEY"]

    done = desk.run("--offline", "--cache", "empty")

    assert (done.code, done.err) == (0, "")
    (statement,) = desk.grades()[0]["statements"]
    assert (statement["source"], statement["cached"]) == ("recorded", True)
    assert "replayed" in done.out


def test_a_recorded_verdict_that_breaks_a_rule_is_refused_with_its_line(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.run()
    line = desk.adjudge("cache", "export").out
    (desk.path / "recorded.jsonl").write_text(line + line.replace('"met"', '"perhaps"'))
    desk.suite(desk.grader("A."), recorded=["recorded.jsonl"])
    before = len(desk.runs)

    done = desk.run("--offline", "--cache", "empty")

    assert (done.code, done.out) == (2, "")
    assert "recorded.jsonl:2" in done.err
    assert len(desk.runs) == before


def test_why_miss_names_what_changed(desk: Desk) -> None:
    desk.suite(desk.grader("A.", "B."))
    desk.run()
    desk.suite(desk.grader("A.", "B, edited."))

    done = desk.adjudge("cache", "why-miss", "suite.yaml")

    assert (done.code, done.err) == (0, "")
    assert "'B.' -> 'B, edited.'" in done.out
    assert "1 of 2 questions have no verdict" in done.out
    assert desk.server.count == 2


def test_why_miss_explains_a_run_that_named_another_model(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.run()

    done = desk.adjudge("cache", "why-miss", "suite.yaml", "--judge", "openai/other")

    assert done.code == 0
    assert "'openai/any' -> 'openai/other'" in done.out


def tamper(desk: Desk, old: str, new: str) -> None:
    """Change the text of stored verdicts behind the cache's back."""
    with sqlite3.connect(desk.path / ".adjudge" / "cache" / "cache.db") as database:
        database.execute("UPDATE Cache SET value = replace(value, ?, ?)", (old, new))
    database.close()


def test_a_damaged_verdict_is_asked_again_with_a_warning(desk: Desk) -> None:
    desk.suite(desk.grader("A."))
    desk.run()
    assert desk.adjudge("cache", "verify").code == 0
    tamper(desk, '"A."', '"B."')

    verified = desk.adjudge("cache", "verify")
    done = desk.run()

    assert verified.code == 4
    assert "1 are damaged" in verified.out
    assert done.code == 0
    assert "damaged" in done.err
    assert desk.server.count == 2
    assert desk.adjudge("cache", "verify").code == 0


def test_a_cited_turn_that_does_not_exist_is_no_verdict_even_from_the_cache(desk: Desk) -> None:
    said = {"id": "s1", "rationale": "r", "citations": [{"turn": 2, "quote": "Hello"}], "decision": "met"}
    desk.suite(desk.grader("A."))
    desk.answer = lambda _: says(json.dumps({"verdicts": [said]}))
    desk.run()
    tamper(desk, '"turn":2', '"turn":9')

    assert desk.run().code == 0
    assert desk.server.count == 2


@pytest.mark.parametrize("command", [["stats"], ["verify"], ["export"], ["why-miss", "suite.yaml"]])
def test_a_cache_that_is_not_there_is_not_made(desk: Desk, command: list[str]) -> None:
    desk.suite(desk.grader("A."))
    before = desk.files()

    done = desk.adjudge("cache", *command)

    assert (done.code, done.out) == (2, "")
    assert "there is no cache" in done.err
    assert desk.files() == before


def test_no_key_is_written_anywhere(desk: Desk) -> None:
    secret = "sk-very-secret-0123456789"
    desk.environ["OPENAI_API_KEY"] = secret
    desk.suite(desk.grader("A.", "B."))
    desk.answer = lambda request: Reply(
        status=401 if "B." in request.statements.values() else 200,
        body={"error": {"message": f"Incorrect API key provided: {secret}"}}
        if "B." in request.statements.values()
        else None,
    )

    done = desk.run()

    written = b"".join(path.read_bytes() for path in (desk.path / ".adjudge").rglob("*") if path.is_file())
    assert desk.server.requests[0].headers["authorization"] == f"Bearer {secret}"
    assert secret not in done.out + done.err
    assert secret.encode() not in written
    assert digest(secret).encode() not in written
