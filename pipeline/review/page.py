"""The page's HTML: served, with its files beside it, or as one file with everything in it."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, TextIO

import orjson

from adjudge.pipeline.rundir import Run

if TYPE_CHECKING:
    from jinja2 import Template

MODULES = ("dom", "source", "filters", "list", "transcript", "labels", "verdicts", "head", "app")
"""The page's modules, each after those it imports."""

_IMPORT = re.compile(r"^import .*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)


def served_page(title: str) -> str:
    """The page as the server of `adjudge review` gives it."""
    return _template().render(title=title)


def write_html(run: Run, stream: TextIO) -> None:
    """Write a run as one HTML file that needs no server, makes no request and runs no script but its own.

    Conversations are written one by one, and read by the page when they are opened.

    Raises:
        UsageError: the run has no summary yet.
        StorageError: the run can't be read.
    """
    from adjudge.pipeline.review.review import Review
    from adjudge.pipeline.review.rows import Rows

    style, script = static("style.css"), bundle()
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    with Rows(run) as rows:
        review = Review(run, rows)
        pieces = _template().generate(
            title=f"Run {run.id}",
            policy=policy,
            style=_markup(style),
            script=_markup(script),
            run=_markup(_data(review.run())),
            conversations=(_markup(_data(orjson.dumps(review.conversation(n)))) for n in range(len(rows))),
        )
        stream.writelines(pieces)


def static(name: str) -> str:
    """One of the page's files."""
    return files("adjudge.pipeline.review").joinpath("static", name).read_text("utf-8")


def bundle() -> str:
    """The page's modules as one. It relies on imports of one line, and on names that are unique in all."""
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", static(f"{name}.js"))) for name in MODULES)


def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined)
    text = files("adjudge.pipeline.review").joinpath("page.html").read_text("utf-8")
    return environment.from_string(text, globals={"policy": "", "style": ""})


def _markup(text: str) -> str:
    """Text that is no HTML but the inside of a script or a style, which knows no escapes."""
    from markupsafe import Markup

    return Markup(text)  # noqa: S704 - our own files, and JSON without `<`


def _data(json: bytes) -> str:
    """JSON that can't end the element it stands in."""
    return json.decode().replace("<", "\\u003c")


def _hash(text: str) -> str:
    """The CSP source that allows this inline text alone."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
