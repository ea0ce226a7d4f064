"""The properties of parsers, keys, secrets and outputs, held to many more examples than on every run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
HELD = (
    *("judges/test_reply.py", "judges/test_reading.py", "judges/test_classify.py", "judges/test_redact.py"),
    *("judges/test_record.py", "judges/test_form.py", "judges/test_prompt.py", "judges/test_citations.py"),
    *("pipeline/test_evidence.py", "pipeline/test_strict_yaml.py", "pipeline/test_source.py"),
    *("pipeline/test_display.py", "pipeline/test_report_csv.py", "pipeline/test_report_junit.py"),
    *("pipeline/test_report_markdown.py", "pipeline/test_report_result.py", "pipeline/test_scoring.py"),
    *("pipeline/test_policy.py", "pipeline/test_aggregate.py", "pipeline/test_windows.py"),
)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", HELD)
def test_its_properties_hold_for_thousands_of_examples(name: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "--timeout=1500", name]
    environ = os.environ | {"HYPOTHESIS_PROFILE": "soak"}

    done = subprocess.run(command, cwd=TESTS, env=environ, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout[-5000:]
