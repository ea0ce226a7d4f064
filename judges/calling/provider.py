"""litellm as a translator: what it would send for a model is learnt once and filled in for each call.

Only this module imports litellm, and only for a live call. For the providers in `families.py`, litellm is
called with a client that keeps the request instead of sending it, and with a mark for the text of each
message: what it would send is the same for every call but for those marks. Messages with images, audio or
files it translates anew each time; they are sent as it would. Any other provider (signed
requests, tokens that expire, custom handlers) goes through `litellm.acompletion` call by call.
"""

from __future__ import annotations

import asyncio
import copy
import gc
import logging
import os
import re
import secrets
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

import orjson

from adjudge.judges.calling.access import Access
from adjudge.judges.calling.families import FAMILIES
from adjudge.judges.calling.form import Captured, Form, Messages, learnt, marked, outline, texts
from adjudge.judges.calling.output import Mode, mode_arguments
from adjudge.judges.calling.price import Price, mapped_price
from adjudge.judges.calling.reading import Shape, native_finish
from adjudge.judges.calling.transport import DROPPED, Response, Transport, UnreachableError, refusal
from adjudge.judges.failure import UsageError
from adjudge.judges.media import data_in

if TYPE_CHECKING:
    from httpx import AsyncBaseTransport

_ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else the import fetches a price map
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",  # else the first Anthropic call fetches a list
    "LITELLM_LOCAL_BLOG_POSTS": "True",
    "LITELLM_MODE": "PRODUCTION",  # else the import reads ./.env
}
_LEARNING_SECONDS = 30.0
_SAMPLE: Messages = ({"role": "system", "content": "sample"}, {"role": "user", "content": "sample"})


class _UnsupportedError(Exception):
    """litellm does not translate a parameter for this model."""


class Provider:
    """One model as litellm reaches it. Made by `load`.

    A model with another interface than chat, which litellm bridges, is asked through litellm.

    Attributes:
        shape: the interface its replies have.
        redact: takes secrets out of messages and out of what failed.
        redact_key: takes the key alone out of a reply, whose quotes must stay what they are.
        price: in litellm's price map, of the model asked for; None where that has none.
        marks_prefix: whether it keeps a prefix only where it is told that it ends.
    """

    def __init__(self, access: Access, provider: str, name: str, base: str | None) -> None:
        """`provider`, `name` and `base` as litellm resolves the model.

        Raises:
            UsageError: no key, or no address.
        """
        row = _price_row(_litellm().model_cost, access.model.name, provider, name)
        bridged = name.startswith("responses/") or (row is not None and row.get("mode") == "responses")
        family = None if bridged else FAMILIES.get(provider)
        self.price: Price | None = mapped_price(row)
        self.shape: Shape = "openai" if family is None else family.shape
        self._access, self._family, self._provider, self._name = access, family, provider, name
        self._key = self._find_key()
        self._base = access.model.api_base or base or (None if family is None else family.base)
        self.redact, self.redact_key = access.redactors(self._key)
        if self._base is None and family is not None and family.client != "handler":
            raise UsageError(f"{access.label}: {access.model.name!r} needs api_base or {family.bases[0]}")
        self.marks_prefix = family is not None and family.marks_prefix
        self._as_written: tuple[str, ...] = ()
        self._forms: dict[tuple[Mode, tuple[str, ...], tuple[int, ...]], Form] = {}
        self._learning = asyncio.Lock()

    async def modes(self, wanted: Sequence[Mode]) -> tuple[Mode, ...]:
        """Those of `wanted` that litellm translates for this model. Nothing is sent.

        Raises:
            UsageError: it translates none of them, or not the suite's parameters.
        """
        await self._settle_params()
        possible: list[Mode] = [mode for mode in wanted if await self._refused(self._arguments(mode)) is None]
        label, model = self._access.label, self._access.model.name
        if not possible:
            raise UsageError(f"{label}: {model!r} can't be asked with output {wanted[0]!r}; use auto or text")
        return tuple(possible)

    async def ask(
        self, transport: Transport, messages: Messages, mode: Mode, ids: tuple[str, ...]
    ) -> Response:
        """Send one request and return its response, whatever its status, in the interface `shape`.

        Raises:
            TransportError: no whole response came.
        """
        if self._family is None:
            return await self._through_litellm(transport, messages, mode, ids)
        if not all(outline(messages)):
            return await self._translated(transport, messages, mode, ids)
        form = await self._form(mode, ids, messages)
        return await transport.post(form.url, form.headers, form.body(messages))

    async def _translated(
        self, transport: Transport, messages: Messages, mode: Mode, ids: tuple[str, ...]
    ) -> Response:
        """Send messages with media: their form depends on what they carry, so litellm makes each one anew.

        What litellm can't translate for this model, or drops, is answered as a server that refuses it would.
        """
        arguments = {**self._arguments(mode, ids), "messages": [dict(message) for message in messages]}
        try:
            request = await self._captured(arguments)
        except (_UnsupportedError, UsageError) as error:
            return refusal(str(error))
        missing = any(data not in request[2] for message in messages for data in data_in(message["content"]))
        return refusal(DROPPED) if missing else await transport.post(*request)

    async def _form(self, mode: Mode, ids: tuple[str, ...], messages: Messages) -> Form:
        known = (mode, ids, outline(messages))
        if known not in self._forms:
            async with self._learning:
                if known not in self._forms:
                    self._forms[known] = await self._learn(self._arguments(mode, ids), messages)
        return self._forms[known]

    async def _learn(self, arguments: dict[str, Any], messages: Messages) -> Form:
        examples: dict[str, Captured] = {}
        for mark in (secrets.token_hex(8), secrets.token_hex(8)):
            examples[mark] = await self._captured({**arguments, "messages": marked(messages, mark)})
        form = learnt(examples, len(texts(messages)))
        if form is None:
            raise UsageError(f"{self._access.label}: the request that litellm makes can't be learnt")
        return form

    async def _captured(self, arguments: dict[str, Any]) -> Captured:
        """Address, headers and body that litellm would send.

        Raises:
            _UnsupportedError: a parameter is not translated for this model.
            UsageError: no request came of it at all.
        """
        from adjudge.judges.calling.relay import Capture

        capture = Capture()
        reason = "it made no request"
        try:
            async with asyncio.timeout(_LEARNING_SECONDS), self._client(capture) as client:
                await _litellm().acompletion(**copy.deepcopy(arguments), client=client)
        except _litellm().UnsupportedParamsError as error:
            raise _UnsupportedError(_sentence(error)) from None
        except Exception as error:  # noqa: BLE001  the capture ends every call, and litellm wraps what ends it
            reason = _sentence(error)
        if capture.request is None:
            label, model = self._access.label, self._access.model.name
            raise UsageError(self.redact(f"{label}: litellm can't make a request for {model!r}: {reason}"))
        return capture.request

    async def _through_litellm(
        self, transport: Transport, messages: Messages, mode: Mode, ids: tuple[str, ...]
    ) -> Response:
        from adjudge.judges.calling.relay import Relay

        relay = Relay(transport, [data for message in messages for data in data_in(message["content"])])
        arguments = {**self._arguments(mode, ids), "messages": [dict(message) for message in messages]}
        try:
            async with self._client(relay) as client:
                reply = await _litellm().acompletion(**arguments, client=client)
        except Exception as error:  # noqa: BLE001  what came over the wire says more than litellm's classes
            if relay.error is not None:
                raise relay.error from None
            if relay.response is None:
                return _error_response(error)
            return relay.response
        return _as_response(reply.model_dump(), relay.response)

    async def _settle_params(self) -> None:
        """See that litellm takes the suite's parameters.

        At the provider's own address one it refuses is the suite's mistake. A server of the user's own may
        be any model under any name: there it is sent as it is written.
        """
        refusal = await self._refused(self._arguments("text"))
        if refusal is None:
            return
        model = self._access.model
        alone = [name for name in model.params if await self._refused(self._arguments("text", only=name))]
        refused = tuple(alone or model.params)
        if model.api_base is not None and self._family is not None and self._family.shape == "openai":
            self._as_written = refused
            refusal = await self._refused(self._arguments("text"))
        if refusal is not None:
            named = ", ".join(map(repr, refused))
            raise UsageError(f"{self._access.label}: {model.name!r} does not take params {named}: {refusal}")

    async def _refused(self, arguments: dict[str, Any]) -> str | None:
        """Why litellm does not translate `arguments`, or None where it does. Nothing is sent."""
        try:
            if self._family is not None:
                await self._captured({**arguments, "messages": [dict(message) for message in _SAMPLE]})
            else:
                _litellm().utils.get_optional_params(
                    **{**arguments, "model": self._name, "custom_llm_provider": self._provider}
                )
        except (_UnsupportedError, _litellm().UnsupportedParamsError) as error:
            return _sentence(error)
        return None

    def _arguments(
        self, mode: Mode, ids: tuple[str, ...] = ("s1",), *, only: str | None = None
    ) -> dict[str, Any]:
        """What litellm is called with, beside messages and client; of the parameters `only` one, if named."""
        params = {k: v for k, v in self._access.model.params.items() if only in {None, k}}
        as_written = {name: params.pop(name) for name in self._as_written if name in params}
        extra = {
            "extra_body": {**params.pop("extra_body", {}), **as_written},
            "extra_headers": self._access.all_headers,
            "api_base": self._base,
            "api_key": self._key,
        }
        given = {name: value for name, value in extra.items() if value}
        call: dict[str, Any] = {"model": self._access.model.name, "max_retries": 0, "num_retries": 0}
        if self._family is not None and self._family.client != "handler":
            call["_skip_responses_api_bridge"] = True  # the bridge would not send with our client
        return copy.deepcopy({**call, **params, **given, **mode_arguments(mode, ids)})

    def _find_key(self) -> str | None:
        if self._family is not None:
            return self._access.key(self._family.keys, needed=self._family.needs_key)
        if self._access.api_key_env is not None:
            return self._access.key((), needed=True)
        missing: list[str] = _litellm().validate_environment(self._access.model.name)["missing_keys"]
        if missing and self._access.model.api_base is None:
            raise UsageError(f"{self._access.label}: {' and '.join(missing)} must be set, but is not")
        return None

    @asynccontextmanager
    async def _client(self, transport: AsyncBaseTransport) -> AsyncGenerator[Any]:
        """The client through which litellm reaches this provider, over `transport`."""
        import httpx
        import openai

        kind = "handler" if self._family is None else self._family.client
        http = httpx.AsyncClient(transport=transport, trust_env=False)
        common: dict[str, Any] = {"api_key": self._key, "http_client": http, "max_retries": 0}
        if kind == "sdk":
            client: Any = openai.AsyncOpenAI(base_url=self._base, **common)
        elif kind == "azure":
            client = openai.AsyncAzureOpenAI(
                azure_endpoint=self._base or "", api_version=self._api_version(), **common
            )
        else:
            client = _litellm().AsyncHTTPHandler(transport=transport, follow_redirects=False)
        try:
            yield client
        finally:
            await client.close()
            await http.aclose()

    def _api_version(self) -> str:
        named = self._access.model.params.get("api_version") or self._access.environ.get("AZURE_API_VERSION")
        return named or _litellm().AZURE_DEFAULT_API_VERSION


async def load(access: Access) -> Provider:
    """The provider of `access.model`. Imports litellm in a thread, which takes seconds the first time.

    Raises:
        UsageError: no provider of that name, no key, no address.
    """
    access.check()
    litellm = await asyncio.to_thread(_litellm)
    model = access.model
    try:
        name, provider, _, base = litellm.get_llm_provider(model.name, api_base=model.api_base)
    except litellm.BadRequestError as error:
        reason = _sentence(error)
        if "LLM Provider NOT provided" in reason:
            reason = "no provider that litellm knows; write provider/model, as in openai/gpt-4.1-mini"
        raise UsageError(f"{access.label}: {model.name!r} can't be asked: {reason}") from None
    return Provider(access, provider, name, base)


def _litellm() -> Any:
    """litellm, with nothing fetched, no `.env` read and nothing printed. The first import takes seconds."""
    os.environ.update(_ENVIRONMENT)
    with _no_collection():
        import litellm

    litellm.suppress_debug_info = True
    litellm.drop_params = litellm.modify_params = False
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).disabled = True
    return litellm


@contextmanager
def _no_collection() -> Generator[None]:
    """Looking for garbage in what an import makes finds none and takes a quarter of its time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _price_row(
    prices: Mapping[str, Mapping[str, Any]], asked: str, provider: str, name: str
) -> Mapping[str, Any] | None:
    rows = (prices.get(key, {}) for key in (asked, f"{provider}/{name}", name))
    return next((row for row in rows if row.get("litellm_provider") == provider), None)


def _error_response(error: Exception) -> Response:
    """The response that an exception of litellm stands for, where our transport saw none."""
    status = getattr(error, "provider_status_code", None) or getattr(error, "status_code", None)
    if not isinstance(status, int) or type(error).__name__ in {"APIConnectionError", "Timeout"}:
        raise UnreachableError(_sentence(error)) from None
    headers: Mapping[str, str] = getattr(error, "litellm_response_headers", None) or {}
    body = orjson.dumps({"error": {"message": _sentence(error)}})
    return Response(status=status, headers={k.lower(): v for k, v in headers.items()}, body=body)


def _as_response(reply: dict[str, Any], seen: Response | None) -> Response:
    """What litellm made of a reply, with the provider's finish reason: litellm calls unknown ones `stop`."""
    choices: list[dict[str, Any]] = reply["choices"]
    for choice in choices:
        kept: dict[str, Any] = choice.get("provider_specific_fields") or {}
        native = kept.get("native_finish_reason") or (None if seen is None else native_finish(seen.body))
        choice["finish_reason"] = native or choice["finish_reason"]
    return Response(status=200, headers={}, body=orjson.dumps(reply))


def _sentence(error: Exception) -> str:
    """What an exception of litellm says first, without its own advice."""
    text = str(error).partition("To drop ")[0].partition("Traceback")[0].partition("\n")[0]
    return " ".join(re.sub(r"litellm\.\w+: ", "", text).split())[:200] or type(error).__name__
