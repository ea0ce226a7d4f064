"""The `checks` grader: a Python verifier's checks on one conversation (S3, S4)."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, cast

from adjudge.judges.failure import Failure, UsageError
from adjudge.pipeline.conversation import Conversation


class NoRequiredChecks(Exception):  # noqa: N818 - the name the spec gives it
    """A verifier returned no required check: it could not fail, so it can't pass either (S4)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing a verifier looked at."""

    label: str
    passed: bool
    detail: str = ""
    required: bool = True


def check(label: str, passed: bool, detail: str = "") -> Check:
    """A required check: the grade fails unless it passed."""
    return Check(label=label, passed=passed, detail=detail)


def optional(label: str, passed: bool, detail: str = "") -> Check:
    """A check that is not required, but counts for the score (S3).

    So one that did not pass still fails a grade whose threshold is 1, the default. Where the required checks
    alone shall decide, write `threshold: 0` for the grader in the suite.
    """
    return Check(label=label, passed=passed, detail=detail, required=False)


Verifier = Callable[[Conversation], Iterable[Check]]


def load_verifier(path: Path, function: str) -> Verifier:
    """The function `function` of the Python file `path`. The file is run: verifiers are code.

    Raises:
        UsageError: if the file can't be read or run, or has no such function.
    """
    name = f"adjudge_verifier_{sha256(str(path.resolve()).encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"verifier {str(path)!r} is not a Python file")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    try:
        with redirect_stdout(sys.stderr):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign code may raise anything
        said = _describe(error, str(path))
        raise UsageError(f"verifier {str(path)!r} could not be loaded: {said}") from None
    finally:
        sys.path.remove(folder)
    found: Any = getattr(module, function, None)
    if not callable(found):
        raise UsageError(f"verifier {str(path)!r} has no function {function!r}")
    return cast("Verifier", found)


def verify(verifier: Verifier, conversation: Conversation) -> list[Check] | Failure:
    """The verifier's checks, or why there are none. Foreign code may raise anything; it becomes a cause.

    What it prints goes to stderr: stdout is for results.
    """
    try:
        with redirect_stdout(sys.stderr):
            checks = list(verifier(conversation))
        _refuse_odd(checks)
    except NoRequiredChecks as error:
        return Failure(cause="no_required_checks", message=str(error))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign code may raise anything
        return Failure(cause="verifier_error", message=_describe(error, _file_of(verifier)))
    return checks


def _refuse_odd(checks: list[Check]) -> None:
    for item in checks:
        if not isinstance(item, Check):  # pyright: ignore[reportUnnecessaryIsInstance] - foreign code
            raise TypeError(f"a verifier returns checks made by check() or optional(), not {item!r:.80}")
        if not isinstance(item.passed, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"check {item.label!r}: passed is True or False, not {item.passed!r:.80}")
        for text in (item.label, item.detail):
            if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(f"check {item.label!r}: label and detail are texts, not {text!r:.80}")
            text.encode()  # a lone surrogate can't be written anywhere
    if not any(item.required for item in checks):
        raise NoRequiredChecks("the verifier returned no required check, so it could never fail")


def _file_of(verifier: Verifier) -> str | None:
    module = sys.modules.get(getattr(verifier, "__module__", ""))
    return getattr(module, "__file__", None)


def _describe(error: BaseException, file: str | None) -> str:
    """Class and text on one line, with the last place in the verifier's own `file`, if it got there."""
    places = [(step.tb_frame.f_code.co_filename, step.tb_lineno) for step in _steps(error.__traceback__)]
    own = [place for place in places if file in (None, place[0])]
    place = f" ({Path(own[-1][0]).name}:{own[-1][1]})" if own else ""
    text = " ".join(str(error).encode(errors="backslashreplace").decode().split())[:300]
    return f"{type(error).__name__}: {text}{place}" if text else f"{type(error).__name__}{place}"


def _steps(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next
