"""The JSON Schema that shipped suites name is the one the program prints, and they keep to it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

from adjudge.pipeline.suite.load import schema_text, suite_schema
from adjudge.pipeline.suite.strict_yaml import load_yaml

CONFIGS = Path(__file__).parent.parent / "configs"
SUITES = sorted(CONFIGS.rglob("*.yaml"))


def test_the_schema_beside_the_shipped_suites_is_what_the_program_prints() -> None:
    assert (CONFIGS / "suite.schema.json").read_text() == schema_text(), "run `make schema`"


@pytest.mark.parametrize("suite", SUITES, ids=lambda path: path.relative_to(CONFIGS).as_posix())
def test_a_shipped_suite_names_the_schema_for_editors(suite: Path) -> None:
    named = re.match(r"# yaml-language-server: \$schema=(\S+)\n", suite.read_text())

    assert named is not None
    assert (suite.parent / named[1]).resolve() == (CONFIGS / "suite.schema.json").resolve()


@pytest.mark.parametrize("suite", SUITES, ids=lambda path: path.relative_to(CONFIGS).as_posix())
def test_a_shipped_suite_keeps_to_the_schema(suite: Path) -> None:
    jsonschema.validate(load_yaml(suite).data, suite_schema())


def test_the_schema_is_json_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(schema_text()))
