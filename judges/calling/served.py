"""Whether the model that says it answered is the one that was asked (F16)."""

from __future__ import annotations

import re

_VERSION = re.compile(
    r"[-@:](?:\d{4}-\d{2}-\d{2}|\d{4}(?:\d{2,4})?|latest|default|preview|exp)(?:-\d{2}-\d{2,4})?$"
)
_ALIASES = ("azure/", "litellm_proxy/", "openrouter/")
"""Behind these, names are those of deployments and routes, not of models."""


def is_same_model(asked: str, served: str) -> bool:
    """Whether `served` may be the name that the provider gives `asked`, a litellm model name.

    Case, what stands before a slash, and a date or `latest` at the end don't count. Where names are aliases,
    nothing can be told, so any name will do.
    """
    return asked.startswith(_ALIASES) or _bare(asked) == _bare(served)


def _bare(name: str) -> str:
    bare = name.lower().rpartition("/")[2]
    while (shorter := _VERSION.sub("", bare)) != bare:
        bare = shorter
    return bare
