"""What every test runs under: no network but this machine's own, and none of the developer's settings."""

from __future__ import annotations

import os
import sys
from ipaddress import ip_address
from typing import Any

import pytest
from hypothesis import HealthCheck, settings


def pytest_configure() -> None:
    """Let Hypothesis take its time: how fast a machine is, and what else it does, decides no test."""
    settings.register_profile("any speed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.register_profile("soak", settings.get_profile("any speed"), max_examples=5000)
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "any speed"))


@pytest.fixture(scope="session", autouse=True)
def no_network_but_loopback() -> None:
    """Fail a test that looks up or calls another machine. An audit hook sees every socket of the process."""
    sys.addaudithook(_refuse_other_machines)


@pytest.fixture(autouse=True)
def no_settings_of_the_developer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take `ADJUDGE_*`, API keys and proxies out of the environment."""
    for name in list(os.environ):
        if name.startswith("ADJUDGE_") or name.lower().endswith(("_api_key", "_proxy")):
            monkeypatch.delenv(name)


def _refuse_other_machines(event: str, args: tuple[Any, ...]) -> None:
    if event in {"socket.connect", "socket.sendto"}:
        address: tuple[str, int] | str | bytes = args[1]
        host = address[0] if isinstance(address, tuple) else None  # a path is a socket of this machine
    elif event == "socket.getaddrinfo":
        host = args[0]
    else:
        return
    if host is not None and not _is_loopback(host):
        # A BaseException: code under test that catches network errors must not take it for one.
        pytest.fail(f"a test reached for {host!r}: only loopback is allowed")


def _is_loopback(host: str | bytes) -> bool:
    name = host.decode() if isinstance(host, bytes) else host
    if name in {"", "localhost"}:
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False
