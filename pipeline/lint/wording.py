"""The text of a statement as rules look at it: quotes covered, sentences counted, its language guessed."""

from __future__ import annotations

import re

_QUOTED = re.compile(
    r"\"[^\"\n]*\"|“[^”\n]*”|«[^»\n]*»|`[^`\n]*`|(?<!\w)'[^'\n]*'(?!\w)|(?<!\w)‘[^’\n]*’(?!\w)"
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_BREAK = re.compile(r"[.!?]+[)\]]*\s+(?=[\"“'(\[]*[A-Z])")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|approx|incl|No|St|Mr|Mrs|Ms|Dr|Jr|Sr|Inc|Ltd|Co)|\b[A-Z])\.\s*$"
)

_ENGLISH = frozenset(
    """
    the and is are was were be been not does did do doesn't didn't don't should must will would can cannot
    has have had that this these those with without of to for from by on at it its they their he she his her
    agent user users assistant customer never always any all when if before after than then only no which who
    what
    """.split()  # noqa: SIM905 - a list of them would be a page
)
_FOREIGN = frozenset(
    # German, French, Spanish, Portuguese, Italian, Dutch: words that stand in no English sentence
    """
    der das und ist nicht den dem des ein eine einen wird werden dass für mit auf von zu im nach oder
    auch keine  de le la les et est sont une des du dans pour avec pas que qui sur ne aux l'agent n'a  el
    los las y en una por para con se su debe del al como pero más  os uma não com ao da dos das deve
    pelo pela  il lo gli che di della delle per non è sono nel alla  het een van niet voor wordt zijn
    naar
    """.split()  # noqa: SIM905
)


def covered(text: str) -> str:
    """`text` with what stands in quotes or code blanked, places kept: it is named there, not said."""
    return _QUOTED.sub(lambda match: match[0][0] + "x" * (len(match[0]) - 2) + match[0][-1], text)


def words(text: str) -> list[str]:
    """The words of `text`, case folded, in order."""
    return [match[0].casefold().replace("’", "'") for match in _WORD.finditer(text)]


def sentences(text: str) -> list[str]:
    """The sentences of `text`; abbreviations end none."""
    found: list[str] = []
    start = 0
    for end in _BREAK.finditer(text):
        if not _ABBREVIATION.search(text[start : end.end()]):
            found.append(text[start : end.end()].strip())
            start = end.end()
    return [*found, text[start:].strip()]


def is_english(text: str) -> bool:
    """Whether `text` looks English: English function words stand in it, and more than of other languages.

    What can't be told, such as a text of names alone, is not.
    """
    found = words(text)
    english, foreign = (sum(word in known for word in found) for known in (_ENGLISH, _FOREIGN))
    return english > 2 * foreign
