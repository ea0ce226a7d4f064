"""Keys, addresses, headers and parameters, before anything is sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from adjudge.judges.calling.access import PLACEHOLDER_KEY, Access, refuse_secrets, refuse_typos
from adjudge.judges.calling.families import FAMILIES, resolved
from adjudge.judges.failure import UsageError
from adjudge.judges.redact import MARK
from adjudge.judges.request import Model

NONE: Mapping[str, str] = {}


def access(
    *,
    base: str | None = None,
    env: str | None = None,
    headers_env: Mapping[str, str] = NONE,
    environ: Mapping[str, str] = NONE,
    **params: Any,
) -> Access:
    model = Model(name="openai/any", api_base=base, params=params)
    return Access(label="judge 'j'", model=model, api_key_env=env, headers_env=headers_env, environ=environ)


def test_the_first_variable_that_is_set_holds_the_key() -> None:
    key = access(environ={"A": " ", "B": "two", "C": "three"}).key(("A", "B", "C"), needed=True)

    assert key == "two"


def test_white_space_around_a_key_is_not_part_of_it() -> None:
    assert access(environ={"A": " key\n"}).key(("A",), needed=True) == "key"


@pytest.mark.parametrize("base", [None, "http://h"])
@pytest.mark.parametrize("key", ["one\ntwo", "one\x00two", "one\x7ftwo", "cl\u00e9-two"])
def test_a_key_that_can_not_be_sent_is_refused_without_being_shown(key: str, base: str | None) -> None:
    with pytest.raises(UsageError, match="A holds a line break or another sign") as caught:
        access(base=base, environ={"A": key}).key(("A",), needed=True)

    assert "two" not in str(caught.value)


def test_a_missing_key_names_every_variable_that_would_do() -> None:
    with pytest.raises(UsageError, match="judge 'j': A or B is not set"):
        access().key(("A", "B"), needed=True)


@pytest.mark.parametrize(("base", "needed"), [("http://h", True), (None, False)])
def test_a_key_that_is_not_needed_is_a_placeholder(base: str | None, needed: bool) -> None:
    assert access(base=base).key(("A",), needed=needed) == PLACEHOLDER_KEY


def test_the_variable_that_the_suite_names_is_needed_everywhere() -> None:
    with pytest.raises(UsageError, match="MINE is not set"):
        access(base="http://h", env="MINE", environ={"A": "key"}).key(("A",), needed=False)


@pytest.mark.parametrize(
    "base", ["http://127.0.0.1:8000/v1", "https://h", "http://[::1]:1/", "http://u:p@h/v1?k=v"]
)
def test_an_http_address_is_accepted(base: str) -> None:
    access(base=base).check()


@pytest.mark.parametrize(
    "base", ["", "h", "//h", "https://", "ftp://h", "http://h:99999", "http://h\r\nX: y"]
)
def test_anything_else_is_no_address(base: str) -> None:
    with pytest.raises(UsageError, match="api_base is not an"):
        access(base=base).check()


@pytest.mark.parametrize(("name", "value"), [("X Y", "v"), ("", "v"), ("X", "v\r\nY: z"), ("é", "v")])
def test_a_header_that_can_not_be_sent_is_refused_without_its_value(name: str, value: str) -> None:
    with pytest.raises(UsageError) as caught:
        access(headers_env={name: "H"}, environ={"H": value}).check()

    assert "Y: z" not in str(caught.value)


def test_a_header_whose_variable_is_not_set_is_refused() -> None:
    with pytest.raises(UsageError, match="judge 'j': GATE is not set; it must hold the header 'X-Gate'"):
        access(headers_env={"X-Gate": "GATE"}, environ={"GATE": " "}).check()


def test_a_judges_headers_outrank_those_among_its_parameters() -> None:
    both = access(headers_env={"A": "V"}, environ={"V": "1"}, extra_headers={"A": "2", "B": 3})

    assert both.all_headers == {"A": "1", "B": "3"}


def test_every_kind_of_secret_is_taken_out_of_messages_but_only_the_key_out_of_replies() -> None:
    judge = access(
        base="http://me:passw0rd@h/?k=qu3ry-value",
        headers_env={"X": "HEADER"},
        environ={"HEADER": "h3ader-value", "SOME_TOKEN": "t0ken-value", "HOME": "/home/someone"},
        aws_secret_access_key="aws-v4lue",
    )
    text = "the-k3y h3ader-value t0ken-value passw0rd qu3ry-value aws-v4lue /home/someone"

    messages, replies = judge.redactors("the-k3y")

    assert messages(text) == " ".join([MARK] * 6) + " /home/someone"
    assert replies.known(text) == text.replace("the-k3y", MARK)


@pytest.mark.parametrize(
    ("model", "place"),
    [
        (Model(name="openai/x", api_base="https://me:hunter22@h/v1"), "its address"),
        (Model(name="openai/x", api_base="https://hunter22@h/v1"), "its address"),
        (Model(name="openai/x", api_base="https://h/v1?key=hunter22"), "its address"),
        (Model(name="openai/x", api_base="https://[hunter22"), "its address"),
        (
            Model(name="openai/x", params={"extra_headers": {"Cookie": "hunter22"}}),
            "params.extra_headers.Cookie",
        ),
    ],
)
def test_a_model_that_holds_a_secret_is_refused_without_showing_it(model: Model, place: str) -> None:
    with pytest.raises(UsageError, match=f"^judge 'j': {place} ") as caught:
        refuse_secrets("judge 'j'", model)

    assert "hunter22" not in str(caught.value)


def test_a_model_without_a_secret_is_taken() -> None:
    params = {"max_tokens": 9, "extra_headers": {"X-Title": "a"}}

    refuse_secrets("judge 'j'", Model(name="openai/x", api_base="http://h:1/v1", params=params))


def test_a_placeholder_is_no_secret() -> None:
    messages, replies = access().redactors(PLACEHOLDER_KEY)

    assert messages(PLACEHOLDER_KEY) == replies.known(PLACEHOLDER_KEY) == PLACEHOLDER_KEY


def test_the_address_in_the_environment_becomes_part_of_the_model() -> None:
    environ = {"OPENAI_BASE_URL": "http://gateway/v1", "AZURE_API_BASE": "https://a"}

    assert resolved(Model(name="openai/x"), environ).api_base == "http://gateway/v1"
    assert resolved(Model(name="azure/x"), environ).api_base == "https://a"
    assert resolved(Model(name="anthropic/x"), environ).api_base is None
    assert resolved(Model(name="unheard_of/x"), environ).api_base is None


def test_an_address_that_the_suite_names_outranks_the_environment() -> None:
    model = Model(name="openai/x", api_base="http://mine")

    assert resolved(model, {"OPENAI_BASE_URL": "http://gateway"}) is model


def test_every_family_names_its_variables() -> None:
    for name, family in FAMILIES.items():
        assert family.keys, name
        assert family.bases, name


@pytest.mark.parametrize(
    ("name", "meant"),
    [("temprature", "temperature"), ("max_token", "max_tokens"), ("reasoning_efort", "reasoning_effort")],
)
def test_a_parameter_that_is_another_one_misspelt_is_refused(name: str, meant: str) -> None:
    with pytest.raises(UsageError, match=f"params.{name} is not known; did you mean '{meant}'"):
        refuse_typos("judge 'j'", Model(name="openai/x", params={name: 1}))


@pytest.mark.parametrize("name", ["temperature", "top_k", "guided_json", "chat_template_kwargs", "x"])
def test_a_parameter_that_may_be_one_of_the_servers_own_is_left_alone(name: str) -> None:
    refuse_typos("judge 'j'", Model(name="openai/x", params={name: 1}))
