"""Secrets taken out of everything that is shown or stored, and kept out of what is frozen (S1)."""

from __future__ import annotations

import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import cast
from urllib.parse import parse_qsl, urlsplit

MARK = "[redacted]"
"""What stands where a secret stood."""

SHORTEST = 6
"""Characters a secret has at least: a shorter one would take ordinary words with it."""

_TELLING = 12
"""So many first characters give a secret away: the rest may have been cut off."""

_KEY_SHAPED = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|hf|ghp|gho|glpat|pplx|nvapi|fw|r8|csk)[-_][\w*-]{12,}"
    r"|\bAIza[\w-]{30,}|\bAKIA[0-9A-Z]{16}\b"
    r"|\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*"
    r"|(?<=[Bb]earer )[\w.~+/=-]{12,}"
)
_NAMES = "(?:key|token|secret|password|passwd|credentials?|auth|authorization|cookie)"
_SECRET_NAME = re.compile(f"{_NAMES}$", re.IGNORECASE)
_ASSIGNED = re.compile(
    rf"""({_NAMES}(?:_env)?["']?\s*:\s*)("[^"]*"?|'[^']*'?|[^,{{}}\[\]]+)""", re.IGNORECASE
)
_IN_ADDRESS = re.compile(r"""(?<=://)[^/\s"',}]+(?=@)|(?<=\?)[^\s"',}]+""")
_NO_SECRET = {"prompt_cache_key"}
_BREAK = r"(?:[\r\n\t ]|\\{1,8}[nrt]){0,40}"

Where = tuple[str | int, ...]
"""The place of a value: keys and indices from the top."""


class Redactor:
    """Takes known secrets out of text, however they are written there. Immutable.

    That is plain, in base64, escaped as JSON or in an address, split by line breaks, cut off at their end.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        """`secrets`: keys and header values; those under `SHORTEST` characters are not looked for."""
        forms = {form for secret in secrets if len(secret) >= SHORTEST for form in _forms(secret)}
        self._forms = sorted(forms, key=len, reverse=True)
        beginnings = dict.fromkeys(form[:_TELLING] for form in self._forms)
        parts = (_BREAK.join(map(_written, beginning)) for beginning in beginnings)
        self._beginning = re.compile("|".join(parts)) if forms else None

    def known(self, text: str) -> str:
        """`text` without the known secrets; nothing else of it changes."""
        if self._beginning is None:
            return text
        pieces: list[str] = []
        at = 0
        while found := self._beginning.search(text, at):
            pieces += text[at : found.start()], MARK
            at = max(found.end(), *(_end(text, found.start(), form) for form in self._forms))
        return "".join((*pieces, text[at:]))

    def __call__(self, text: str) -> str:
        """`text` without the known secrets and without whatever has the shape of a key."""
        return _KEY_SHAPED.sub(MARK, self.known(text))


def masked(line: str) -> str:
    """A line of a suite, with a star in place of each character of what may be a secret."""
    line = _ASSIGNED.sub(lambda found: found[1] + "*" * len(found[2]), line)
    for pattern in (_IN_ADDRESS, _KEY_SHAPED):
        line = pattern.sub(lambda found: "*" * len(found[0]), line)
    return line


def url_secrets(url: str) -> list[str]:
    """What of an address may be secret: its user, its password and the values of its query."""
    parts = urlsplit(url)
    values = (parts.username, parts.password, *(value for _, value in parse_qsl(parts.query)))
    return [value for value in values if value]


def is_secret_name(name: str) -> bool:
    """Whether what goes by `name`, a variable, a parameter or a header, is likely to be a secret."""
    return bool(_SECRET_NAME.search(name)) and name not in _NO_SECRET


def secret_places(value: object, where: Where = ()) -> Iterator[Where]:
    """Where in plain data something has the name or the shape of a secret."""
    if isinstance(value, str):
        if _KEY_SHAPED.search(value):
            yield where
        return
    within: Iterable[tuple[str | int, object]] = ()
    if isinstance(value, Mapping):
        within = cast("Mapping[str, object]", value).items()
    elif isinstance(value, list):
        within = enumerate(cast("list[object]", value))
    for step, inner in within:
        named = isinstance(step, str) and is_secret_name(step) and type(inner) in {str, int, float}
        yield from [(*where, step)] if named else secret_places(inner, (*where, step))


def _end(text: str, start: int, form: str) -> int:
    """Where what `text` has of `form` from `start` on ends: as much of it as stands there."""
    at = start
    for character in form:
        found = _compiled(character).match(text, at)
        if found is None:
            break
        at = found.end()
    return at


@cache
def _compiled(character: str) -> re.Pattern[str]:
    return re.compile(_BREAK + _written(character))


def _written(character: str) -> str:
    """A pattern of the ways to write a character: as it is, in an address, in JSON at any depth."""
    octets = "".join(f"%{octet:02x}" for octet in character.encode("utf-8", "surrogateescape"))
    return rf"\\{{0,8}}(?:{re.escape(character)}|(?i:{octets}|u{ord(character):04x}))"


def _forms(secret: str) -> Iterable[str]:
    yield secret
    raw = secret.encode("utf-8", "surrogateescape")
    for encode in (b64encode, urlsafe_b64encode):
        for shift in range(3):
            # The characters that depend on `secret` alone, wherever in an encoded text it starts.
            first = -(-shift * 4 // 3)
            encoded = encode(b"\0" * shift + raw).decode().rstrip("=")
            yield encoded[first : (shift + len(raw)) * 4 // 3]
