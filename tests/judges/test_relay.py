"""Where litellm's requests end up."""

from __future__ import annotations

import httpx
import pytest

from adjudge.judges.calling.relay import Capture, KeptError, Relay
from adjudge.judges.calling.transport import Transport, UnreachableError
from adjudge.testing import FaultServer, Reply


async def test_a_captured_request_is_kept_without_credentials_in_its_address_and_not_sent() -> None:
    capture = Capture()
    async with FaultServer() as server, httpx.AsyncClient(transport=capture) as client:
        with pytest.raises(KeptError):
            await client.post(f"http://me:secret@{server.origin[7:]}/v1?a=b", content=b"body")

        assert server.count == 0
        assert capture.request is not None
        url, headers, body = capture.request
        assert (url, body) == (f"{server.origin}/v1?a=b", b"body")
    assert headers["authorization"].startswith("Basic ")
    assert not {"host", "user-agent", "content-length"} & headers.keys()


async def test_an_attempt_has_one_request_on_the_wire_whatever_the_client_wants() -> None:
    async with FaultServer(Reply(status=503, body=b"later")) as server, Transport() as transport:
        relay = Relay(transport)
        async with httpx.AsyncClient(transport=relay) as client:
            assert (await client.post(server.url, content=b"{}")).text == "later"
            with pytest.raises(UnreachableError, match="second request"):
                await client.post(server.url, content=b"{}")

        assert server.count == 1
    assert relay.response is not None
    assert relay.response.status == 503


@pytest.mark.parametrize(
    ("body", "sent"), [(b'{"data":"UElD"}', 1), (b'{"data":""}', 0)], ids=["whole", "dropped"]
)
async def test_a_request_that_lacks_what_it_must_carry_is_refused_and_not_sent(
    body: bytes, sent: int
) -> None:
    async with FaultServer(Reply(body=b"{}")) as server, Transport() as transport:
        relay = Relay(transport, [b"UElD"])
        async with httpx.AsyncClient(transport=relay) as client:
            await client.post(server.url, content=body)

        assert server.count == sent
    assert relay.response is not None
    assert relay.response.status == (200 if sent else 400)
    assert (b"litellm sends no such image" in relay.response.body) is not bool(sent)
