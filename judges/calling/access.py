"""How a judge reaches its model: address, key, headers and parameters, checked before the first call."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from urllib.parse import urlsplit

from adjudge.judges.calling.families import key_in
from adjudge.judges.failure import UsageError
from adjudge.judges.redact import Redactor, is_secret_name, secret_places, url_secrets
from adjudge.judges.request import Model

PLACEHOLDER_KEY = "no-key"
"""Sent where a server of the user's own may not want a key, since clients insist on one."""

RESERVED = frozenset(
    {
        *("api_base", "api_key", "base_url", "caching", "client", "custom_llm_provider", "drop_params"),
        *("fallbacks", "function_call", "functions", "headers", "max_retries", "messages", "model", "n"),
        *("mock_response", "mock_timeout", "mock_tool_calls", "num_retries", "response_format"),
        *("shared_session", "stream", "stream_options", "timeout", "tool_choice", "tools"),
    }
)
"""Parameters that are not a suite's to set: they would change what an attempt is."""

TELLING_ADDRESS = (
    "holds a user, a password or a query, and would stand in every run and cache: leave that out, and name "
    "the environment variable of the secret in 'api_key_env' or 'headers_env'"
)
TELLING_VALUE = (
    "looks like a secret, and would stand in every run and cache: leave it out, and name its environment "
    "variable in 'api_key_env' or 'headers_env'"
)
"""What is said of a secret where none belongs."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What it takes to ask a model.

    Attributes:
        label: how messages call the judge.
        model: the model to ask.
        api_key_env: the variable that holds the key, where the suite names one.
        headers_env: headers added to each request, and the variables that hold their values, which are
            secrets.
        environ: the environment.
    """

    label: str
    model: Model
    api_key_env: str | None
    headers_env: Mapping[str, str]
    environ: Mapping[str, str]

    def check(self) -> None:
        """Refuse what can't be sent.

        Raises:
            UsageError: a reserved parameter, an address that is none, a header that is no header or whose
                variable is not set.
        """
        reserved = sorted(RESERVED & self.model.params.keys())
        if reserved:
            raise UsageError(f"{self.label}: params can't set {', '.join(map(repr, reserved))}; leave it out")
        base = self.model.api_base
        if base is not None and (_CONTROL.search(base) or not _is_address(base)):
            raise UsageError(f"{self.label}: api_base is not an http:// or https:// address")
        for name, variable in self.headers_env.items():
            if not self.environ.get(variable, "").strip():
                raise UsageError(f"{self.label}: {variable} is not set; it must hold the header {name!r}")
        for name, value in self.all_headers.items():
            if not re.fullmatch(r"[\w!#$%&'*+.^`|~-]+", name, re.ASCII) or _CONTROL.search(value):
                raise UsageError(f"{self.label}: header {name!r} has a name or a value that can't be sent")

    @property
    def all_headers(self) -> dict[str, str]:
        """The judge's headers, and those among its parameters."""
        extra: Mapping[str, object] = self.model.params.get("extra_headers") or {}
        secret = {name: self.environ.get(variable, "").strip() for name, variable in self.headers_env.items()}
        return {**{name: str(value) for name, value in extra.items()}, **secret}

    def key(self, variables: tuple[str, ...], *, needed: bool) -> str | None:
        """The key from the variable the suite names, else from the first of the provider's that is set.

        Raises:
            UsageError: it is missing and needed. With an address of the user's own only a variable that the
                suite names is needed; else the key is `PLACEHOLDER_KEY`.
        """
        names = variables if self.api_key_env is None else (self.api_key_env,)
        key = key_in(self.environ, names)
        if key is None and self.api_key_env is None and (self.model.api_base is not None or not needed):
            return PLACEHOLDER_KEY
        if key is None or not (key.isascii() and key.isprintable()):
            wrong = "is not set" if key is None else "holds a line break or another sign that no key has"
            raise UsageError(f"{self.label}: {' or '.join(names)} {wrong}; it must hold the API key")
        return key

    def redactors(self, key: str | None) -> tuple[Redactor, Redactor]:
        """What takes secrets out of messages and of what failed, and what takes the key alone out of a reply.

        The first also takes out header values, what the address holds and whatever the environment or a
        parameter's name calls a secret; in a reply, whose quotes are checked, those may be ordinary words.
        """
        own = [key] if key is not None and key != PLACEHOLDER_KEY else []
        pairs = [*self.environ.items(), *self.model.params.items()]
        named = [str(value) for name, value in pairs if is_secret_name(name)]
        others = [*named, *self.all_headers.values(), *url_secrets(self.model.api_base or "")]
        return Redactor([*own, *others]), Redactor(own)


PARAMS = frozenset(
    {
        *("temperature", "top_p", "top_k", "min_p", "seed", "stop", "n", "user", "timeout"),
        *("max_tokens", "max_completion_tokens", "max_output_tokens", "num_predict", "num_ctx"),
        *("frequency_penalty", "presence_penalty", "repetition_penalty", "repeat_penalty", "logit_bias"),
        *("reasoning_effort", "thinking", "verbosity", "service_tier", "metadata", "store", "logprobs"),
        *("top_logprobs", "safety_settings", "extra_body", "api_version", "keep_alive", "mirostat"),
    }
)
"""Parameters of chat models whose names are often mistyped."""


def refuse_secrets(label: str, model: Model) -> None:
    """Refuse a model that holds a secret: all of it stands in plans, keys, caches and exports (S1).

    Raises:
        UsageError: naming the place, never what stands there.
    """
    if model.api_base is not None and holds_secret(model.api_base):
        raise UsageError(f"{label}: its address {TELLING_ADDRESS}")
    for place in secret_places(model.params):
        raise UsageError(f"{label}: {'.'.join(map(str, ('params', *place)))} {TELLING_VALUE}")


def refuse_typos(label: str, model: Model) -> None:
    """Refuse a parameter that is surely another one misspelt: providers ignore what they don't know.

    Raises:
        UsageError: naming both.
    """
    for name in model.params:
        meant = get_close_matches(name, PARAMS, 1, 0.85)
        if meant and name not in PARAMS:
            raise UsageError(
                f"{label}: params.{name} is not known; did you mean {meant[0]!r}? "
                "What a server takes under that name goes into params.extra_body"
            )


def holds_secret(address: str) -> bool:
    """Whether an address has a user, a password, a query or a fragment, any of which may be a secret."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return True
    return "@" in parts.netloc or bool(parts.query or parts.fragment)


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
