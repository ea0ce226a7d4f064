"""The server of the review page: who may ask, and what it answers to anybody else."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from adjudge.pipeline.rundir import Run

if TYPE_CHECKING:
    from tests.review.conftest import Serve, Served

LABEL = {"conversation": 0, "grade": 0, "statement": "s1", "label": "met", "note": ""}


def ask(
    it: Served, path: str, method: str = "GET", body: Any = None, **headers: str
) -> tuple[HTTPResponse, bytes]:
    """What the server answers to a request with these headers."""
    connection = HTTPConnection("127.0.0.1", it.port)
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, data, named)
    response = connection.getresponse()
    read = response.read()
    connection.close()
    return response, read


def own(it: Served) -> dict[str, str]:
    return {"Origin": f"http://127.0.0.1:{it.port}", "Content_Type": "application/json"}


def test_the_page_is_there_for_who_knows_its_address(read_only: Served) -> None:
    response, body = ask(read_only, f"/{read_only.token}/")

    assert response.status == 200
    assert b"<main" in body


@pytest.mark.parametrize(
    "path", ["/", "/run", "/static/app.js", "/{}x/run", "/x{}/run", "//{}/run", "/é/run"]
)
def test_without_the_secret_there_is_nothing(read_only: Served, path: str) -> None:
    quoted = path.format(read_only.token).replace("é", "%C3%A9")
    response, body = ask(read_only, quoted)

    assert response.status == 404
    assert b"adjudge review" in body


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{}", "127.0.0.1", "localhost:1", "127.0.0.1:{}.evil", ""]
)
def test_another_host_is_refused(read_only: Served, host: str) -> None:
    response, _ = ask(read_only, f"/{read_only.token}/run", Host=host.format(read_only.port))

    assert response.status == 403


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:{}", "http://127.0.0.1:1"]
)
def test_another_origin_is_refused(read_only: Served, origin: str) -> None:
    response, _ = ask(read_only, f"/{read_only.token}/run", Origin=origin.format(read_only.port))

    assert response.status == 403


def test_localhost_is_this_machine_too(read_only: Served) -> None:
    response, _ = ask(read_only, f"/{read_only.token}/run", Host=f"localhost:{read_only.port}")

    assert response.status == 200


def test_every_answer_forbids_what_the_page_does_not_need(read_only: Served) -> None:
    for path in (f"/{read_only.token}/", f"/{read_only.token}/run", f"/{read_only.token}/static/app.js", "/"):
        response, _ = ask(read_only, path)
        policy = response.headers["Content-Security-Policy"]
        assert policy.startswith(
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'"
        )
        assert "unsafe" not in policy
        assert response.headers["X-Frame-Options"] == "DENY"
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["Referrer-Policy"] == "no-referrer"
        assert response.headers["Cache-Control"] == "no-store"
        assert "Access-Control-Allow-Origin" not in response.headers


def test_only_this_machine_can_reach_it(read_only: Served) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.2", read_only.port))  # refused where it listens on every address


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": None}, 403),
        ({"Content_Type": "text/plain"}, 415),
    ],
    ids=["another origin", "no origin", "a form's type"],
)
def test_a_label_from_elsewhere_is_not_taken(
    labelled: Served, change: dict[str, str | None], status: int
) -> None:
    before = labelled.labels.read_bytes() if labelled.labels.exists() else b""
    headers = {name: value for name, value in (own(labelled) | change).items() if value is not None}
    response, _ = ask(labelled, f"/{labelled.token}/labels", "POST", LABEL, **headers)

    assert response.status == status
    assert (labelled.labels.read_bytes() if labelled.labels.exists() else b"") == before


def test_what_is_no_label_is_not_taken_and_a_label_is(serve: Serve) -> None:
    wrong: list[tuple[Any, int]] = [
        (LABEL | {"label": "perhaps"}, 422),
        (LABEL | {"statement": "s9"}, 422),
        (LABEL | {"grade": 9}, 422),
        (LABEL | {"conversation": 99}, 404),
        (LABEL | {"conversation": -1}, 422),
        (LABEL | {"note": "x" * 10_001}, 422),
        (LABEL | {"path": "/etc/passwd"}, 422),
        (b"[" * 200_000, 422),
        (b"", 422),
    ]
    with serve() as it:
        for body, status in wrong:
            response, said = ask(it, f"/{it.token}/labels", "POST", body, **own(it))
            assert (response.status, bool(json.loads(said)["problem"])) == (status, True), body
        assert not it.labels.exists()

        response, said = ask(it, f"/{it.token}/labels", "POST", LABEL, **own(it))
        assert response.status == 200
        assert json.loads(said)["mark"] == {"labelled": 1, "disagrees": []}
        assert len(it.labels.read_text().splitlines()) == 1


@pytest.mark.parametrize("number", ["6", "99999999999999999999"])
def test_a_conversation_that_is_not_there_is_not_found(read_only: Served, number: str) -> None:
    response, _ = ask(read_only, f"/{read_only.token}/conversations/{number}")

    assert response.status == 404


@pytest.mark.parametrize("path", ["static/../page.html", "static/%2e%2e/page.html", "static//etc/passwd"])
def test_no_file_but_the_pages_own_is_given(read_only: Served, path: str) -> None:
    response, _ = ask(read_only, f"/{read_only.token}/{path}")

    assert response.status == 404


def test_an_interrupt_ends_it_without_a_complaint(serve: Serve) -> None:
    with serve() as it:
        it.process.send_signal(signal.SIGINT)

        assert it.process.wait() == 0


def test_a_port_that_is_taken_is_a_usage_error(run: Run, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "adjudge", "review", str(run.path), "--no-open", "--port", port]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert done.stderr.startswith(f"adjudge: can't listen on port {port}")


def test_a_file_that_is_no_labels_is_a_usage_error(run: Run, tmp_path: Path) -> None:
    (tmp_path / "labels.jsonl").write_text('{"label": "met"}\n')
    command = [
        sys.executable,
        "-m",
        "adjudge",
        "review",
        str(run.path),
        "--no-open",
        "--labels",
        "labels.jsonl",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert "labels.jsonl:1" in done.stderr
