"""A lease is held by one, and by nobody who is dead (C7, R11)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from adjudge.judges.failure import StorageError
from adjudge.judges.ledger.lease import Leases

KEY = sha256(b"a question").hexdigest()
HOLDER = """
import sys
from pathlib import Path
from adjudge.judges.ledger.lease import Leases
leases = Leases(Path(sys.argv[1]))
print(leases.claim(sys.argv[2]), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "leases"


@pytest.fixture
def leases(file: Path) -> Iterator[Leases]:
    opened = Leases(file)
    yield opened
    opened.close()


@pytest.fixture
def holder(file: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lease of `KEY`."""
    command = [sys.executable, "-c", HOLDER, str(file), KEY]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "True\n"
        yield process
        process.kill()


def test_a_lease_is_given_once(leases: Leases) -> None:
    assert leases.claim(KEY)
    assert not leases.claim(KEY)


def test_a_lease_given_back_can_be_had_again(leases: Leases) -> None:
    leases.claim(KEY)
    leases.release(KEY)

    assert leases.claim(KEY)


def test_giving_back_what_is_not_held_does_nothing(leases: Leases) -> None:
    leases.release(KEY)

    assert leases.claim(KEY)


def test_leases_of_different_keys_are_independent(leases: Leases) -> None:
    assert leases.claim(KEY)
    assert leases.claim(sha256(b"another").hexdigest())


@pytest.mark.usefixtures("holder")
def test_a_lease_another_process_holds_can_not_be_had(leases: Leases) -> None:
    assert not leases.claim(KEY)


def test_the_lease_of_a_killed_process_can_be_had(leases: Leases, holder: subprocess.Popen[str]) -> None:
    holder.kill()
    holder.wait()

    assert leases.claim(KEY)


def test_a_closed_file_holds_no_lease(file: Path) -> None:
    leases = Leases(file)
    leases.claim(KEY)
    leases.close()
    leases.release(KEY)
    command = [sys.executable, "-c", HOLDER, str(file), KEY]
    other = subprocess.run(command, input="", capture_output=True, text=True, check=True)

    assert other.stdout == "True\n"


def test_a_link_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "leases").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(StorageError):
        Leases(tmp_path / "leases")
