"""The providers whose requests are learnt once: how litellm reaches them, and the environment they read.

Any other provider that litellm knows goes through litellm call by call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from adjudge.judges.calling.reading import Shape
from adjudge.judges.request import Model

Client = Literal["handler", "sdk", "azure"]
"""What litellm sends with: its own HTTP handler, the OpenAI SDK, or the SDK's Azure client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A provider.

    Attributes:
        shape: the interface its replies have.
        client: what litellm reaches it with.
        keys: environment variables that may hold its key, the first found wins.
        bases: environment variables that may hold its address, the first found wins.
        needs_key: whether a request without a key is pointless.
        base: its address, where the OpenAI SDK has to be told and litellm names none.
        caches_from: tokens from which on it keeps the prefix of a request and reads it at a lower price;
            None where it does not, or that is not known.
        marks_prefix: whether it has to be told where the prefix ends.
    """

    shape: Shape = "openai"
    client: Client
    keys: tuple[str, ...]
    bases: tuple[str, ...]
    needs_key: bool = True
    base: str | None = None
    caches_from: int | None = None
    marks_prefix: bool = False


def _family(prefix: str, client: Client, *, needs_key: bool = True, caches_from: int | None = None) -> Family:
    """A provider with the OpenAI interface whose variables are called after it."""
    keys, bases = (f"{prefix}_API_KEY",), (f"{prefix}_API_BASE",)
    return Family(client=client, keys=keys, bases=bases, needs_key=needs_key, caches_from=caches_from)


FAMILIES: dict[str, Family] = {
    "openai": Family(
        client="sdk",
        keys=("OPENAI_API_KEY",),
        bases=("OPENAI_BASE_URL", "OPENAI_API_BASE"),
        base="https://api.openai.com/v1",
        caches_from=1024,
    ),
    "azure": Family(
        client="azure",
        keys=("AZURE_API_KEY", "AZURE_OPENAI_API_KEY"),
        bases=("AZURE_API_BASE",),
        caches_from=1024,
    ),
    "anthropic": Family(
        shape="anthropic",
        client="handler",
        keys=("ANTHROPIC_API_KEY",),
        bases=("ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL"),
        caches_from=1024,
        marks_prefix=True,
    ),
    "gemini": Family(
        shape="gemini",
        client="handler",
        keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        bases=("GEMINI_API_BASE",),
        caches_from=2048,
    ),
    "ollama_chat": Family(
        shape="ollama",
        client="handler",
        keys=("OLLAMA_API_KEY",),
        bases=("OLLAMA_API_BASE",),
        needs_key=False,
    ),
    "openrouter": Family(
        client="handler", keys=("OPENROUTER_API_KEY", "OR_API_KEY"), bases=("OPENROUTER_API_BASE",)
    ),
    "together_ai": Family(
        client="handler",
        keys=("TOGETHERAI_API_KEY", "TOGETHER_API_KEY", "TOGETHER_AI_API_KEY"),
        bases=("TOGETHER_AI_API_BASE",),
    ),
    "fireworks_ai": Family(
        client="handler",
        keys=("FIREWORKS_AI_API_KEY", "FIREWORKS_API_KEY"),
        bases=("FIREWORKS_API_BASE",),
    ),
    "perplexity": Family(
        client="sdk", keys=("PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY"), bases=("PERPLEXITY_API_BASE",)
    ),
    "deepseek": _family("DEEPSEEK", "handler", caches_from=1024),
    "groq": _family("GROQ", "handler"),
    "hosted_vllm": _family("HOSTED_VLLM", "handler", needs_key=False, caches_from=1024),
    "mistral": _family("MISTRAL", "handler"),
    "xai": _family("XAI", "handler", caches_from=1024),
    "cerebras": _family("CEREBRAS", "sdk"),
    "deepinfra": _family("DEEPINFRA", "sdk"),
    "litellm_proxy": _family("LITELLM_PROXY", "sdk"),
    "llamafile": _family("LLAMAFILE", "sdk", needs_key=False),
    "lm_studio": _family("LM_STUDIO", "sdk", needs_key=False),
    "moonshot": _family("MOONSHOT", "sdk", caches_from=1024),
    "nvidia_nim": _family("NVIDIA_NIM", "sdk"),
    "sambanova": _family("SAMBANOVA", "sdk"),
}


def resolved(model: Model, environ: Mapping[str, str]) -> Model:
    """`model` with the address that the environment names for its provider, where the suite names none.

    Done when a plan is made, so that the address is part of every key (C6).
    """
    family = FAMILIES.get(model.name.partition("/")[0])
    if model.api_base is not None or family is None:
        return model
    return replace(model, api_base=_first(family.bases, environ))


def caches_from(model: str) -> int | None:
    """Tokens from which on the provider of `provider/model` keeps prefixes; None where it is not known to."""
    family = FAMILIES.get(model.partition("/")[0])
    return None if family is None else family.caches_from


def key_in(environ: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    """The key in the first of the variables `names` that is set, without white space around it."""
    return _first(names, environ)


def _first(names: tuple[str, ...], environ: Mapping[str, str]) -> str | None:
    return next((value for name in names if (value := environ.get(name, "").strip())), None)
