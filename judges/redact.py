"""Secrets taken out of everything that is shown or stored (S1)."""

from __future__ import annotations

import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable
from urllib.parse import parse_qsl, quote, urlsplit

MARK = "[redacted]"
"""What stands where a secret stood."""

SHORTEST = 6
"""Characters a secret has at least: a shorter one would take ordinary words with it."""

_KEY_SHAPED = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|hf|ghp|gho|glpat|pplx|nvapi|fw|r8|csk)[-_][\w*-]{12,}"
    r"|\bAIza[\w-]{30,}|\bAKIA[0-9A-Z]{16}\b"
    r"|\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*"
    r"|(?<=[Bb]earer )[\w.~+/=-]{12,}"
)
_BREAK = r"(?:[\r\n\t ]|\\[nrt])*"


class Redactor:
    """Takes known secrets out of text: plain, base64, URL-encoded or split by a line break. Immutable."""

    def __init__(self, secrets: Iterable[str]) -> None:
        """`secrets`: keys and header values; those under `SHORTEST` characters are not looked for."""
        forms = {form for secret in secrets if len(secret) >= SHORTEST for form in _forms(secret)}
        parts = (_BREAK.join(map(re.escape, form)) for form in sorted(forms, key=len, reverse=True))
        self._known = re.compile("|".join(parts)) if forms else None

    def known(self, text: str) -> str:
        """`text` without the known secrets; nothing else of it changes."""
        return text if self._known is None else self._known.sub(MARK, text)

    def __call__(self, text: str) -> str:
        """`text` without the known secrets and without whatever has the shape of a key."""
        return _KEY_SHAPED.sub(MARK, self.known(text))


def url_secrets(url: str) -> list[str]:
    """What of an address may be secret: its password and the values of its query."""
    parts = urlsplit(url)
    return [value for value in (parts.password, *(value for _, value in parse_qsl(parts.query))) if value]


def _forms(secret: str) -> Iterable[str]:
    yield secret
    yield quote(secret, safe="")
    raw = secret.encode()
    for encode in (b64encode, urlsafe_b64encode):
        for shift in range(3):
            # The characters that depend on `secret` alone, wherever in an encoded text it starts.
            first = -(-shift * 4 // 3)
            encoded = encode(b"\0" * shift + raw).decode().rstrip("=")
            yield encoded[first : (shift + len(raw)) * 4 // 3]
