"""What `adjudge review` does: serve a run to the browser of this machine until it is interrupted."""

from __future__ import annotations

import getpass
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

from adjudge.judges.failure import UsageError
from adjudge.pipeline.cli.read import concluded
from adjudge.pipeline.display import visible
from adjudge.pipeline.rundir import find_run


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewing:
    """How a run is reviewed.

    Attributes:
        labels: the file of labels, or None for `labels.jsonl` beside the runs.
        reviewer: who labels; None or empty is the name this user has here.
        blind: whether what the judge said is hidden until the reviewer has decided.
        port: where to listen on 127.0.0.1; 0 takes a free port.
        browse: whether to open a browser; None does at the terminal of a desktop.
    """

    labels: Path | None
    reviewer: str | None
    blind: bool
    port: int
    browse: bool | None


def review(reference: str, home: Path, how: Reviewing) -> None:
    """Serve the review page of a run. Returns when interrupted.

    Raises:
        UsageError: no such run, the labels are none, the port is taken.
        StorageError: the run can't be read.
    """
    from adjudge.pipeline.review.labelling import Labelling
    from adjudge.pipeline.review.review import Review
    from adjudge.pipeline.review.rows import Rows
    from adjudge.pipeline.review.server import listen, serve

    run = concluded(find_run(reference, home))
    labels, reviewer = how.labels or home / "labels.jsonl", how.reviewer or _user()
    labelling = Labelling(labels, reviewer, blind=how.blind)
    with Rows(run) as rows, listen(how.port) as listening, suppress(KeyboardInterrupt):
        served = Review(run, rows, labelling)

        def ready(address: str) -> None:
            sys.stdout.write(f"Run {visible(run.id)} is at {address}\n")
            sys.stdout.write(f"Labels go to {visible(str(labelling.path))}. Ctrl-C ends.\n")
            sys.stdout.flush()
            if _at_a_desktop() if how.browse is None else how.browse:
                import webbrowser

                # A browser that runs in the terminal returns only when it ends.
                Thread(target=webbrowser.open, args=[address], daemon=True).start()

        serve(served, f"Run {run.id}", listening, ready)


def _at_a_desktop() -> bool:
    """Whether somebody sits at this terminal who can see another window."""
    windows = sys.platform == "darwin" or bool({"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys())
    return sys.stdout.isatty() and windows


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run as somebody without a name
        raise UsageError("this user has no name here; say who labels with --reviewer NAME") from None
