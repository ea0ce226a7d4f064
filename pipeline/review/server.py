"""The server of the review page: loopback only, one secret address, nothing from or to anywhere else."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adjudge.judges.failure import AdjudgeError, StorageError, UsageError
from adjudge.pipeline.review.page import served_page
from adjudge.pipeline.review.review import Review

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_MOST_BYTES = 1 << 17


class NewLabel(BaseModel):
    """What the page sends when a statement is labelled; `grade` is its place in the conversation, from 0."""

    model_config = ConfigDict(extra="forbid", strict=True)

    conversation: int = Field(ge=0)
    grade: int = Field(ge=0)
    statement: str
    label: str
    note: str = Field(default="", max_length=10_000)


def listen(port: int) -> socket.socket:
    """A socket on 127.0.0.1; port 0 takes a free one.

    Raises:
        UsageError: the port is taken or not allowed.
    """
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port))
    except (OSError, OverflowError) as error:
        listening.close()
        raise UsageError(f"can't listen on port {port}: {error}; choose another --port") from None
    listening.listen()
    return listening


def serve(review: Review, title: str, listening: socket.socket, ready: Callable[[str], object]) -> None:
    """Serve until interrupted. Once it serves, `ready` is told the address, which holds the secret."""
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            ready(f"http://127.0.0.1:{port}/{token}/")  # from here on, an interrupt is heard

    port, token = listening.getsockname()[1], secrets.token_urlsafe(24)
    config = uvicorn.Config(
        guarded(review_app(review, title), port=port, token=token),
        log_level="error",
        access_log=False,
        lifespan="off",
        server_header=False,
    )
    Server(config).run(sockets=[listening])


def review_app(review: Review, title: str) -> Starlette:
    """The page, its files and what it asks for; to be `guarded`."""

    def page(_: Request) -> Response:
        return HTMLResponse(served_page(title))

    def run(_: Request) -> Response:
        return _json(review.run())

    def conversation(request: Request) -> Response:
        number = request.path_params["number"]
        if number >= len(review):
            return _problem(404, f"there are {len(review)} conversations")
        return _json(orjson.dumps(review.conversation(number)))

    def search(request: Request) -> Response:
        return _json(orjson.dumps(review.search(request.query_params.get("words", ""))))

    async def label(request: Request) -> Response:
        if request.headers.get("content-type") != "application/json":
            return _problem(415, "a label is JSON")
        try:
            new = NewLabel.model_validate_json(await _body(request))
        except ValidationError as error:
            return _problem(422, str(error.errors(include_url=False, include_input=False)[0]["msg"]))
        if new.conversation >= len(review):
            return _problem(404, f"there are {len(review)} conversations")
        done = await run_in_threadpool(
            review.label, new.conversation, new.grade, new.statement, new.label, new.note
        )
        return _json(orjson.dumps(done))

    return Starlette(
        routes=[
            Route("/", page),
            Route("/run", run),
            Route("/conversations/{number:int}", conversation),
            Route("/search", search),
            Route("/labels", label, methods=["POST"]),
            Mount("/static", StaticFiles(packages=[("adjudge.pipeline.review", "static")])),
        ],
        exception_handlers={AdjudgeError: _failed, ValidationError: _refused},
    )


def guarded(app: ASGIApp, *, port: int, token: str) -> ASGIApp:
    """`app` for those who know the address alone, below `/<token>`.

    A request must name this machine as its host, so that no other site's name can be pointed here; if it
    says where it comes from, that must be this page; one that changes something must say so.
    """
    hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        host, origin = headers.get(b"host", ""), headers.get(b"origin")
        given, _, rest = scope["path"].removeprefix("/").partition("/")
        reads = scope["method"] in ("GET", "HEAD")

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                more = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        answer = app
        if host not in hosts or origin not in ({f"http://{host}", None} if reads else {f"http://{host}"}):
            answer = PlainTextResponse("this page is open to itself alone", 403)
        elif not secrets.compare_digest(given.encode(), token.encode()):
            answer = PlainTextResponse("open the address that `adjudge review` printed", 404)
        path = f"/{rest}"
        await answer({**scope, "path": path, "raw_path": path.encode()}, receive, with_headers)

    return guard


async def _body(request: Request) -> bytes:
    """The body, if it is of a length that a label can have; else nothing."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MOST_BYTES:
            return b""
    return body


def _json(body: bytes) -> Response:
    return Response(body, media_type="application/json")


def _problem(status: int, problem: str) -> Response:
    return Response(orjson.dumps({"problem": problem}), status, media_type="application/json")


def _failed(_: Request, error: Exception) -> Response:
    return _problem(500 if isinstance(error, StorageError) else 422, str(error))


def _refused(_: Request, error: Any) -> Response:
    return _problem(422, str(error.errors(include_url=False, include_input=False)[0]["msg"]))
