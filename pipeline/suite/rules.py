"""What a suite's shape alone can't say: names that must exist, statements that must differ, graders that
must be able to fail (S4). Works on the file's plain data, so that a fault in one place hides none elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from adjudge.judges.calling.access import TELLING_ADDRESS, TELLING_VALUE, holds_secret
from adjudge.judges.redact import secret_places
from adjudge.pipeline.explain import Finding, Where, unknown
from adjudge.pipeline.plain import items, mapping

if TYPE_CHECKING:
    from adjudge.pipeline.suite.strict_yaml import Document

_OWN_PARAMS = {
    "api_base": "write it beside 'params'",
    "api_key": "name its environment variable in 'api_key_env'; keys don't belong in files",
    "base_url": "write 'api_base' beside 'params'",
    "cache": "adjudge keeps verdicts itself",
    "drop_params": "leave out what the model does not take",
    "max_retries": "set 'attempts'",
    "messages": "name a file in the grader's 'prompt'",
    "model": "write it beside 'params'",
    "n": "set the grader's 'samples'",
    "num_retries": "set 'attempts'",
    "response_format": "set 'output'",
    "stream": "replies are read whole",
    "timeout": "set 'attempt_timeout'",
    "tool_choice": "set 'output'",
    "tools": "set 'output'",
}
"""Parameters of a call that are adjudge's to set, and what to write in their place."""


def rule_findings(document: Document) -> Iterator[Finding]:
    """Everything that breaks a rule in a suite; what has the wrong shape is passed over."""
    data = mapping(document.data)
    graders = {place: mapping(grader) for place, grader in enumerate(items(data.get("graders")))}
    yield from _judge_findings(mapping(data.get("judges")))
    yield from _name_findings(document, graders)
    for place, grader in graders.items():
        if grader.get("type") == "statements":
            yield from _reference_findings(place, grader, list(mapping(data.get("judges"))))
            yield from _statement_findings(document, place, grader, mapping(data.get("tests")))
    types: dict[str, Any] = {}
    for grader in graders.values():
        types.setdefault(str(grader.get("name")), grader.get("type"))
    for name, test in mapping(data.get("tests")).items():
        yield from _test_findings(("tests", name), mapping(test), types)


def _judge_findings(judges: Mapping[str, Any]) -> Iterator[Finding]:
    for name, judge in judges.items():
        where: Where = ("judges", name)
        params = mapping(mapping(judge).get("params"))
        for parameter in params:
            if parameter in _OWN_PARAMS:
                message = f"{parameter!r} can't be a parameter; {_OWN_PARAMS[parameter]}"
                yield Finding(where=(*where, "params", parameter), message=message, about_key=True)
        for place in secret_places({key: params[key] for key in params if key not in _OWN_PARAMS}):
            yield Finding(where=(*where, "params", *place), message=TELLING_VALUE)
        canary = [mapping(known).get("statement") for known in items(mapping(judge).get("canary"))]
        for place, statement in enumerate(canary):
            if isinstance(statement, str) and statement in canary[:place]:
                yield Finding(where=(*where, "canary", place), message="the same statement is there already")
        base = mapping(judge).get("api_base")
        if isinstance(base, str) and not base.startswith(("http://", "https://")):
            yield Finding(where=(*where, "api_base"), message="must begin with http:// or https://")
        elif isinstance(base, str) and holds_secret(base):
            yield Finding(where=(*where, "api_base"), message=TELLING_ADDRESS)


def _name_findings(document: Document, graders: Mapping[int, Mapping[str, Any]]) -> Iterator[Finding]:
    first: dict[str, Where] = {}
    for place, grader in graders.items():
        name = grader.get("name")
        where: Where = ("graders", place, "name")
        if isinstance(name, str) and first.setdefault(name, where) != where:
            line = document.values[first[name]][0]
            yield Finding(where=where, message=f"a grader named {name!r} is on line {line} already")


def _reference_findings(place: int, grader: Mapping[str, Any], judges: list[str]) -> Iterator[Finding]:
    where: Where = ("graders", place)
    judge, jury = grader.get("judge"), grader.get("jury")
    if judge is None and jury is None:
        known = f": one of {', '.join(judges)}" if judges else ", and describe it under 'judges'"
        yield Finding(where=where, message=f"names no judge; add 'judge'{known}")
    if judge is not None and jury is not None:
        yield Finding(
            where=(*where, "jury"), message="a grader has a judge or a jury, not both", about_key=True
        )
    if isinstance(judge, str) and judge not in judges:
        yield Finding(where=(*where, "judge"), message=unknown("judge", judge, judges))
    yield from _list_findings("judge", items(jury), (*where, "jury"), judges)


def _list_findings(what: str, names: list[Any], where: Where, known: list[str]) -> Iterator[Finding]:
    """Names in a list that nothing has, or that stand in it twice."""
    seen: set[str] = set()
    for place, name in enumerate(names):
        if not isinstance(name, str):
            continue
        if name not in known:
            yield Finding(where=(*where, place), message=unknown(what, name, known))
        elif name in seen:
            yield Finding(where=(*where, place), message=f"{what} {name!r} is listed already")
        seen.add(name)


def _statement_findings(
    document: Document, place: int, grader: Mapping[str, Any], tests: Mapping[str, Any]
) -> Iterator[Finding]:
    """Duplicates, and graders that can't fail: none required at threshold 0, no statements at all (S4)."""
    where: Where = ("graders", place)
    name = str(grader.get("name"))
    own = _statements(grader.get("statements"), (*where, "statements"))
    yield from _duplicate_findings(document, own, {})
    selecting = {key: mapping(test) for key, test in tests.items() if _selects(mapping(test), name)}
    added = {
        key: _statements(mapping(test.get("statements")).get(name), ("tests", key, "statements", name))
        for key, test in selecting.items()
    }
    for extra in added.values():
        yield from _duplicate_findings(document, extra, {text: at for at, text, _ in reversed(own)})
    if grader.get("statements") == [] and not any(added.values()):
        message = "nothing could fail; write statements, or leave the key out where conversations bring them"
        yield Finding(where=(*where, "statements"), message=message)
    requires = _any_required(own) or (added and all(_any_required(extra) for extra in added.values()))
    if _is_zero(grader.get("threshold")) and not requires:
        message = "with 0 and no required statement nothing could fail; raise it or require a statement"
        yield Finding(where=(*where, "threshold"), message=message)


_Placed = tuple[Where, str, bool]
"""A statement: its place, its text with white space folded, whether it is required."""


def _statements(value: object, where: Where) -> list[_Placed]:
    found: list[_Placed] = []
    for place, item in enumerate(items(value)):
        text = mapping(item).get("text", item)
        if isinstance(text, str):
            required = mapping(item).get("required") is True
            found.append(((*where, place), " ".join(text.split()), required))
    return found


def _duplicate_findings(
    document: Document, statements: list[_Placed], earlier: Mapping[str, Where]
) -> Iterator[Finding]:
    first = dict(earlier)
    for where, text, _ in statements:
        if first.setdefault(text, where) != where:
            line = document.values[first[text]][0]
            yield Finding(where=where, message=f"the same statement is on line {line}; it would count twice")


def _any_required(statements: list[_Placed]) -> bool:
    return any(required for _, _, required in statements)


def _is_zero(threshold: object) -> bool:
    return threshold == 0 and not isinstance(threshold, bool)


def _selects(test: Mapping[str, Any], grader: object) -> bool:
    graders = test.get("graders")
    return graders is None or grader in items(graders)


def _test_findings(where: Where, test: Mapping[str, Any], types: Mapping[str, Any]) -> Iterator[Finding]:
    known = list(types)
    yield from _list_findings("grader", items(test.get("graders")), (*where, "graders"), known)
    for name in mapping(test.get("statements")):
        at: Where = (*where, "statements", name)
        if name not in known:
            yield Finding(where=at, message=unknown("grader", name, known), about_key=True)
        elif types[name] == "checks":
            yield Finding(
                where=at, message=f"grader {name!r} runs checks; it takes no statements", about_key=True
            )
        elif not _selects(test, name):
            message = f"grader {name!r} is not among this test's graders, so these would never be asked"
            yield Finding(where=at, message=message, about_key=True)
