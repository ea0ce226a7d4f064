"""What litellm's map says of models, read without importing litellm."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import orjson

Row = Mapping[str, Any]
"""What the map says of one model, such as its prices per token and the tokens it reads."""


def listed(models: Iterable[str]) -> dict[str, Row]:
    """The rows of those `provider/model` names that the map which litellm ships knows."""
    wanted = list(models)
    file = _map_file() if wanted else None
    if file is None:
        return {}
    rows: dict[str, dict[str, Any]] = orjson.loads(file.read_bytes())
    found = {model: _row(rows, model) for model in wanted}
    return {model: row for model, row in found.items() if row is not None}


def _map_file() -> Path | None:
    from importlib.util import find_spec

    found = find_spec("litellm")
    if found is None or not found.submodule_search_locations:
        return None
    file = Path(found.submodule_search_locations[0]) / "model_prices_and_context_window_backup.json"
    return file if file.is_file() else None


def _row(rows: Mapping[str, Row], model: str) -> Row | None:
    provider, _, name = model.partition("/")
    named = (rows[key] for key in (model, name) if key in rows)
    return next((row for row in named if row.get("litellm_provider") in (provider, None)), None)
