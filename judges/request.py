"""What a judge is asked: evidence, statements, prompt and model, and the key that names the question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any, Literal, Protocol, Self

import orjson

from adjudge.judges.media import Media

KEY_VERSION = 1
"""Part of every key. Raised when the meaning of a key's fields changes."""

SCHEMA_VERSION = 1
"""Version of the reply schema of `judges.reply` (J2). Part of every key."""

Calls = Literal["per_statement", "per_grader"]
Output = Literal["auto", "json_schema", "tool", "text"]


class Hash(Protocol):
    """A hash as hashlib makes them: fed bit by bit, and copied to go on in several ways."""

    def copy(self) -> Self: ...

    def update(self, data: bytes, /) -> None: ...

    def hexdigest(self) -> str: ...


def canonical_json(value: object) -> bytes:
    """`value` as UTF-8 JSON with sorted keys and no white space: equal values give equal bytes.

    Raises:
        orjson.JSONEncodeError: for NaN-free JSON types only; anything else is a programming error.
    """
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def digest(data: bytes | str) -> str:
    """SHA-256 of `data` in lower-case hex."""
    return sha256(data.encode() if isinstance(data, str) else data).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What of one conversation a judge is shown (J5).

    Attributes:
        text: the rendered evidence, one JSON line a turn, without its fence.
        digest: SHA-256 hex of `text`, which names each of `media` by its own digest.
        turns: what each shown turn holds, for checking citations. Each is the turn's strings: its line as
            shown, then, unescaped, its words, the arguments and results of its tool calls.
        left_out: what of the conversation `text` does not show, and why; `text` says so too.
        first: number of the turn that `turns[0]` is, 1 or more; more in a window of a long conversation.
        media: images, audio and files shown after `text`, in the order of the turns.
    """

    text: str
    digest: str
    turns: tuple[tuple[str, ...], ...]
    left_out: tuple[str, ...] = ()
    first: int = 1
    media: tuple[Media, ...] = ()

    @property
    def numbers(self) -> range:
        """The numbers of the turns that are shown."""
        return range(self.first, self.first + len(self.turns))

    def turn(self, number: int) -> tuple[str, ...]:
        """The strings of the turn of that number; none where no such turn is shown."""
        return self.turns[number - self.first] if number in self.numbers else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt as frozen in the plan.

    Attributes:
        name: file name, for people; not part of the key.
        system: template of the system message.
        user: template of the last message; `{evidence}` and `{statements}` are filled in one pass.
        digest: SHA-256 hex over both templates.
    """

    name: str
    system: str
    user: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model behind litellm, with everything about it that can change an answer.

    Attributes:
        name: litellm model name, `provider/model`.
        api_base: base address of the server, or None for the provider's own.
        params: parameters as sent, such as `temperature` and `max_tokens`.
        output: how the reply is asked for; `auto` tries json_schema, json_object, then text.
    """

    name: str
    api_base: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    output: Output = "auto"


@dataclass(frozen=True, kw_only=True)
class JudgeRequest:
    """One question to a judge: are these statements true of this evidence?

    Attributes:
        evidence: what the judge is shown.
        statements: the statements' texts, in order. In the request they are `s1`, `s2`, ... (J2a).
        prompt: the prompt to fill.
        model: the model to ask.
        calls: `per_statement` (one statement) or `per_grader` (all of a grader's).
        sample: 0 for the first draw; every further draw of the same question counts on.
        require_citations: a quote that does not stand in its turn makes the reply malformed (J6).
            Not in the key: it decides what is accepted, not what is asked.
        correction: what was wrong with the previous reply (J3). Not in the key.
        unit: what it is asked for: conversation, grader, statement, judge and sample. Not in the key.
        shares_prefix: other requests follow that are the same up to their statements, so it pays to have the
            provider keep what it read. Not in the key.
        shared: `key_prefix` of its other fields, where it is known already: what its key begins with.
    """

    evidence: Evidence
    statements: tuple[str, ...]
    prompt: Prompt
    model: Model
    calls: Calls = "per_statement"
    sample: int = 0
    require_citations: bool = False
    correction: str | None = None
    unit: str = ""
    shares_prefix: bool = False
    shared: Hash | None = field(default=None, compare=False, repr=False)

    @property
    def ids(self) -> tuple[str, ...]:
        """The positional ids of the statements: `s1`, `s2`, ... (J2a)."""
        return tuple(f"s{n}" for n in range(1, len(self.statements) + 1))

    @property
    def key_fields(self) -> dict[str, Any]:
        """Everything that can change the answer, and nothing else (C6). JSON types only."""
        return {**_shared_fields(self), "statements": list(self.statements)}

    def about(self, statements: tuple[str, ...], unit: str) -> JudgeRequest:
        """The same of other `statements`, for another `unit`.

        As `dataclasses.replace` makes it, at a fifth of the time: there is one for every verdict.
        """
        made = object.__new__(JudgeRequest)
        vars(made).update(vars(self), statements=statements, unit=unit)
        vars(made).pop("key", None)
        return made

    @cached_property
    def key(self) -> str:
        """SHA-256 hex of the canonical JSON of `key_fields` (C6): the verdict's address in the ledger."""
        hashed = (self.shared or key_prefix(self)).copy()
        hashed.update(orjson.dumps(self.statements))
        hashed.update(b"}")
        return hashed.hexdigest()


def key_prefix(request: JudgeRequest) -> Hash:
    """The hash of the canonical JSON of a request's `key_fields` up to its statements.

    It is the same for all requests that differ in statements alone: those of one sample of one judge about
    one conversation.
    """
    return sha256(canonical_json(_shared_fields(request)).removesuffix(b"}") + b',"statements":')


def _shared_fields(request: JudgeRequest) -> dict[str, Any]:
    """All of `key_fields` but the statements, whose name sorts last."""
    model = request.model
    return {
        "api_base": model.api_base,
        "calls": request.calls,
        "evidence": request.evidence.digest,
        "key_version": KEY_VERSION,
        "model": model.name,
        "output": model.output,
        "params": dict(model.params),
        "prompt": request.prompt.digest,
        "sample": request.sample,
        "schema_version": SCHEMA_VERSION,
    }
