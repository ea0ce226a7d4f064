"""Within a step of GitHub Actions: what others wrote is no command, what failed is annotated."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from adjudge.testing import Reply

if TYPE_CHECKING:
    from tests.end_to_end.conftest import Desk

FORGED = "::add-mask::x"


def prepared(desk: Desk) -> None:
    desk.environ |= {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(desk.path / "summary.md")}
    desk.conversations(FORGED, "c2")
    desk.suite(desk.grader("A.", "B."))
    desk.decide({"B.": "not_met"})


def test_a_step_is_annotated_and_summarised_and_its_output_holds_no_command_of_others(desk: Desk) -> None:
    prepared(desk)

    done = desk.run()

    first, *lines = done.out.splitlines()
    token = re.fullmatch("::stop-commands::([0-9a-f]{32})", first)
    assert token is not None
    end = lines.index(f"::{token[1]}::")
    assert any(FORGED in line for line in lines[:end])
    heads = [line.split("::")[1] for line in lines[end + 1 :]]
    assert [head.split()[0] for head in heads] == ["error", "error", "notice"]
    assert done.code == 1
    assert "# Run" in (desk.path / "summary.md").read_text()


def test_a_resumed_run_adds_to_the_summary(desk: Desk) -> None:
    prepared(desk)
    desk.answer = lambda _: Reply(status=400)
    desk.run()
    desk.decide({})

    assert desk.adjudge("resume").code == 0
    assert (desk.path / "summary.md").read_text().count("# Run ") == 2


def test_json_stays_alone_on_stdout(desk: Desk) -> None:
    prepared(desk)

    done = desk.run("--json")

    assert done.out.startswith("{")
    assert "::" not in done.out.replace(FORGED, "")
    assert "::stop-commands::" in done.err
    assert "::error title=failed" in done.err


@pytest.mark.parametrize(("actions", "option"), [("true", "--no-github"), ("", "")])
def test_elsewhere_or_where_it_is_not_wanted_nothing_is_said(desk: Desk, actions: str, option: str) -> None:
    prepared(desk)
    desk.environ["GITHUB_ACTIONS"] = actions

    done = desk.run(*filter(None, [option]))

    assert "stop-commands" not in done.out + done.err
    assert not (desk.path / "summary.md").exists()


def test_annotations_can_be_exported(desk: Desk) -> None:
    prepared(desk)
    desk.run("--no-github")

    assert desk.adjudge("export", "--format", "github").out.count("::error title=failed") == 2
