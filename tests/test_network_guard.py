"""The guard that keeps tests on this machine."""

from __future__ import annotations

import socket

import pytest

OTHER_MACHINE = "192.0.2.1"  # reserved for documentation, RFC 5737


def test_a_connection_to_another_machine_fails_the_test() -> None:
    with socket.socket() as client, pytest.raises(pytest.fail.Exception, match="only loopback"):
        client.connect((OTHER_MACHINE, 80))


def test_looking_up_another_machine_fails_the_test() -> None:
    with pytest.raises(pytest.fail.Exception, match="only loopback"):
        socket.getaddrinfo("judge.example", 443)


def test_a_loopback_connection_is_let_through() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as client:
        client.connect(server.getsockname())

        assert client.getpeername() == server.getsockname()
