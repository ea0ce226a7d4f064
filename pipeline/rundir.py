"""A run on disk: `.adjudge/runs/<run id>/` with plan, frozen conversations, grades, errors, summary."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from adjudge.judges.failure import StorageError, UsageError
from adjudge.pipeline.files import storage, sync_directory, undamaged, whole_file, whole_lines
from adjudge.pipeline.grade import ResultRow, SummaryRow

if TYPE_CHECKING:
    from adjudge.pipeline.planning.plan import Plan

PLAN = "plan.json"
CONVERSATIONS = "conversations.jsonl"
GRADES = "grades.jsonl"
ERRORS = "errors.jsonl"
RESULTS = "results.jsonl"
SUMMARY = "summary.json"
JUDGES = "judges.json"
"""What each judge did in the last leg that asked one: calls, retries, limit, breaker. No result."""
STABILITY = "stability.json"

_ASKED = ("calls", "retries", "throttled", "limit", "breaker")

_BEGINNING = 4096


def new_run_id() -> str:
    """A run id that sorts by time: `20261130-190501-482913` (UTC, microseconds last)."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S-%f}"


class Run:
    """One run's directory. Reading needs nothing but the directory: no suite, no cache, no conversations."""

    def __init__(self, path: Path) -> None:
        """`path` is the run's directory; nothing is read yet."""
        self.path = path

    @property
    def id(self) -> str:
        """The run's id: the directory's name."""
        return self.path.name

    def file(self, name: str) -> Path:
        """The path of one of the run's files."""
        return self.path / name

    def plan(self) -> Plan:
        """The plan this run is decided by.

        Raises:
            StorageError: if it can't be read.
        """
        from adjudge.pipeline.planning.plan import Plan

        return Plan.read(self.file(PLAN))

    def summary(self) -> SummaryRow | None:
        """The summary as last written, or None where the run was killed before it could be.

        Raises:
            StorageError: if it can't be read.
        """
        path = self.file(SUMMARY)
        with storage(path, "read"), undamaged(path):
            return orjson.loads(path.read_bytes()) if path.exists() else None

    def judges(self) -> dict[str, dict[str, Any]]:
        """What each judge did, by its name, as `judges.json` has it; empty where there is none.

        Raises:
            StorageError: if it can't be read, or holds something else.
        """
        path = self.file(JUDGES)
        with storage(path, "read"), undamaged(path):
            found: Any = orjson.loads(path.read_bytes()) if path.exists() else {}
            return {name: {key: state[key] for key in _ASKED} for name, state in dict(found).items()}

    def results(self) -> Iterator[ResultRow]:
        """The rows of `results.jsonl`, streamed, in plan order.

        Raises:
            StorageError: if one is damaged.
        """
        with undamaged(self.file(RESULTS)):
            for line in self.result_lines():
                yield orjson.loads(line)

    def result_lines(self) -> Iterator[bytes]:
        """The lines of `results.jsonl`, without their ends, as many as the summary counts conversations.

        Raises:
            StorageError: if some are missing, once the others were given.
        """
        found = 0
        for found, line in enumerate(whole_lines(self.file(RESULTS)), 1):  # noqa: B007 - the last one counts
            yield line
        self.refuse_short(found)

    def refuse_short(self, found: int) -> None:
        """Refuse results of fewer, or more, conversations than the summary counts: no row goes missing.

        Raises:
            StorageError: saying how many there are, and what writes them anew.
        """
        summary = self.summary()
        if summary is not None and found != (due := summary["counts"]["conversations"]):
            raise StorageError(
                f"{str(self.file(RESULTS))!r} holds {found} of the run's {due} conversations; "
                f"`adjudge resume {self.id}` writes it anew"
            )

    def forget_results(self) -> None:
        """Remove results and summary: there are grades that they don't know.

        Raises:
            StorageError: if they can't be removed.
        """
        for name in (RESULTS, SUMMARY):
            with storage(self.file(name), "remove"):
                self.file(name).unlink(missing_ok=True)

    def write_summary(self, summary: SummaryRow) -> None:
        """Replace `summary.json`.

        Raises:
            StorageError: if it can't be written.
        """
        with whole_file(self.file(SUMMARY)) as file:
            file.write(orjson.dumps(summary, option=orjson.OPT_INDENT_2) + b"\n")

    @contextmanager
    def locked(self) -> Generator[None]:
        """Hold the run for writing; a second process is refused. What a killed one left half-written goes.

        Raises:
            StorageError: if another process is writing it, or the directory is read-only.
        """
        path = self.file("lock")
        with storage(path, "lock"):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise StorageError(f"run {self.id!r} is being written by another process") from None
            with storage(self.path, "tidy"):
                for half in self.path.glob(".*.tmp"):
                    half.unlink(missing_ok=True)
            yield
        finally:
            os.close(descriptor)


@contextmanager
def planning(home: Path, run_id: str) -> Generator[Path]:
    """A directory to plan in, which becomes `runs/<run id>` at the end, complete, or vanishes.

    Raises:
        StorageError: if it can't be made.
    """
    runs = home / "runs"
    draft = runs / f".planning-{run_id}"
    with storage(runs, "make the directory"):
        runs.mkdir(parents=True, exist_ok=True, mode=0o700)
        _clear_drafts(runs)
        draft.mkdir(mode=0o700)
    try:
        with Run(draft).locked():
            yield draft
            with storage(draft, "rename"):
                draft.rename(runs / run_id)
                sync_directory(runs)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _clear_drafts(runs: Path) -> None:
    """Remove what was left by processes that were killed while they planned: nobody holds its lock."""
    for lock in runs.glob(".planning-*/lock"):
        draft = Run(lock.parent)
        if not draft.path.is_symlink():
            with suppress(StorageError), draft.locked():
                shutil.rmtree(draft.path, ignore_errors=True)


@contextmanager
def on_trial(run: Run) -> Generator[None]:
    """Remove a new run that turns out unusable: it never was one. What was paid for is in the cache.

    Raises:
        UsageError: the one that showed it.
    """
    try:
        yield
    except UsageError:
        shutil.rmtree(run.path, ignore_errors=True)
        raise


def find_run(reference: str, home: Path) -> Run:
    """The run `reference` names: a directory, a run id (or its unambiguous beginning), or `latest`.

    Raises:
        UsageError: if there is no such run, or several, or it is a link to elsewhere.
    """
    as_path = Path(reference)
    if (as_path / PLAN).is_file():
        return Run(as_path.resolve())
    runs = home / "runs"
    known = sorted(path.parent.name for path in runs.glob(f"[!.]*/{PLAN}"))
    if not known:
        raise UsageError(f"no run in {str(runs)!r} yet; start one with `adjudge run SUITE`")
    if reference == "latest":
        return _own(max((runs / name for name in known), key=lambda path: (_begun(path), path.name)))
    matches = [name for name in known if name == reference] or [n for n in known if n.startswith(reference)]
    if len(matches) == 1 and reference:
        return _own(runs / matches[0])
    listed = ", ".join((matches or known)[-5:])
    problem = "names several runs" if matches else "names no run"
    raise UsageError(f"{reference!r} {problem} in {str(runs)!r}; there are: {listed}")


def _begun(run: Path) -> datetime:
    """When a run was planned, from the first lines of its plan; long ago where they don't say."""
    with storage(run / PLAN, "read"), (run / PLAN).open("rb") as file:
        said = re.search(rb'^  "created": "([^"]+)"', file.read(_BEGINNING), re.MULTILINE)
    try:
        begun = datetime.fromisoformat(said[1].decode() if said else "")
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)
    return begun if begun.tzinfo else begun.replace(tzinfo=UTC)


def _own(path: Path) -> Run:
    """A run that lies where it is found: whoever plants a link must not have its target written into."""
    if path.is_symlink():
        raise UsageError(f"run {str(path)!r} is a link; name the directory it leads to, if you trust it")
    return Run(path)
