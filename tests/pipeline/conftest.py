"""Planned runs for the tests of what is made of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from adjudge.pipeline.planning.freeze import plan_run
from adjudge.pipeline.planning.overrides import Overrides
from adjudge.pipeline.rundir import Run
from adjudge.pipeline.suite.load import Suite, load_suite

NewSuite = Callable[..., Suite]
Rows = Sequence[str | dict[str, Any]]
NewRun = Callable[..., Run]


@pytest.fixture
def new_suite(tmp_path: Path) -> NewSuite:
    """Writes and loads a suite in `tmp_path`: one `statements` grader of A. and B. unless told otherwise."""

    def make(*graders: dict[str, Any], conversations: Rows = ("c1",), **more: Any) -> Suite:
        plain = {"name": "behaves", "type": "statements", "judge": "main", "statements": ["A.", "B."]}
        data = {
            "conversations": ["conversations.jsonl"],
            "judges": {"main": {"model": "openai/any", "api_base": "http://127.0.0.1:9/v1"}},
            "graders": [plain | grader for grader in graders or ({},)],
        } | more
        rows = [
            {"id": row, "messages": [{"role": "user", "content": row}]} if isinstance(row, str) else row
            for row in conversations
        ]
        (tmp_path / "conversations.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (tmp_path / "suite.yaml").write_text(json.dumps(data))
        return load_suite(tmp_path / "suite.yaml")

    return make


@pytest.fixture
def new_run(tmp_path: Path, new_suite: NewSuite) -> NewRun:
    """Plans a run of such a suite in `tmp_path`/home."""

    def make(*graders: dict[str, Any], overrides: Overrides | None = None, **more: Any) -> Run:
        return plan_run(new_suite(*graders, **more), tmp_path / "home", overrides)

    return make
