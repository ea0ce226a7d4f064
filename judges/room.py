"""How much evidence a judge has room for: its window in tokens, less everything else a call holds (J7)."""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping
from math import ceil

from adjudge.judges.calling.model_map import listed
from adjudge.judges.media import MEDIA_KINDS, MediaKind
from adjudge.judges.prompt import json_line
from adjudge.judges.request import Evidence, Model, Prompt

FORM_TOKENS = 512
"""Kept for what stands around: the reply's schema, the evidence's tags, a word on a malformed reply."""

REPLY_TOKENS = 768
"""Kept for the reply where the parameters don't limit it, with `REPLY_TOKENS_PER_STATEMENT` more for each."""

REPLY_TOKENS_PER_STATEMENT = 256

_STEP = 256
"""What is kept is rounded up to a multiple of this, so that rewording a statement moves no window."""

_SUPPORTS: dict[MediaKind, str] = {
    "image": "supports_vision",
    "audio": "supports_audio_input",
    "file": "supports_pdf_input",
}
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "num_predict")
_LOCAL = ("ollama/", "ollama_chat/")
_LETTERS = (string.ascii_letters + " ").encode()
_ASCII = bytes(range(128))


def tokens(text: str) -> int:
    """About how many tokens `text` has, meant to be too many rather than too few.

    An estimate: a quarter of a token for each ASCII letter or blank, five eighths for any other ASCII
    character, half for each byte of UTF-8 beyond. In most records of agents' conversations it is 1 to 35 %
    above what tokenizers count; in rare scripts and random characters there may be twice as many.
    """
    data = text.encode("utf-8", "surrogatepass")
    others = data.translate(None, _LETTERS)
    beyond = len(others.translate(None, _ASCII))
    return -(-(2 * (len(data) - len(others)) + 5 * (len(others) - beyond) + 4 * beyond) // 8)


def size_of(evidence: Evidence) -> int:
    """About how many tokens `evidence` has, its media included."""
    return tokens(evidence.text) + sum(media.tokens for media in evidence.media)


def known_windows(models: Mapping[str, Model]) -> dict[str, int]:
    """The windows of judges in tokens, by judge name, as far as they are known.

    A server of Ollama holds as many as its parameter `num_ctx` says, whatever the model could; any other
    model what litellm's map lists as its input.
    """
    told = {
        name: count
        for name, model in models.items()
        if (count := _count(model.params.get("num_ctx"))) is not None
    }
    hosted = {
        name: model.name
        for name, model in models.items()
        if name not in told and not model.name.startswith(_LOCAL)
    }
    rows = listed(hosted.values())
    read = {
        name: count
        for name, model in hosted.items()
        if model in rows and (count := _count(rows[model].get("max_input_tokens"))) is not None
    }
    return told | read


def known_media(models: Mapping[str, Model]) -> dict[str, list[MediaKind]]:
    """What each judge takes beside text, by judge name: what litellm's map lists of its model, or nothing."""
    rows = listed(model.name for model in models.values())
    return {
        name: [kind for kind in MEDIA_KINDS if rows.get(model.name, {}).get(_SUPPORTS[kind]) is True]
        for name, model in models.items()
    }


def room(window: int, model: Model, prompt: Prompt, statements: Iterable[str]) -> int:
    """Tokens of `window` that are left for evidence; 0 or less where nothing is.

    The rest is kept for the prompt, the `statements` of one call, the reply (all that the parameters allow
    it) and the form of the call.
    """
    texts = list(statements)
    limits = (_count(model.params.get(name)) for name in _LIMITS)
    reply = next(filter(None, limits), REPLY_TOKENS + REPLY_TOKENS_PER_STATEMENT * len(texts))
    asked = sum(tokens(json_line({"id": "s000", "statement": text})) + 1 for text in texts)
    kept = FORM_TOKENS + reply + asked + tokens(prompt.system) + tokens(prompt.user)
    return window - ceil(kept / _STEP) * _STEP


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
