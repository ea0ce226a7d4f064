"""Run directories: made whole or not at all, found by name, written by one process."""

from __future__ import annotations

import json
import os
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from adjudge.judges.failure import StorageError, UsageError
from adjudge.pipeline.rundir import Run, find_run, new_run_id, planning

if TYPE_CHECKING:
    from tests.pipeline.conftest import NewRun


def test_run_ids_sort_by_time() -> None:
    ids = [new_run_id() for _ in range(50)]

    assert ids == sorted(ids)
    assert datetime.strptime(ids[0], "%Y%m%d-%H%M%S-%f")  # noqa: DTZ007 - in UTC


def test_a_run_appears_under_its_name_when_it_is_planned(tmp_path: Path) -> None:
    with planning(tmp_path, "r1") as draft:
        (draft / "plan.json").write_text("{}")
        assert not (tmp_path / "runs" / "r1").exists()

    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["r1"]
    assert (tmp_path / "runs" / "r1").stat().st_mode & 0o777 == 0o700


def _fail_to_plan(home: Path) -> None:
    with planning(home, "r1") as draft:
        (draft / "plan.json").write_text("{}")
        raise ZeroDivisionError


def test_a_run_whose_planning_fails_vanishes(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        _fail_to_plan(tmp_path)

    assert list((tmp_path / "runs").iterdir()) == []


def test_a_run_is_locked_for_one_writer(new_run: NewRun) -> None:
    run = new_run()

    held = run.locked()
    held.__enter__()

    with pytest.raises(StorageError, match=rf"run '{run.id}' is being written by another"), run.locked():
        pass
    held.__exit__(None, None, None)
    with run.locked():
        pass


def test_a_link_planted_as_the_lock_is_refused(new_run: NewRun, tmp_path: Path) -> None:
    run = new_run()
    (run.path / "lock").unlink()
    (run.path / "lock").symlink_to(tmp_path / "victim")

    with pytest.raises(StorageError, match="lock"), run.locked():
        pass
    assert not (tmp_path / "victim").exists()


def test_a_run_is_found_by_directory_id_beginning_and_as_the_latest(new_run: NewRun, tmp_path: Path) -> None:
    first, second = new_run(), new_run()
    home = tmp_path / "home"

    assert find_run(str(first.path), home).path == first.path.resolve()
    assert find_run(first.id, home).id == first.id
    assert find_run("latest", home).id == second.id
    assert find_run(first.id[:-1], home).id == first.id


def test_the_latest_run_is_the_one_that_began_last_whatever_its_name(new_run: NewRun, tmp_path: Path) -> None:
    first, second = new_run(), new_run()
    renamed = first.path.rename(first.path.with_name("zz-from-elsewhere"))
    plan = (renamed / "plan.json").read_text()
    begun = first_created(plan)

    (renamed / "plan.json").write_text(plan.replace(begun, "2020-01-01T00:00:00+00:00"))
    assert find_run("latest", tmp_path / "home").id == second.id

    same = first_created((second.path / "plan.json").read_text())
    (renamed / "plan.json").write_text(plan.replace(begun, same))
    assert find_run("latest", tmp_path / "home").id == "zz-from-elsewhere"


def first_created(plan: str) -> str:
    return json.loads(plan)["created"]


def test_the_beginning_of_several_ids_is_refused_and_an_id_that_begins_another_is_not(
    tmp_path: Path,
) -> None:
    for name in ("r1", "r10", "r2"):
        with planning(tmp_path, name) as draft:
            (draft / "plan.json").write_text("{}")

    assert find_run("r1", tmp_path).id == "r1"
    assert find_run("r2", tmp_path).id == "r2"
    with pytest.raises(UsageError, match=r"'r' names several runs .* there are: r1, r10, r2"):
        find_run("r", tmp_path)


@pytest.mark.parametrize("reference", ["r9", "", "../r1", "*"])
def test_what_names_no_run_is_refused(tmp_path: Path, reference: str) -> None:
    with planning(tmp_path, "r1") as draft:
        (draft / "plan.json").write_text("{}")

    with pytest.raises(UsageError, match=r"names (no run|several runs)"):
        find_run(reference, tmp_path)


def test_a_draft_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "runs" / ".planning-r1").mkdir(parents=True)
    (tmp_path / "runs" / ".planning-r1" / "plan.json").write_text("{}")

    with pytest.raises(UsageError, match="no run in"):
        find_run("latest", tmp_path)


def test_a_summary_that_was_never_written_is_none(tmp_path: Path) -> None:
    assert Run(tmp_path).summary() is None
    assert list(Run(tmp_path).results()) == []


def test_files_of_a_run_are_nobody_elses(new_run: NewRun) -> None:
    run = new_run()

    assert {path.stat().st_mode & 0o777 for path in run.path.iterdir()} == {0o600}
    assert run.path.stat().st_uid == os.geteuid()
