"""A model as a judge, over a real connection: one request a call, the right cause for whatever comes back."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from adjudge.judges.calling.model import ModelJudge
from adjudge.judges.calling.price import Price
from adjudge.judges.calling.transport import Transport
from adjudge.judges.failure import Failure, UsageError
from adjudge.judges.redact import MARK
from adjudge.judges.request import Evidence, JudgeRequest, Model, Output, Prompt
from adjudge.judges.verdict import Answer, Attempt, Usage
from adjudge.testing import Fault, FaultServer, Reply, Request, met, not_met, says, verdicts

KEY = "pl4nted-key-0123456789"
STATEMENT = "The agent greets."
PATHS = ("openai/any", "anthropic/claude-sonnet-4-5", "hosted_vllm/any")


@pytest.fixture
async def transport() -> AsyncIterator[Transport]:
    async with Transport() as opened:
        yield opened


def model_at(server: FaultServer, name: str = "openai/any", output: Output = "text", **params: Any) -> Model:
    base = server.origin if name.startswith("anthropic") else server.url
    return Model(name=name, api_base=base, params={"max_tokens": 64, **params}, output=output)


def question(model: Model, *statements: str) -> JudgeRequest:
    return JudgeRequest(
        evidence=Evidence(text='{"turn":1,"content":"Hello."}', digest="e" * 64, turns=(("Hello.",),)),
        statements=statements or (STATEMENT,),
        prompt=Prompt(name="p", system="Judge.", user="{evidence}\n{statements}", digest="p"),
        model=model,
    )


async def ask(
    server: FaultServer, transport: Transport, name: str = "openai/any", output: Output = "text", **how: Any
) -> Answer | Failure:
    model = model_at(server, name, output)
    how = {"environ": {"OPENAI_API_KEY": KEY}, **how}
    judge = ModelJudge(model, transport, **how)
    return await judge.judge(question(model))


def failed(outcome: Answer | Failure) -> tuple[Failure, Attempt]:
    assert isinstance(outcome, Failure)
    assert len(outcome.attempts) == 1
    assert outcome.attempts[0].cause == outcome.cause
    assert outcome.attempts[0].message == outcome.message
    return outcome, outcome.attempts[0]


def answered(outcome: Answer | Failure) -> Answer:
    assert isinstance(outcome, Answer), outcome
    assert len(outcome.attempts) == 1
    return outcome


@pytest.mark.parametrize("name", PATHS)
async def test_an_answer_carries_its_verdict_usage_and_served_model(transport: Transport, name: str) -> None:
    async with FaultServer(Reply(decision="not_met", model="served-1", cached_tokens=40)) as server:
        answer = answered(await ask(server, transport, name))

        assert server.count == 1
    assert [verdict.decision for verdict in answer.verdicts] == ["not_met"]
    assert answer.served_model == "served-1"
    attempt = answer.attempts[0]
    assert attempt.usage == Usage(input_tokens=100, output_tokens=20, cached_input_tokens=40)
    assert (attempt.status, attempt.cause, attempt.message, attempt.raw) == (200, None, "", None)
    assert attempt.seconds > 0


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize(
    ("status", "cause", "retryable", "fatal"),
    [
        (307, "bad_request", False, True),
        (400, "bad_request", False, False),
        (401, "auth", False, True),
        (402, "quota", False, True),
        (403, "auth", False, True),
        (404, "not_found", False, True),
        (408, "timeout", True, False),
        (409, "unavailable", True, False),
        (413, "input_too_long", False, False),
        (422, "bad_request", False, False),
        (424, "bad_request", False, False),
        (425, "unavailable", True, False),
        (429, "rate_limited", True, False),
        (500, "unavailable", True, False),
        (502, "unavailable", True, False),
        (503, "unavailable", True, False),
        (504, "unavailable", True, False),
        (529, "unavailable", True, False),
    ],
)
async def test_a_status_is_one_request_and_the_right_cause(
    transport: Transport, name: str, status: int, cause: str, retryable: bool, fatal: bool
) -> None:
    async with FaultServer(Reply(status=status)) as server:
        failure, attempt = failed(await ask(server, transport, name, "auto"))

        assert server.count == 1
    assert (failure.cause, failure.retryable, failure.fatal, failure.changed) == (
        cause,
        retryable,
        fatal,
        False,
    )
    assert attempt.status == status
    assert attempt.usage == Usage()
    assert failure.message.startswith(f"judge {name!r}: HTTP {status}")


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        ("reset", "unavailable"),
        ("close", "unavailable"),
        ("half_close", "unavailable"),
        ("cut", "unavailable"),
        ("cut_chunk", "unavailable"),
    ],
)
async def test_a_broken_connection_is_unavailable_and_the_next_call_is_valid(
    transport: Transport, name: str, fault: Fault, cause: str
) -> None:
    async with FaultServer([Reply(fault=fault), met()]) as server:
        failure, attempt = failed(await ask(server, transport, name))
        answered(await ask(server, transport, name))

        assert server.count == 2
    assert (failure.cause, failure.retryable, attempt.status) == (cause, True, None)


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("fault", ["hang", "trickle", "trickle_head"])
async def test_an_attempt_ends_at_its_deadline(transport: Transport, name: str, fault: Fault) -> None:
    async with FaultServer(Reply(fault=fault, body=b" " * 1000)) as server:
        failure, _ = failed(await ask(server, transport, name, attempt_timeout=0.3))

        assert server.count <= 1
    assert (failure.cause, failure.retryable, failure.fatal) == ("timeout", True, False)


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"{}",
        b"<html>It works!</html>",
        {"choices": []},
        {"choices": None},
        {"content": None},
        {"choices": [{"message": {"content": None}, "finish_reason": "stop"}]},
        {"choices": [{"message": {"content": " \n"}, "finish_reason": "stop"}]},
    ],
)
async def test_a_200_that_is_no_reply_is_malformed_and_kept(
    transport: Transport, name: str, body: Any
) -> None:
    async with FaultServer(Reply(body=body)) as server:
        failure, attempt = failed(await ask(server, transport, name))

        assert server.count == 1
    assert (failure.cause, failure.retryable, failure.fatal) == ("malformed_output", True, False)
    assert attempt.raw is not None
    assert attempt.cost_usd is None


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize(
    ("error", "cause"),
    [
        ({"message": "rate limit exceeded", "code": 429}, "rate_limited"),
        ({"message": "overloaded", "type": "overloaded_error"}, "unavailable"),
        ("something broke", "unavailable"),
    ],
)
async def test_an_error_within_a_200_counts_by_what_it_says(
    transport: Transport, name: str, error: Any, cause: str
) -> None:
    async with FaultServer(Reply(body={"type": "error", "error": error})) as server:
        failure, _ = failed(await ask(server, transport, name))

    assert (failure.cause, failure.retryable) == (cause, True)


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize(
    ("reply", "cause"),
    [
        (Reply(refusal="I can't judge that."), "refusal"),
        (Reply(finish="length"), "truncated"),
        (says('{"verdicts": [', finish="length"), "truncated"),
        (Reply(finish="content_filter"), "content_filter"),
        (Reply(finish="weird_reason"), "malformed_output"),
        (Reply(finish="error"), "malformed_output"),
        (says("It is met."), "malformed_output"),
        (says(verdicts({"s2": "met"})), "malformed_output"),
        (says(verdicts({"s1": "yes"})), "malformed_output"),
    ],
)
async def test_a_reply_that_is_no_verdict_is_told_apart_and_was_paid_for(
    transport: Transport, name: str, reply: Reply, cause: str
) -> None:
    async with FaultServer(reply) as server:
        failure, attempt = failed(await ask(server, transport, name, price=Price(input=1.0, output=1.0)))

        assert server.count == 1
    assert failure.cause == cause
    assert attempt.usage == Usage(input_tokens=100, output_tokens=20, cached_input_tokens=0)
    assert attempt.cost_usd == pytest.approx(120e-6)
    assert attempt.raw


async def test_a_cut_reply_names_the_output_limit(transport: Transport) -> None:
    async with FaultServer(Reply(finish="length")) as server:
        failure, _ = failed(await ask(server, transport))

    assert failure.message == "the reply was cut off at the output limit: raise max_tokens of 64"


async def test_a_malformed_reply_is_described_without_a_word_of_it(transport: Transport) -> None:
    async with FaultServer(says('{"verdicts": "INJECTED"}')) as server:
        failure, attempt = failed(await ask(server, transport))

    assert "INJECTED" not in failure.message
    assert attempt.raw == '{"verdicts": "INJECTED"}'


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize(
    ("status", "message", "cause"),
    [
        (429, "You exceeded your current quota: insufficient_quota", "quota"),
        (400, "This model's maximum context length is 8192 tokens", "input_too_long"),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", "input_too_long"),
        (400, "The input token count (9) exceeds the maximum number of tokens allowed", "input_too_long"),
        (400, "Your request was rejected by our content filter", "content_filter"),
    ],
)
async def test_the_words_of_an_error_decide_on_every_path(
    transport: Transport, name: str, status: int, message: str, cause: str
) -> None:
    async with FaultServer(Reply(status=status, body={"error": {"message": message}})) as server:
        failure, _ = failed(await ask(server, transport, name))

        assert server.count == 1
    assert (failure.cause, failure.retryable, failure.fatal) == (cause, False, cause == "quota")


@pytest.mark.parametrize("name", PATHS)
async def test_a_provider_that_says_not_to_retry_is_not_asked_again(transport: Transport, name: str) -> None:
    async with FaultServer(Reply(status=500, headers={"x-should-retry": "false"})) as server:
        failure, _ = failed(await ask(server, transport, name))

    assert (failure.cause, failure.retryable) == ("unavailable", False)


@pytest.mark.parametrize("name", PATHS)
async def test_retry_after_reaches_the_failure_by_the_clock_given(transport: Transport, name: str) -> None:
    date = "Thu, 01 Jan 1970 00:01:40 GMT"
    async with FaultServer(
        [Reply(status=429, headers={"Retry-After": after}) for after in ("7", date)]
    ) as server:
        seconds, _ = failed(await ask(server, transport, name))
        until, _ = failed(await ask(server, transport, name, clock=lambda: 70.0))

    assert (seconds.retry_after, until.retry_after) == (7.0, 30.0)


@pytest.mark.parametrize("name", PATHS)
async def test_a_redirect_ends_the_judge_and_its_target_receives_nothing(
    transport: Transport, name: str
) -> None:
    async with FaultServer() as target:
        async with FaultServer(Reply(status=307, headers={"Location": target.url})) as server:
            failure, _ = failed(await ask(server, transport, name))

        assert (failure.cause, failure.fatal, target.count) == ("bad_request", True, 0)
    assert "redirect" in failure.message


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize(
    "reply",
    [
        Reply(headers={"Content-Encoding": "gzip"}, body=gzip.compress(b" " * 10_000_000)),
        Reply(body=b" " * 9_000_000),
    ],
)
async def test_a_response_bomb_is_malformed(transport: Transport, name: str, reply: Reply) -> None:
    async with FaultServer(reply) as server:
        failure, attempt = failed(await ask(server, transport, name))

    assert (failure.cause, failure.retryable, attempt.raw) == ("malformed_output", True, None)


# Usage and cost


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("usage", [None, (0, 0), (-5, 20), ("100", "20"), (None, None)])
async def test_a_missing_or_senseless_usage_costs_an_unknown_amount(
    transport: Transport, name: str, usage: tuple[Any, Any] | None
) -> None:
    async with FaultServer(Reply(usage=usage)) as server:
        answer = answered(await ask(server, transport, name, price=Price(input=1.0, output=1.0)))

    assert answer.attempts[0].usage.input_tokens is None
    assert answer.attempts[0].cost_usd is None


async def test_a_call_is_priced_by_the_model_asked_for_not_by_the_one_that_answered(
    transport: Transport,
) -> None:
    async with FaultServer([Reply(), Reply(model="gpt-5.4")]) as server:
        plain = answered(await ask(server, transport, "openai/gpt-4o-mini")).attempts[0]
        other = answered(await ask(server, transport, "openai/gpt-4o-mini")).attempts[0]

    assert plain.cost_usd is not None
    assert plain.cost_usd > 0
    assert other.cost_usd == plain.cost_usd
    assert other.served_model == "gpt-5.4"


async def test_a_model_without_a_price_costs_an_unknown_amount(transport: Transport) -> None:
    async with FaultServer() as server:
        assert answered(await ask(server, transport)).attempts[0].cost_usd is None


async def test_the_price_of_the_suite_outranks_the_map(transport: Transport) -> None:
    price = Price(input=5.0, output=10.0, cached_input=1.0)
    async with FaultServer(Reply(cached_tokens=60)) as server:
        attempt = answered(await ask(server, transport, "openai/gpt-4o-mini", price=price)).attempts[0]

    assert attempt.cost_usd == pytest.approx((40 * 5 + 60 * 1 + 20 * 10) / 1e6)


async def test_the_price_is_known_once_the_judge_is_ready(transport: Transport) -> None:
    judge = ModelJudge(Model(name="openai/gpt-4o-mini"), transport, environ={"OPENAI_API_KEY": KEY})
    assert judge.price is None

    await judge.ready()

    assert judge.price is not None


# Ways of asking


def sent(request: Request) -> str:
    return request.json.get("response_format", {}).get("type", "text")


async def test_auto_steps_down_until_the_server_takes_the_form_and_stays_there(transport: Transport) -> None:
    def llama(request: Request) -> Reply:
        if sent(request) == "json_schema":
            words = "[{'loc': ('body', 'response_format', 'type'), 'msg': \"Input should be 'json_object'\"}]"
            return Reply(status=500, body={"error": {"message": words, "type": "internal_server_error"}})
        return met()

    async with FaultServer(llama) as server:
        model = model_at(server, output="auto")
        judge = ModelJudge(model, transport, environ={})
        first, _ = failed(await judge.judge(question(model)))
        answered(await judge.judge(question(model)))
        answered(await judge.judge(question(model)))

        assert [sent(request) for request in server.requests] == ["json_schema", "json_object", "json_object"]
    assert (first.cause, first.changed, first.retryable, first.fatal) == ("bad_request", True, False, False)


async def test_auto_ends_at_words_alone(transport: Transport) -> None:
    def server_of_words(request: Request) -> Reply:
        refusal = {"error": {"message": "response_format is not supported"}}
        return met() if sent(request) == "text" else Reply(status=400, body=refusal)

    async with FaultServer(server_of_words) as server:
        model = model_at(server, output="auto")
        judge = ModelJudge(model, transport, environ={})
        outcomes = [await judge.judge(question(model)) for _ in range(3)]

    assert [isinstance(outcome, Answer) for outcome in outcomes] == [False, False, True]


async def test_requests_refused_together_step_down_once(transport: Transport) -> None:
    arrived = 0
    everybody = asyncio.Event()

    def script(request: Request) -> Reply:
        nonlocal arrived
        arrived += 1
        if arrived == 4:
            everybody.set()
        refusal = {"error": {"message": "json_schema is not supported"}}
        return Reply(status=400, body=refusal) if sent(request) == "json_schema" else met()

    async with FaultServer(script) as server:
        model = model_at(server, output="auto")
        judge = ModelJudge(model, transport, environ={})
        outcomes = await asyncio.gather(*(judge.judge(question(model)) for _ in range(4)))
        answered(await judge.judge(question(model)))

        assert everybody.is_set()
        assert sent(server.requests[-1]) == "json_object"
    assert all(isinstance(outcome, Failure) and outcome.changed for outcome in outcomes)


async def test_a_form_that_has_worked_is_never_given_up(transport: Transport) -> None:
    refusal = Reply(status=400, body={"error": {"message": "json_schema is not supported"}})
    async with FaultServer([met(), refusal, met()]) as server:
        model = model_at(server, output="auto")
        judge = ModelJudge(model, transport, environ={})
        answered(await judge.judge(question(model)))
        failure, _ = failed(await judge.judge(question(model)))
        answered(await judge.judge(question(model)))

        assert [sent(request) for request in server.requests] == ["json_schema"] * 3
    assert (failure.cause, failure.changed) == ("bad_request", False)


async def test_a_form_the_suite_insists_on_is_not_given_up_and_the_message_names_it(
    transport: Transport,
) -> None:
    refusal = Reply(status=400, body={"error": {"message": "response_format is not supported"}})
    async with FaultServer(refusal) as server:
        failure, _ = failed(await ask(server, transport, output="json_schema"))

    assert (failure.cause, failure.changed) == ("bad_request", False)
    assert "does not take output 'json_schema'" in failure.message


@pytest.mark.parametrize("name", PATHS)
async def test_a_forced_tool_call_is_a_reply(transport: Transport, name: str) -> None:
    async with FaultServer(not_met()) as server:
        answer = answered(await ask(server, transport, name, "tool"))

        assert server.requests[0].forced_tool == "submit_verdicts"
    assert answer.verdicts[0].decision == "not_met"


@pytest.mark.parametrize("name", PATHS)
async def test_a_correction_reaches_the_model(transport: Transport, name: str) -> None:
    async with FaultServer() as server:
        model = model_at(server, name)
        judge = ModelJudge(model, transport, environ={})
        answered(await judge.judge(replace(question(model), correction="the reply is empty")))

        assert b"can't be used: the reply is empty" in server.requests[0].body


@pytest.mark.parametrize("name", PATHS)
async def test_several_statements_are_asked_in_one_request(transport: Transport, name: str) -> None:
    async with FaultServer(Reply(decision={"B.": "not_met"})) as server:
        model = model_at(server, name, "auto")
        judge = ModelJudge(model, transport, environ={})
        request = replace(question(model, "A.", "B.", "C."), calls="per_grader")
        answer = answered(await judge.judge(request))

        assert server.count == 1
    assert [verdict.decision for verdict in answer.verdicts] == ["met", "not_met", "met"]


async def test_any_text_reaches_the_server_as_it_is(transport: Transport) -> None:
    strange = 'quote " back\\slash \n new line {"id":"s9"} \u2028 é 🙂 {name} %s ${x} {{7*7}}'
    async with FaultServer() as server:
        model = model_at(server)
        judge = ModelJudge(model, transport, environ={})
        request = replace(
            question(model), prompt=Prompt(name="p", system=strange, user="{statements}", digest="")
        )
        answered(await judge.judge(request))

        assert server.requests[0].json["messages"][0]["content"] == strange


# Keys, parameters, secrets


@pytest.mark.parametrize(
    ("name", "variable"),
    [("openai/any", "OPENAI_API_KEY"), ("anthropic/claude-sonnet-4-5", "ANTHROPIC_API_KEY")],
)
async def test_a_missing_key_names_the_judge_and_the_variable(
    transport: Transport, name: str, variable: str
) -> None:
    judge = ModelJudge(Model(name=name), transport, name="main", environ={})

    with pytest.raises(UsageError, match=rf"^judge 'main' \({name}\): {variable} is not set"):
        await judge.ready()


async def test_a_key_variable_that_the_suite_names_is_the_only_one_looked_at(transport: Transport) -> None:
    environ = {"OPENAI_API_KEY": "wrong", "MY_KEY": f" {KEY}\n"}
    async with FaultServer() as server:
        answered(await ask(server, transport, api_key_env="MY_KEY", environ=environ))
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"

        with pytest.raises(UsageError, match="OTHER_KEY is not set"):
            await ask(server, transport, api_key_env="OTHER_KEY", environ=environ)


async def test_a_server_of_the_users_own_is_asked_without_a_key(transport: Transport) -> None:
    async with FaultServer() as server:
        answered(await ask(server, transport, environ={}))

        assert server.requests[0].headers["authorization"] == "Bearer no-key"


async def test_the_suites_parameters_are_sent(transport: Transport) -> None:
    async with FaultServer() as server:
        model = model_at(server, temperature=0, seed=7, top_k=3)
        answered(await ModelJudge(model, transport, environ={}).judge(question(model)))

        body = server.requests[0].json
    assert (body["temperature"], body["seed"], body["top_k"], body["max_tokens"]) == (0, 7, 3, 64)


async def test_a_parameter_the_provider_does_not_take_is_refused_before_the_first_request(
    transport: Transport,
) -> None:
    model = Model(name="openai/gpt-5-mini", params={"temperature": 0, "max_tokens": 64})
    judge = ModelJudge(model, transport, name="main", environ={"OPENAI_API_KEY": KEY})

    with pytest.raises(
        UsageError, match=r"^judge 'main' .*'openai/gpt-5-mini' does not take .*'temperature'"
    ):
        await judge.ready()


async def test_a_server_of_the_users_own_gets_every_parameter_as_written(transport: Transport) -> None:
    async with FaultServer() as server:
        model = model_at(server, "openai/gpt-5-mini", temperature=0)
        answered(await ModelJudge(model, transport, environ={}).judge(question(model)))

        assert server.requests[0].json["temperature"] == 0


@pytest.mark.parametrize(
    "name", ["stream", "n", "mock_response", "response_format", "drop_params", "api_key"]
)
async def test_a_parameter_that_would_change_what_an_attempt_is_is_refused(
    transport: Transport, name: str
) -> None:
    judge = ModelJudge(Model(name="openai/any", params={name: 1}), transport, environ={})

    with pytest.raises(UsageError, match=repr(name)):
        await judge.ready()


async def test_a_model_of_no_provider_is_refused(transport: Transport) -> None:
    with pytest.raises(UsageError, match="'nonsense' can't be asked: no provider"):
        await ModelJudge(Model(name="nonsense"), transport, environ={}).ready()


@pytest.mark.parametrize("base", ["ftp://h/v1", "h:80", "http://", "file:///etc/passwd", "http://h/\n"])
async def test_an_address_that_is_none_is_refused(transport: Transport, base: str) -> None:
    judge = ModelJudge(Model(name="openai/any", api_base=base), transport, environ={})

    with pytest.raises(UsageError, match="api_base"):
        await judge.ready()


async def test_a_request_for_another_model_is_a_programming_error(transport: Transport) -> None:
    judge = ModelJudge(Model(name="openai/any"), transport, environ={"OPENAI_API_KEY": KEY})

    with pytest.raises(ValueError, match="openai/other"):
        await judge.judge(question(Model(name="openai/other")))


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("status", [200, 401, 500])
async def test_no_secret_survives_in_what_is_returned(transport: Transport, name: str, status: int) -> None:
    secrets = {
        "key": KEY,
        "header": "he4der-value-98765",
        "query": "qu3ry-secret",
        "password": "passw0rd-in-url",
    }
    split = f"{KEY[:9]}\\n{KEY[9:]}"

    def echo(request: Request) -> Reply:
        words = f"Incorrect API key: {request.headers} {secrets} {split} sk-abcdefghijklmnopqrst"
        return Reply(status=status, body=words)

    environ = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY, "HOSTED_VLLM_API_KEY": KEY}
    async with FaultServer(echo) as server:
        model = model_at(server, name)
        base = f"http://me:{secrets['password']}@{(model.api_base or '')[7:]}"
        model = replace(model, api_base=base)
        environ |= {"GATEWAY": secrets["header"], "Q_TOKEN": secrets["query"]}
        judge = ModelJudge(model, transport, headers_env={"X-Gateway": "GATEWAY"}, environ=environ)
        failure, attempt = failed(await judge.judge(question(model)))

        assert server.requests[0].headers["x-gateway"] == secrets["header"]
    told = f"{failure} {attempt}"
    assert MARK in told
    for planted in (*secrets.values(), "sk-abcdefgh", KEY[9:]):
        assert planted not in told


async def test_the_key_never_stands_in_a_verdict(transport: Transport) -> None:
    def echo(request: Request) -> Reply:
        return says(verdicts({"s1": "met"}, rationale=f"I saw {request.headers['authorization']}."))

    async with FaultServer(echo) as server:
        answer = answered(await ask(server, transport))

    assert answer.verdicts[0].rationale == f"I saw Bearer {MARK}."


async def test_the_raw_reply_is_bounded(transport: Transport) -> None:
    async with FaultServer(says("x" * 100_000)) as server:
        _, attempt = failed(await ask(server, transport))

    assert attempt.raw == "x" * 4000


async def test_a_cancelled_call_is_cancelled_and_the_next_one_works(transport: Transport) -> None:
    arrived = asyncio.Event()

    def script(_: Request) -> Reply:
        first = not arrived.is_set()
        arrived.set()
        return Reply(fault="hang") if first else met()

    async with FaultServer(script) as server:
        task = asyncio.create_task(ask(server, transport))
        await arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        answered(await ask(server, transport))


async def test_headers_among_the_parameters_are_sent_as_headers(transport: Transport) -> None:
    async with FaultServer() as server:
        model = model_at(server, extra_headers={"X-Team": "blue"})
        answered(await ModelJudge(model, transport, environ={}).judge(question(model)))

        assert server.requests[0].headers["x-team"] == "blue"
        assert "extra_headers" not in json.dumps(server.requests[0].json)


@pytest.mark.parametrize("output", ["text", "json_schema", "tool"])
async def test_anthropic_is_told_where_the_prefix_ends_only_where_others_share_it(
    transport: Transport, output: Output
) -> None:
    async with FaultServer() as server:
        model = model_at(server, "anthropic/claude-sonnet-4-5", output)
        judge = ModelJudge(model, transport, environ={"ANTHROPIC_API_KEY": KEY})
        alone = question(model)
        shared = replace(alone, shares_prefix=True)
        for request in (alone, shared, replace(shared, statements=("The agent pays.",))):
            assert isinstance(await judge.judge(request), Answer)

    one, two, three = (sent.json["messages"][0]["content"] for sent in server.requests)
    assert [part.get("cache_control") for part in one] == [None]
    assert [part.get("cache_control") for part in two] == [{"type": "ephemeral"}, None]
    assert "".join(part["text"] for part in two) == one[0]["text"]
    assert two[0] == three[0]
    assert two[0]["text"].rstrip().endswith(f"</evidence-{'e' * 16}>")
    assert alone.key == shared.key


async def test_a_server_that_keeps_prefixes_by_itself_is_told_nothing(transport: Transport) -> None:
    async with FaultServer() as server:
        model = model_at(server)
        judge = ModelJudge(model, transport, environ={"OPENAI_API_KEY": KEY})
        await judge.judge(replace(question(model), shares_prefix=True))

    assert isinstance(server.requests[0].json["messages"][-1]["content"], str)


async def test_tokens_that_the_provider_keeps_are_charged_as_such(transport: Transport) -> None:
    price = Price(input=1.0, output=0.0, cached_input=0.1, stored_input=2.0)
    async with FaultServer(Reply(usage=(1000, 10), cached_tokens=300, stored_tokens=500)) as server:
        model = model_at(server, "anthropic/claude-sonnet-4-5")
        judge = ModelJudge(model, transport, environ={"ANTHROPIC_API_KEY": KEY}, price=price)
        answer = await judge.judge(question(model))

    assert isinstance(answer, Answer)
    (attempt,) = answer.attempts
    assert attempt.usage == Usage(input_tokens=1000, output_tokens=10, cached_input_tokens=300)
    assert attempt.cost_usd == pytest.approx((200 * 1 + 300 * 0.1 + 500 * 2) / 1e6)
