"""The edge to the network, against a server that misbehaves."""

from __future__ import annotations

import asyncio
import gzip
import resource
from collections.abc import AsyncIterator

import pytest

from adjudge.judges.calling.transport import (
    LARGEST,
    CutShortError,
    EncodedError,
    OversizedError,
    Transport,
    TransportError,
    UnreachableError,
)
from adjudge.testing import Fault, FaultServer, Reply, met

PATH = "/v1/chat/completions"


@pytest.fixture
async def transport() -> AsyncIterator[Transport]:
    async with Transport() as opened:
        yield opened


async def post(transport: Transport, server: FaultServer, **headers: str) -> bytes:
    return (await transport.post(server.origin + PATH, headers, b'{"messages": []}')).body


async def test_a_response_comes_back_whole_whatever_its_status(transport: Transport) -> None:
    reply = Reply(status=503, headers={"Retry-After": "7", "X-A": "b"}, body=b"later")
    async with FaultServer(reply) as server:
        response = await transport.post(server.origin + PATH, {}, b"{}")

    assert (response.status, response.body) == (503, b"later")
    assert (response.headers["retry-after"], response.headers["x-a"]) == ("7", "b")


async def test_a_redirect_comes_back_and_its_target_receives_nothing(transport: Transport) -> None:
    async with FaultServer() as target:
        async with FaultServer(Reply(status=307, headers={"Location": target.url})) as server:
            response = await transport.post(server.origin + PATH, {"x-api-key": "secret"}, b"{}")

        assert response.status == 307
        assert target.count == 0


async def test_a_compressed_body_is_refused_unread(transport: Transport) -> None:
    bomb = Reply(headers={"Content-Encoding": "gzip"}, body=gzip.compress(b" " * 50_000_000))
    async with FaultServer(bomb) as server:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with pytest.raises(EncodedError):
            await post(transport, server)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # KiB

        assert server.requests[0].headers["accept-encoding"] == "identity"


async def test_a_body_is_read_up_to_a_limit(transport: Transport) -> None:
    async with FaultServer([Reply(body=b" " * LARGEST), Reply(body=b" " * (LARGEST + 1))]) as server:
        assert len(await post(transport, server)) == LARGEST
        with pytest.raises(OversizedError):
            await post(transport, server)


@pytest.mark.parametrize(
    ("fault", "raised"),
    [
        ("reset", UnreachableError),
        ("close", UnreachableError),
        ("half_close", UnreachableError),
        ("cut", CutShortError),
        ("cut_chunk", CutShortError),
    ],
)
async def test_a_broken_connection_is_an_error_and_the_next_request_works(
    transport: Transport, fault: Fault, raised: type[TransportError]
) -> None:
    async with FaultServer([Reply(fault=fault), met()]) as server:
        with pytest.raises(raised):
            await post(transport, server)
        assert await post(transport, server)

        assert server.count == 2


async def test_a_keep_alive_connection_that_died_between_calls_is_not_tried_twice(
    transport: Transport,
) -> None:
    async with FaultServer([met(), Reply(fault="close"), met()]) as server:
        await post(transport, server)
        with pytest.raises(UnreachableError):
            await post(transport, server)

        assert server.count == 2


async def test_a_closed_port_is_unreachable_and_the_message_names_no_more_than_the_host(
    transport: Transport,
) -> None:
    async with FaultServer() as server:
        gone = server.origin
    with pytest.raises(UnreachableError, match=rf"{gone[7:]} failed: Connection refused$"):
        await transport.post(gone + "/v1?key=secret", {}, b"{}")


@pytest.mark.parametrize("fault", ["trickle", "trickle_head", "hang"])
async def test_a_deadline_ends_a_request_that_trickles_or_hangs(transport: Transport, fault: Fault) -> None:
    async with FaultServer(Reply(fault=fault)) as server:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await post(transport, server)

        assert server.count == 1


async def test_cookies_are_not_kept(transport: Transport) -> None:
    async with FaultServer(Reply(headers={"Set-Cookie": "a=b; Path=/"})) as server:
        named = server.origin.replace("127.0.0.1", "localhost")  # no client keeps cookies of a bare number
        for _ in range(2):
            await transport.post(named + PATH, {}, b"{}")

        assert "cookie" not in server.requests[1].headers


async def test_a_proxy_of_the_environment_is_used_only_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    async with FaultServer(Reply(body=b"from the proxy")) as proxy, FaultServer(Reply(body=b"x")) as server:
        monkeypatch.setenv("http_proxy", proxy.origin)
        monkeypatch.delenv("no_proxy", raising=False)
        async with Transport() as direct, Transport(trust_env=True) as proxied:
            assert await post(direct, server) == b"x"
            assert await post(proxied, server) == b"from the proxy"


async def test_an_address_is_sent_exactly_as_written(transport: Transport) -> None:
    async with FaultServer() as server:
        await transport.post(server.origin + "/model/a%3A0/converse?v=1%2B1", {}, b"{}")

        assert server.requests[0].path == "/model/a%3A0/converse?v=1%2B1"


async def test_as_many_requests_are_in_flight_as_there_are_connections() -> None:
    gate, seen = asyncio.Event(), 0
    arrived = asyncio.Event()

    def script(_: object) -> Reply:
        nonlocal seen
        seen += 1
        if seen == 3:
            arrived.set()
        return Reply(fault="hang")

    async with FaultServer(script) as server, Transport(connections=3) as transport:
        tasks = [asyncio.create_task(post(transport, server)) for _ in range(5)]
        await asyncio.wait_for(arrived.wait(), 5)
        gate.set()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

        assert seen == 3


async def test_closing_twice_or_unopened_is_harmless() -> None:
    transport = Transport()
    await transport.close()
    async with FaultServer() as server:
        await post(transport, server)
    await transport.close()
    await transport.close()
