"""A run as one HTML file: it opens from the disk, asks nobody, and works as the served page does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Request, expect

from adjudge.pipeline.rundir import Run

if TYPE_CHECKING:
    from tests.review.conftest import NewPage


@pytest.fixture(scope="module")
def file(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run, exported."""
    path = tmp_path_factory.mktemp("file") / "run.html"
    command = [
        sys.executable,
        "-m",
        "adjudge",
        "export",
        str(run.path),
        "--format",
        "html",
        "--to",
        str(path),
    ]
    subprocess.run(command, check=True)
    return path


def test_the_file_opens_from_the_disk_and_asks_nobody(file: Path, new_page: NewPage) -> None:
    page = new_page(file.as_uri())
    asked: list[Request] = []
    page.on("request", lambda request: asked.append(request))  # noqa: PLW0108 - it marks its handlers
    page.reload()
    page.locator("#list .row", has_text="hostile-1").click()
    expect(page.locator("main h2")).to_have_text("hostile-1")
    page.locator(".cite").first.click()

    assert {request.url.partition("#")[0] for request in asked if not request.url.startswith("data:")} == {
        file.as_uri()
    }
    assert page.evaluate("window.ran") is None


def test_the_file_can_be_filtered_searched_and_followed(file: Path, new_page: NewPage) -> None:
    page = new_page(file.as_uri())
    page.locator("[data-filter=errored]").click()
    expect(page.locator("#found")).to_have_text("2 of 6 conversations")
    page.locator("#words").fill("zebra")
    expect(page.locator("#found")).to_have_text("1 of 6 conversations")
    page.locator("#list .row").click()
    expect(page.locator("main h2")).to_have_text("errored-1")
    page.locator(".cite").first.click()

    expect(page.locator("mark.quote")).to_have_text('{"price": 40, "item": "kettle"}')


def test_the_file_takes_no_labels_and_shows_none(file: Path, new_page: NewPage) -> None:
    page = new_page(file.as_uri())

    expect(page.locator("#head .mode")).to_have_text("read only")
    assert page.locator(".labelling").count() == 0


def test_the_file_allows_its_own_script_and_style_alone(file: Path) -> None:
    html = file.read_text()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)

    assert policy.startswith("default-src &#39;none&#39;; style-src &#39;sha256-")
    assert "unsafe" not in policy
    assert re.findall(r"(?:src|href)=[\"'](?!data:,)[^\"']*[\"']", html.partition("<body")[0]) == []


def test_the_file_tells_nobody_where_it_was_made(file: Path, run: Run) -> None:
    assert str(run.path.parent) not in file.read_text()


def test_a_run_can_write_the_file_too(tmp_path: Path) -> None:
    (tmp_path / "v.py").write_text(
        "from adjudge import check\n\n\ndef verify(c):\n    return [check('a', True)]\n"
    )
    (tmp_path / "c.jsonl").write_text('{"id": "c1", "messages": [{"role": "user", "content": "Hello."}]}\n')
    (tmp_path / "suite.yaml").write_text(
        "conversations: [c.jsonl]\ngraders: [{name: checked, type: checks, verifier: 'v.py:verify'}]\n"
    )
    command = [sys.executable, "-m", "adjudge", "run", "suite.yaml", "--html", "run.html", "--quiet"]
    done = subprocess.run(command, cwd=tmp_path, check=False)

    assert done.returncode == 0
    assert '"id":"c1"' in (tmp_path / "run.html").read_text()
