"""A program that has imported all that a command may need, and runs commands in forks of itself.

Importing litellm takes seconds; a fork of a process that has it takes milliseconds, and is a process like any
other: it has its own working directory, environment, standard streams and limits, and can be killed.

Standard input is a socket of packets. A packet is an order: JSON with `arguments`, `cwd`, `environ` and
`largest_file` (bytes, or null), and three descriptors: standard output, standard error, and where to write
the pid and then the exit code (negative: the signal), a line each.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import resource
import signal
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any, Never

from adjudge.pipeline.cli.app import main
from adjudge.testing import FaultServer

COMMANDS = (
    "run suite.yaml --junit junit.xml",
    "run suite.yaml --dry-run",
    "show",
    "show latest c1",
    "resume",
)


def serve() -> None:
    """Carry out orders until the other end hangs up."""
    import_all()
    gc.freeze()
    orders = socket.socket(fileno=os.dup(0))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        packet, descriptors, _, _ = socket.recv_fds(orders, 1 << 20, 3)
        if not packet:
            return
        if os.fork() == 0:
            orders.close()
            oversee(json.loads(packet), *descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def import_all() -> None:
    """Import what commands need, by running some of them."""
    suite: dict[str, Any] = {
        "conversations": ["conversations.jsonl"],
        "graders": [{"name": "g", "type": "statements", "judge": "main", "statements": ["A."]}],
    }
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, FaultServer() as server:
        os.chdir(folder)
        suite["judges"] = {"main": {"model": "openai/any", "api_base": server.url}}
        Path("suite.yaml").write_text(json.dumps(suite))
        Path("conversations.jsonl").write_text('{"id": "c1", "messages": []}\n')
        with contextlib.redirect_stdout(io.StringIO()):
            for command in COMMANDS:
                sys.argv = ["adjudge", *command.split()]
                if main():
                    raise SystemExit(f"{command!r} failed")
        os.chdir(home)


def oversee(order: dict[str, Any], out: int, err: int, told: int) -> Never:
    """Fork the command, and say its pid and how it ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if pid == 0:
        os.close(told)
        carry_out(order, out, err)
    os.close(out)
    os.close(err)
    os.write(told, b"%d\n" % pid)
    _, status = os.waitpid(pid, 0)
    os.write(told, b"%d\n" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def carry_out(order: dict[str, Any], out: int, err: int) -> Never:
    """Be the command. It ends without taking down the interpreter, which takes a second with litellm."""
    for descriptor, place in ((os.open(os.devnull, os.O_RDONLY), 0), (out, 1), (err, 2)):
        os.dup2(descriptor, place)
        os.close(descriptor)
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["environ"])
    if order["largest_file"] is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (order["largest_file"],) * 2)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    sys.argv = ["adjudge", *order["arguments"]]
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    serve()
