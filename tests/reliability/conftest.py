"""The desk of the end-to-end tests, whose commands may be given a fault or a clock that jumps."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType


def _end_to_end() -> ModuleType:
    path = Path(__file__).parents[1] / "end_to_end" / "conftest.py"
    spec = spec_from_file_location("desk_for_reliability", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_module = _end_to_end()
vars(_module)["PROGRAM"] = Path(__file__).with_name("failing.py")
desk, forker, new_desk = _module.desk, _module.forker, _module.new_desk
