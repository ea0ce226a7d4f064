"""The tree, the package list, the wheel, the locks and the direction of imports agree with each other."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parent.parent
FOLDERS = ("judges", "pipeline", "prompts", "configs")
HEAVY = {"aiohttp", "diskcache", "jinja2", "litellm", "openai", "starlette", "tenacity", "uvicorn"}
LOCKS = ("build", "run", "dev")


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    """`pyproject.toml`."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Names of the files in a wheel built from a copy of the tree, without its metadata."""
    tree, dist = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("dist")
    for folder in ("adjudge", *FOLDERS):
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, tree / folder, symlinks=True, ignore=ignore)
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, tree)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--no-index"]
    subprocess.run([*pip, "--no-deps", "--no-build-isolation", "--wheel-dir", dist, tree], check=True)
    with ZipFile(next(dist.glob("adjudge-*.whl"))) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def files_of(folder: Path) -> list[Path]:
    """The files under `folder` that people wrote, links not followed."""
    return [file for file in folder.rglob("*") if file.is_file() and "__pycache__" not in file.parts]


def test_the_package_list_names_every_folder_of_modules(project: dict[str, Any]) -> None:
    found = {"adjudge": "adjudge"}
    for top in FOLDERS:
        for marker in (ROOT / top).rglob("__init__.py"):
            folder = marker.parent.relative_to(ROOT).as_posix()
            found["adjudge." + folder.replace("/", ".")] = folder

    assert project["tool"]["setuptools"]["package-dir"] == found
    assert sorted(project["tool"]["setuptools"]["packages"]) == sorted(found)


def test_every_top_level_folder_is_linked_into_the_package() -> None:
    links = {
        link.name: link.readlink().as_posix() for link in (ROOT / "adjudge").iterdir() if link.is_symlink()
    }

    assert links == {folder: f"../{folder}" for folder in FOLDERS}


def test_the_wheel_holds_exactly_the_tree(wheel: set[str]) -> None:
    tree = {file.relative_to(ROOT).as_posix() for file in files_of(ROOT / "adjudge") if not file.is_symlink()}
    for folder in FOLDERS:
        tree |= {f"adjudge/{file.relative_to(ROOT).as_posix()}" for file in files_of(ROOT / folder)}

    assert wheel == tree


def test_imports_point_in_the_agreed_direction() -> None:
    command = [Path(sys.executable).with_name("lint-imports"), "--no-cache"]
    linted = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert linted.returncode == 0, linted.stdout


@pytest.mark.parametrize(
    "command",
    [
        ["-c", "import adjudge; [getattr(adjudge, name) for name in adjudge.__all__]"],
        ["-m", "adjudge", "--version"],
    ],
    ids=["public names", "command line"],
)
def test_starting_up_imports_no_heavy_library(command: list[str], tmp_path: Path) -> None:
    started = subprocess.run(
        [sys.executable, "-X", "importtime", *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    imported = {name.split(".")[0] for name in re.findall(r"\| +(\S+)$", started.stderr, re.MULTILINE)}

    assert started.returncode == 0, started.stderr
    assert "adjudge" in imported
    assert imported & HEAVY == set()


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_has_hashes_and_no_address(lock: str) -> None:
    text = (ROOT / "requirements" / f"{lock}.txt").read_text()
    requirements = re.findall(r"^[a-z0-9].*?(?=^[a-z0-9]|\Z)", text, re.MULTILINE | re.DOTALL)

    assert requirements
    assert all("==" in requirement and "--hash=sha256:" in requirement for requirement in requirements)
    assert re.findall(r"https?:|^-", text, re.MULTILINE) == []


def locked(lock: str) -> dict[str, Version]:
    """Name and version of every package of a lock."""
    text = (ROOT / "requirements" / f"{lock}.txt").read_text()
    return {
        name: Version(version) for name, version in re.findall(r"^([a-z0-9._-]+)==(\S+)", text, re.MULTILINE)
    }


def test_the_locks_hold_what_the_project_asks_for(project: dict[str, Any]) -> None:
    groups = project["dependency-groups"]
    wanted = {"build": groups["build"], "run": project["project"]["dependencies"], "dev": groups["dev"]}

    for lock, lines in wanted.items():
        for requirement in map(Requirement, lines):
            assert locked(lock)[requirement.name] in requirement.specifier


def test_the_development_lock_agrees_with_the_other() -> None:
    assert locked("run").items() <= locked("dev").items()


@pytest.mark.parametrize("version", ["1.82.7", "1.82.8"])
def test_the_compromised_releases_of_litellm_are_refused(project: dict[str, Any], version: str) -> None:
    lines = map(Requirement, project["project"]["dependencies"])
    litellm = next(requirement for requirement in lines if requirement.name == "litellm")

    assert f"!={version}" in {str(specifier) for specifier in litellm.specifier}
