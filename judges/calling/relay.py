"""Where litellm's requests end up: kept, or sent over our transport. Imported only beside litellm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import httpx

from adjudge.judges.calling.transport import (
    DROPPED,
    Response,
    Transport,
    TransportError,
    UnreachableError,
    refusal,
)

_OUR_OWN = {"host", "connection", "content-length", "accept-encoding", "user-agent", "transfer-encoding"}


class KeptError(Exception):
    """Ends a call of litellm once its request is known."""


class Capture(httpx.AsyncBaseTransport):
    """Keeps the request and sends nothing.

    Attributes:
        request: the request, once there was one.
    """

    def __init__(self) -> None:
        self.request: tuple[str, dict[str, str], bytes] | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Keep address, headers and body of `request`."""
        self.request = await _parts(request)
        raise KeptError


class Relay(httpx.AsyncBaseTransport):
    """Sends the one request of an attempt over our transport, and remembers how that went.

    Attributes:
        response: the response as it came, once there was one.
        error: what the transport raised, if it did.
    """

    def __init__(self, transport: Transport, carries: Sequence[bytes] = ()) -> None:
        """Send over `transport` a request whose body holds all of `carries`; none that lacks any is sent."""
        self.response: Response | None = None
        self.error: TransportError | None = None
        self._transport, self._carries = transport, carries
        self._used = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send `request` over our transport, unless this attempt has had its request (C1)."""
        if self._used:
            raise UnreachableError("litellm wanted to send a second request")
        self._used = True
        parts = await _parts(request)
        try:
            dropped = any(data not in parts[2] for data in self._carries)
            self.response = refusal(DROPPED) if dropped else await self._transport.post(*parts)
        except TransportError as error:
            self.error = error
            raise
        return httpx.Response(
            self.response.status, headers=_without(self.response.headers), content=self.response.body
        )


async def _parts(request: httpx.Request) -> tuple[str, dict[str, str], bytes]:
    url = request.url.copy_with(username=None, password=None)  # httpx has made a header of them
    return str(url), _without(request.headers), await request.aread()


def _without(headers: Mapping[str, str]) -> dict[str, str]:
    lower = ((name.lower(), value) for name, value in headers.items())
    return {
        name: value
        for name, value in lower
        if name not in _OUR_OWN and name != "content-encoding" and not name.startswith("x-stainless")
    }
