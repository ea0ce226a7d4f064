"""litellm as a translator: what is sent is what litellm would send, and nothing else happens."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import openai
import pytest

from adjudge.judges.calling.access import Access
from adjudge.judges.calling.families import FAMILIES
from adjudge.judges.calling.model import ModelJudge
from adjudge.judges.calling.output import mode_arguments
from adjudge.judges.calling.provider import load
from adjudge.judges.calling.transport import Transport
from adjudge.judges.failure import Failure, UsageError
from adjudge.judges.prompt import messages
from adjudge.judges.request import Evidence, JudgeRequest, Model, Output, Prompt
from adjudge.judges.verdict import Answer
from adjudge.testing import FaultServer, Reply, not_met, verdicts

# Pydantic warns once for each type of litellm's that is read-only; litellm silences that, pytest does not.
KEY = "k3y-of-the-contract-tests"
CHAT = "/v1/chat/completions"

# family: model, path, the header that authorises, where the schema stands in the body
CONTRACTS: dict[str, tuple[str, str, str, str]] = {
    "openai": ("openai/gpt-4o", CHAT, "authorization", "response_format"),
    "azure": (
        "azure/my-deployment",
        "/v1/openai/deployments/my-deployment/chat/completions?api-version=2024-10-21",
        "api-key",
        "response_format",
    ),
    "anthropic": ("anthropic/claude-sonnet-4-5", "/v1/messages", "x-api-key", "output_format"),
    "gemini": (
        "gemini/gemini-2.5-flash",
        "/v1/models/gemini-2.5-flash:generateContent",
        "x-goog-api-key",
        "generationConfig",
    ),
    "ollama_chat": ("ollama_chat/llama3", "/v1/api/chat", "authorization", "format"),
    "openrouter": ("openrouter/openai/gpt-4o", CHAT, "authorization", "response_format"),
    "hosted_vllm": ("hosted_vllm/any", CHAT, "authorization", "response_format"),
    "mistral": ("mistral/mistral-small-latest", CHAT, "authorization", "response_format"),
    "groq": ("groq/llama-3.3-70b-versatile", CHAT, "authorization", "tools"),
    "deepseek": ("deepseek/deepseek-chat", CHAT, "authorization", "response_format"),
    "xai": ("xai/grok-4", CHAT, "authorization", "response_format"),
    "together_ai": ("together_ai/any", CHAT, "authorization", "response_format"),
    "fireworks_ai": ("fireworks_ai/any", CHAT, "authorization", "response_format"),
    "perplexity": ("perplexity/sonar", CHAT, "authorization", "response_format"),
    "cerebras": ("cerebras/any", CHAT, "authorization", "response_format"),
    "deepinfra": ("deepinfra/any", CHAT, "authorization", "response_format"),
    "litellm_proxy": ("litellm_proxy/any", CHAT, "authorization", "response_format"),
    "llamafile": ("llamafile/any", CHAT, "authorization", "response_format"),
    "lm_studio": ("lm_studio/any", CHAT, "authorization", "response_format"),
    "moonshot": ("moonshot/kimi-k2", CHAT, "authorization", "response_format"),
    "nvidia_nim": ("nvidia_nim/any", CHAT, "authorization", "response_format"),
    "sambanova": ("sambanova/any", CHAT, "authorization", "response_format"),
}


@pytest.fixture
async def transport() -> AsyncIterator[Transport]:
    async with Transport() as opened:
        yield opened


def question(model: Model) -> JudgeRequest:
    return JudgeRequest(
        evidence=Evidence(text='{"turn":1}', digest="e" * 64, turns=(("Hello.",),)),
        statements=("The agent greets.",),
        prompt=Prompt(name="p", system="Judge.", user="{evidence}\n{statements}", digest="p"),
        model=model,
    )


def model_at(server: FaultServer, family: str, output: Output = "json_schema", **params: Any) -> Model:
    name = CONTRACTS[family][0]
    base = server.origin if family == "anthropic" else server.url
    more = {"api_version": "2024-10-21"} if family == "azure" else {}
    return Model(name=name, api_base=base, params={"max_tokens": 64, **more, **params}, output=output)


async def ask(server: FaultServer, transport: Transport, model: Model) -> Answer | Failure:
    environ = {variable: KEY for family in FAMILIES.values() for variable in family.keys}
    return await ModelJudge(model, transport, environ=environ).judge(question(model))


def test_every_family_has_a_contract() -> None:
    assert CONTRACTS.keys() == FAMILIES.keys()


@pytest.mark.parametrize("family", CONTRACTS)
async def test_a_family_is_asked_and_read_in_its_own_way(transport: Transport, family: str) -> None:
    _, path, header, place = CONTRACTS[family]
    async with FaultServer(not_met()) as server:
        answer = await ask(server, transport, model_at(server, family))

        assert isinstance(answer, Answer), answer
        assert server.count == 1
        sent = server.requests[0]
    assert answer.verdicts[0].decision == "not_met"
    assert answer.attempts[0].usage.input_tokens == 100
    assert sent.path == path
    assert KEY in sent.headers[header]
    assert "rationale" in json.dumps(sent.json[place])
    assert '"Judge."' in json.dumps(sent.json)
    assert sent.headers["content-type"] == "application/json"
    assert sent.headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("family", CONTRACTS)
async def test_what_is_sent_is_what_litellm_sends_itself(transport: Transport, family: str) -> None:
    async with FaultServer() as server:
        model = model_at(server, family)
        await ask(server, transport, model)
        await sent_by_litellm(model)

        ours, theirs = server.requests
    assert ours.path == theirs.path
    assert ours.json == theirs.json
    not_compared = {"host", "user-agent", "connection", "content-length", "content-type", "accept-encoding"}
    names = {name for name in theirs.headers if not name.startswith("x-stainless")} - not_compared
    assert {name: ours.headers[name] for name in names} == {name: theirs.headers[name] for name in names}


async def sent_by_litellm(model: Model) -> None:
    import litellm  # after a judge has made it ready
    from litellm.llms.custom_httpx.async_client_cleanup import (  # pyright: ignore[reportMissingTypeStubs]
        close_litellm_async_clients,
    )

    litellm.in_memory_llm_clients_cache.flush_cache()
    # litellm can't read every reply it gets; what counts here is what it sends.
    with contextlib.suppress(openai.APIConnectionError):
        await litellm.acompletion(  # pyright: ignore[reportUnknownMemberType]
            model=model.name,
            messages=messages(question(model)),
            api_base=model.api_base,
            api_key=KEY,
            max_retries=0,
            num_retries=0,
            **model.params,
            **mode_arguments("json_schema", ("s1",)),
        )
    await close_litellm_async_clients()


@pytest.mark.parametrize(
    "family", ["openai", "anthropic", "gemini", "mistral", "ollama_chat", "groq", "azure"]
)
async def test_a_forced_tool_call_is_asked_and_read_in_each_interface(
    transport: Transport, family: str
) -> None:
    async with FaultServer(not_met()) as server:
        answer = await ask(server, transport, model_at(server, family, "tool"))

        assert "submit_verdicts" in json.dumps(server.requests[0].json["tools"])
    assert isinstance(answer, Answer), answer
    assert answer.verdicts[0].decision == "not_met"


async def test_an_older_claude_is_given_the_schema_as_a_tool(transport: Transport) -> None:
    async with FaultServer(not_met()) as server:
        model = Model(name="anthropic/claude-3-haiku-20240307", api_base=server.origin, output="json_schema")
        answer = await ask(server, transport, model)

        assert server.requests[0].forced_tool == "json_tool_call"
    assert isinstance(answer, Answer), answer


# Learning sends nothing


def access(name: str, output: Output = "auto", **params: Any) -> Access:
    keys = {variable: KEY for family in FAMILIES.values() for variable in family.keys}
    model = Model(name=name, params=params, output=output)
    return Access(label="judge 'j'", model=model, api_key_env=None, headers_env={}, environ=keys)


async def test_learning_a_model_at_its_providers_own_address_sends_nothing() -> None:
    # Whatever is sent fails this test: only loopback may be reached.
    for name in ("openai/gpt-5.4", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash", "groq/x"):
        provider = await load(access(name))

        assert await provider.modes(("json_schema", "tool", "text")) == ("json_schema", "tool", "text")


async def test_azure_needs_an_address() -> None:
    with pytest.raises(UsageError, match="needs api_base or AZURE_API_BASE"):
        await load(access("azure/x"))


async def test_an_output_that_litellm_can_not_ask_for_is_refused() -> None:
    provider = await load(access("perplexity/sonar"))

    with pytest.raises(UsageError, match="can't be asked with output 'tool'"):
        await provider.modes(("tool",))


async def test_a_price_comes_from_the_map_of_the_provider_asked() -> None:
    known = (await load(access("openai/gpt-4o-mini"))).price
    assert known is not None
    assert (known.input, known.output, known.cached_input) == (0.15, 0.6, 0.075)

    assert (await load(access("hosted_vllm/gpt-4o-mini"))).price is None


# Providers that go through litellm call by call


def bedrock(server: FaultServer) -> Model:
    params = {
        "aws_access_key_id": "AKIAABCDEFGHIJKLMNOP",
        "aws_secret_access_key": "s3cret-of-the-cloud",
        "aws_region_name": "eu-central-1",
        "aws_bedrock_runtime_endpoint": server.origin,
    }
    return Model(name="bedrock/anthropic.claude-3-5-sonnet-20240620-v1:0", params=params, output="text")


def converse(text: str, stop: str = "end_turn") -> Reply:
    message = {"role": "assistant", "content": [{"text": text}]}
    usage = {"inputTokens": 9, "outputTokens": 4, "totalTokens": 13}
    return Reply(body={"output": {"message": message}, "stopReason": stop, "usage": usage})


@pytest.fixture
def cloud_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAABCDEFGHIJKLMNOP")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret-of-the-cloud")


@pytest.mark.usefixtures("cloud_keys")
async def test_a_signed_request_goes_through_litellm_over_our_transport(transport: Transport) -> None:
    async with FaultServer(converse(verdicts({"s1": "met"}))) as server:
        answer = await ask(server, transport, bedrock(server))

        assert isinstance(answer, Answer), answer
        assert server.count == 1
        sent = server.requests[0]
    assert answer.attempts[0].usage.input_tokens == 9
    assert sent.path.endswith("/converse")
    assert sent.headers["authorization"].startswith("AWS4-HMAC-SHA256")
    assert sent.headers["accept-encoding"] == "identity"


@pytest.mark.usefixtures("cloud_keys")
@pytest.mark.parametrize(
    ("reply", "cause"),
    [
        (Reply(status=429, body={"message": "Too many requests"}), "rate_limited"),
        (Reply(status=500, body={"message": "broken"}), "unavailable"),
        (Reply(status=403, body={"message": "denied"}), "auth"),
        (Reply(status=400, body={"message": "Input is too long for requested model."}), "input_too_long"),
        (Reply(status=307, headers={"Location": "http://127.0.0.1:9/"}), "bad_request"),
        (Reply(fault="reset"), "unavailable"),
        (Reply(fault="cut"), "unavailable"),
        (Reply(body="<html>"), "malformed_output"),
        (converse("{}", "max_tokens"), "truncated"),
        (converse(verdicts({"s1": "met"}), "weird"), "malformed_output"),
        (converse("no verdict"), "malformed_output"),
    ],
)
async def test_a_call_through_litellm_is_one_request_and_the_right_cause(
    transport: Transport, reply: Reply, cause: str
) -> None:
    async with FaultServer(reply) as server:
        failure = await ask(server, transport, bedrock(server))

        assert isinstance(failure, Failure)
        assert server.count == 1
    assert failure.cause == cause


# Hygiene, in processes of their own


def run(code: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=cwd,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[2]), **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def test_importing_the_judges_imports_no_heavy_library(tmp_path: Path) -> None:
    code = """
import sys, adjudge.judges.calling.model, adjudge.judges.calling.transport, adjudge.testing
print([name for name in ("litellm", "aiohttp", "httpx", "openai", "tenacity") if name in sys.modules])
"""
    done = run(code, tmp_path)

    assert (done.stdout, done.stderr) == ("[]\n", "")


CALL = """
import asyncio, sys
from adjudge.judges.calling.model import ModelJudge
from adjudge.judges.request import Evidence, JudgeRequest, Model, Prompt
from adjudge.judges.calling.transport import Transport
from adjudge.testing import FaultServer, Reply, met

async def main():
    async with FaultServer([Reply(status=500), met()]) as server, Transport() as transport:
        model = Model(name="openai/gpt-4o-mini", api_base=server.url, params={"max_tokens": 9})
        judge = ModelJudge(model, transport)
        assert "litellm" not in sys.modules
        request = JudgeRequest(
            evidence=Evidence(text="", digest="e" * 64, turns=()), statements=("A.",), model=model,
            prompt=Prompt(name="p", system="", user="{evidence} {statements}", digest=""))
        for _ in range(2):
            outcome = await judge.judge(request)
            print(type(outcome).__name__)
        print(sorted(server.requests[0].headers["authorization"].split()))

asyncio.run(main())
"""


def test_a_call_prints_nothing_reaches_nobody_else_and_reads_no_env_file(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(
        "OPENAI_API_KEY=from-a-hostile-file\nOPENAI_BASE_URL=http://127.0.0.1:9/\nhttp_proxy=http://127.0.0.1:9\n"
    )
    guard = (
        "import sys\n"
        "def guard(event, args):\n"
        "    if event == 'socket.connect' and args[1][0] != '127.0.0.1' or event == 'socket.getaddrinfo' and "
        "args[0] != '127.0.0.1':\n"
        "        sys.stderr.write(f'{event} {args}\\n')\n"
        "sys.addaudithook(guard)\n"
    )

    done = run(guard + CALL, tmp_path)

    assert done.stdout == "Failure\nAnswer\n['Bearer', 'no-key']\n"
    assert done.stderr == ""


def test_importing_the_translator_does_not_import_litellm() -> None:
    code = "import sys, adjudge.judges.calling.provider; print({'litellm', 'httpx'} & sys.modules.keys())"
    done = run(code, Path.cwd())

    assert done.stdout == "set()\n"
