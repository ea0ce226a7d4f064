"""What a model is sent: prompt files, and a request filled into the messages of one call (J2, J5)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import orjson

from adjudge.judges.failure import UsageError
from adjudge.judges.media import parts_of
from adjudge.judges.reply import REPLY_FORMAT
from adjudge.judges.request import Evidence, JudgeRequest, Prompt, canonical_json, digest

_PLACEHOLDER = re.compile(r"\{([A-Za-z_]\w*)\}")
_HEADING = re.compile(r"^#[ \t]+(system|user)[ \t]*$", re.IGNORECASE | re.MULTILINE)

# What can break a line, reorder text or hide in it: DEL and C1, zero-width and bidi marks, line separators,
# annotations, lone surrogates, tags and supplementary variation selectors. JSON escapes C0 by itself.
_UNSEEN = re.compile(
    "[\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e01ef]"
)


def load_prompt(source: str | Path) -> Prompt:
    """Read a prompt: a built-in one by its bare name (`judge`), anything else as the path of a Markdown file.

    The file has two sections, each under its own heading line: `# system`, then `# user`. What stands above
    the first is a note for people and is not sent. Three placeholders must each stand once:
    `{evidence}` and, after it, `{statements}` in the user section, so that calls about one conversation
    share a prefix (J4); `{reply_format}`, the reply's schema in words, in either. The last is filled here,
    so that the prompt frozen in a plan is whole. Braces round anything but a single word are plain text.

    Raises:
        UsageError: no such prompt or file, not UTF-8, sections or placeholders missing, repeated or unknown.
    """
    if isinstance(source, str) and re.fullmatch(r"[\w-]+", source):
        return _parse(f"{source}.md", _built_in(source), f"{source}.md")
    path = Path(source)
    try:
        return _parse(path.name, path.read_text(encoding="utf-8-sig"), str(path))
    except OSError as error:
        raise UsageError(f"prompt {str(path)!r} can't be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"prompt {str(path)!r} is not UTF-8 text (byte {error.start})") from None


def messages(request: JudgeRequest, *, mark_prefix: bool = False) -> list[dict[str, Any]]:
    """`request` as two chat messages, system and user; what was wrong before (J3) stands at the very end.

    Templates are filled in one pass: nothing that stands in evidence or statements is ever expanded. For one
    conversation and prompt everything up to the statements is the same. A correction is no message of its
    own, since many chat templates refuse two user messages in a row. Content is text; where the evidence has
    media, the last message's is parts: the text up to the end of the evidence, the media in order, each after
    its label, then the rest.

    With `mark_prefix` the last message is parts, too, and the one that ends the shared prefix says so, as
    Anthropic wants to be told.
    """
    statements = zip(request.ids, request.statements, strict=True)
    values = {
        "evidence": _fenced(request.evidence),
        "statements": "\n".join(
            f'{{"id": {json_line(id_)}, "statement": {json_line(text)}}}' for id_, text in statements
        ),
    }
    above, below = _split(request.prompt.user)
    above, below = _fill(above, values), _fill(below, values)
    if request.correction is not None:
        below += (
            f"\n\nYour previous reply to this can't be used: {request.correction}\n"
            "Judge the statements again. Reply with one JSON object of the shape asked for, and nothing else."
        )
    last: Any = above + below
    if request.evidence.media or mark_prefix:
        shared = [_text(above), *parts_of(request.evidence.media)]
        if mark_prefix:
            shared[-1] = {**shared[-1], "cache_control": {"type": "ephemeral"}}
        last = [*shared, _text(below)]
    system = _fill(request.prompt.system, values)
    return [{"role": "system", "content": system}, {"role": "user", "content": last}]


def json_line(value: object) -> str:
    """`value` as one line of compact JSON in which every character is seen, in the order it stands.

    Control characters, line separators, bidi and zero-width marks and lone surrogates are escaped. Integers
    of any size are written whole; keys keep their order.
    """
    try:
        line = orjson.dumps(value).decode()
    except TypeError:  # a lone surrogate, an integer beyond 64 bits, an object from a Python caller
        line = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    if (line.isascii() and "\x7f" not in line) or line.isprintable():
        return line
    return _UNSEEN.sub(lambda found: json.dumps(found[0])[1:-1], line)


def _fenced(evidence: Evidence) -> str:
    """The evidence between tags whose code is a digest of it, so that nothing in it can forge them (J5)."""
    code = evidence.digest[:16]
    while code in evidence.text:
        code = digest(code + evidence.text)[:16]
    return f"<evidence-{code}>\n{evidence.text}\n</evidence-{code}>"


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def _split(template: str) -> tuple[str, str]:
    """A user section up to the end of its evidence, and the rest."""
    before, evidence, after = template.partition("{evidence}")
    return before + evidence, after


def _fill(template: str, values: dict[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), template)


def _built_in(name: str) -> str:
    from importlib.resources import files

    from adjudge import prompts

    known = {
        file.name.removesuffix(".md"): file for file in files(prompts).iterdir() if file.name.endswith(".md")
    }
    if name not in known:
        names = ", ".join(map(repr, sorted(known)))
        raise UsageError(
            f"no built-in prompt {name!r}: there is {names}; a file is named by a path, as './{name}.md'"
        )
    return known[name].read_text(encoding="utf-8")


def _parse(name: str, text: str, place: str) -> Prompt:
    headings = list(_HEADING.finditer(text))
    if [heading[1].lower() for heading in headings] != ["system", "user"]:
        line = _line(text, headings[-1].start()) if headings else 1
        raise UsageError(f"{place}:{line}: a prompt has one section '# system', then one section '# user'")
    first, second = headings
    _check_placeholders(place, text, first.end(), second.end())
    system, user = (
        _fill(part.strip(), {"reply_format": REPLY_FORMAT})
        for part in (text[first.end() : second.start()], text[second.end() :])
    )
    return Prompt(name=name, system=system, user=user, digest=digest(canonical_json([system, user])))


def _check_placeholders(place: str, text: str, start: int, user: int) -> None:
    """Each stands once and where it belongs; the sections begin at `start`, the user's at `user`."""
    due = ["evidence", "statements", "reply_format"]
    for found in _PLACEHOLDER.finditer(text, start):
        word, line = found[1], _line(text, found.start())
        if word not in due:
            raise UsageError(
                f"{place}:{line}: {found[0]} is unknown or here again; still due: {_braced(due)}"
            )
        if word != "reply_format" and found.start() < user:
            raise UsageError(f"{place}:{line}: {found[0]} belongs in the section '# user'")
        if word == "statements" and "evidence" in due:
            raise UsageError(f"{place}:{line}: {{statements}} must come after {{evidence}}")
        due.remove(word)
    if due:
        raise UsageError(f"{place}:{_line(text, len(text.rstrip()))}: the prompt ends without {_braced(due)}")


def _braced(words: list[str]) -> str:
    return ", ".join(f"{{{word}}}" for word in words) or "none"


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1
