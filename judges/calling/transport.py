"""The edge to the network: one HTTP session, no redirects, no compression, no cookies, bounded bodies.

Only this module imports aiohttp. Its errors:

    TransportError
      UnreachableError  no connection, or it ended before a response
      CutShortError     the connection ended within the response
      OversizedError    more bytes than are read
      EncodedError      a compressed body, though none was asked for
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import orjson

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession
    from yarl import URL

LARGEST = 8 * 2**20
"""Bytes of a response body that are read."""


_HEADERS = {"Accept-Encoding": "identity", "Content-Type": "application/json", "User-Agent": "adjudge"}


class TransportError(Exception):
    """A request that brought no whole response. The message says what happened, in one line."""


class UnreachableError(TransportError):
    """No connection, or it ended before a response began."""


class CutShortError(TransportError):
    """The connection ended within the response."""


class OversizedError(TransportError):
    """The response has more bytes than are read."""


class EncodedError(TransportError):
    """The response is compressed, though the request refused that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """An HTTP response, whatever its status.

    Attributes:
        headers: names in lower case; of repeated ones the last.
        body: whole, at most `LARGEST` bytes.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes


DROPPED = "litellm sends no such image, audio or file to this model; take it out of the judge's `media`"
"""Why a request is not sent that would lack some of what the judge is to be shown."""


def refusal(message: str) -> Response:
    """The response to a request that is refused before it is sent."""
    return Response(status=400, headers={}, body=orjson.dumps({"error": {"message": message}}))


class Transport:
    """The HTTP session of a process. Opens with its first request; close it in the same event loop.

    Redirects are not followed and come back as they are: a credential never goes to an address that a server
    names. Deadlines are the caller's.
    """

    def __init__(self, *, connections: int = 100, trust_env: bool = False) -> None:
        """`connections` open at once, at most; proxies of the environment are used with `trust_env` only."""
        self._connections = connections
        self._trust_env = trust_env
        self._session: ClientSession | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the session, if it was opened, and its connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Response:
        """Send one JSON request, once, to `url` exactly as it is written.

        Raises:
            TransportError: one of its kinds, named above.
        """
        from aiohttp import ClientError, ClientPayloadError
        from yarl import URL

        session = self._session or self._open()
        address = URL(url, encoded=True)
        try:
            async with session.post(address, data=body, headers=headers, allow_redirects=False) as response:
                return await _whole(response)
        except ClientPayloadError:
            raise CutShortError("the connection ended within the response") from None
        except (ClientError, OSError) as error:
            raise UnreachableError(_reason(error, address)) from None

    def _open(self) -> ClientSession:
        from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector

        self._session = ClientSession(
            connector=TCPConnector(limit=self._connections),
            cookie_jar=DummyCookieJar(),
            headers=_HEADERS,
            timeout=ClientTimeout(total=None, sock_connect=None),
            auto_decompress=False,
            trust_env=self._trust_env,
        )
        return self._session


async def _whole(response: ClientResponse) -> Response:
    headers = {name.lower(): value for name, value in response.headers.items()}
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"", "identity"}:
        response.close()
        raise EncodedError("the response is compressed, though the request refused that")
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > LARGEST:
            response.close()
            raise OversizedError(f"the response has more than {LARGEST} bytes")
    return Response(status=response.status, headers=headers, body=bytes(body))


def _reason(error: Exception, address: URL) -> str:
    """What happened, in one line: with the host, but not the address, which may hold credentials."""
    host = f"{address.host}:{address.port}"
    errno = error.errno if isinstance(error, OSError) else None
    detail = os.strerror(errno) if errno is not None and errno > 0 else type(error).__name__
    return f"the connection to {host} failed: {detail}"
