"""How often the check of quotes errs (J6): a right quote refused, a wrong one accepted.

    python benchmarks/citations.py FILE... [--draws 2000] [--seed 1] [--show 5]

FILE is conversations of any format that adjudge reads. A right quote is a stretch of words of a turn. A
wrong one is such a stretch with one thing changed (another word or digit, a word left out, a "not" put in),
or a stretch of another turn. Each is then mangled as models mangle what they copy (those that this leaves as
they are: drawn again) and checked against its turn. What is wrong is decided without the check itself: the
letters and digits of a wrong quote, JSON escapes undone, stand nowhere in the turn.

Prints a Markdown table. `refused` should be 0: those verdicts lose their evidence. So should `accepted`:
there a model is believed that made its evidence up. With --show, the first of either go to stderr.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from adjudge.judges.citations import quote_stands
from adjudge.judges.failure import UsageError
from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.evidence import render
from adjudge.pipeline.readers import read_conversations

SHORTEST, LONGEST = 15, 150
"""Characters of a quote that is no words."""

BLANKS = (" ", "  ", "\n", "\t", "\u00a0", " \n ")
TRIES = 100
MOST_TRIES = 2000
"""Draws made at most for each quote that is checked: most quotes are left as they are by most manglings."""

ELLIPSIS = re.compile(r"\.\.\.|…")
ESCAPE = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|[bfnrt])?")

Mangle = Callable[[str, random.Random], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A text to quote from, and where each of its words begins and ends."""

    text: str
    words: list[tuple[int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A turn as a judge is shown it: its `strings`, and those of them that are long enough to quote from."""

    strings: tuple[str, ...]
    quotable: list[Text]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """The turns of a conversation that can be quoted, and every word in them."""

    turns: list[Turn]
    words: list[str]


@dataclass(slots=True, kw_only=True)
class Tally:
    """How many right quotes and how many wrong ones were checked, and with which the check erred."""

    right: int = 0
    refused: list[str] = field(default_factory=list[str])
    wrong: int = 0
    accepted: list[str] = field(default_factory=list[str])


def main() -> None:
    """Read, draw, check, print."""
    parser = argparse.ArgumentParser(description="How often the check of quotes errs.")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--draws", type=int, default=2000, help="right and wrong quotes of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=0, metavar="N", help="errors of each kind to show")
    options = parser.parse_args()
    files = [exchanges for path in options.files if (exchanges := list(read(path)))]
    if not files:
        sys.exit("no file holds a turn that could be quoted")
    tallies = {
        kind: measured(files, mangle, options.draws, random.Random(f"{options.seed} {kind}"))
        for kind, mangle in MANGLES.items()
    }
    print(table(tallies))
    exchanges = sum(map(len, files))
    day = datetime.now(UTC).date()
    print(f"\n{day}, {exchanges} conversations of {len(files)} files, seed {options.seed}.")
    for kind, tally in tallies.items():
        for what, quotes in (("refused", tally.refused), ("accepted", tally.accepted)):
            for quote in quotes[: options.show]:
                print(f"{kind}: {what}: {quote}", file=sys.stderr)


def read(path: Path) -> Iterator[Exchange]:
    """The conversations of a file that have something to quote."""
    try:
        for found in read_conversations(path):
            if isinstance(found, Conversation):
                turns = [turn for strings in render(found).turns if (turn := as_turn(strings)).quotable]
                if turns:
                    words = [word for turn in turns for text in turn.quotable for word in text.text.split()]
                    yield Exchange(turns=turns, words=words)
    except UsageError as error:
        print(f"{path}: {error}", file=sys.stderr)


def as_turn(strings: tuple[str, ...]) -> Turn:
    """A turn of evidence: its first string is its line, the others are the unescaped texts in that."""
    texts = [text for text in strings[1:] if len(bare(text)) >= SHORTEST]
    quotable = [Text(text=text, words=[word.span() for word in re.finditer(r"\S+", text)]) for text in texts]
    return Turn(strings=strings, quotable=quotable)


def bare(text: str) -> str:
    """Letters and digits alone, composed, JSON escapes undone: what no retyping changes."""
    plain = ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else "", text)
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", plain)))


def measured(files: list[list[Exchange]], mangle: Mangle | None, draws: int, chance: random.Random) -> Tally:
    """Check `draws` right and `draws` wrong quotes: of a file by chance, a conversation of it, a turn."""
    tally = Tally()
    for _ in range(draws * MOST_TRIES):
        exchange = chance.choice(chance.choice(files))
        turn = chance.choice(exchange.turns)
        right = stretch(turn, chance)
        wrong = mistaken(right, turn, exchange, chance)
        mangled = mangle(right, chance) if mangle else right
        if tally.right < draws and (mangled != right or not mangle):
            tally.right += 1
            if not quote_stands(turn.strings, mangled):
                tally.refused.append(f"{mangled!r} for {right!r}")
        mangled = mangle(wrong, chance) if mangle else wrong
        if tally.wrong < draws and (mangled != wrong or not mangle) and stands_nowhere(wrong, turn):
            tally.wrong += 1
            if quote_stands(turn.strings, mangled):
                tally.accepted.append(f"{mangled!r} for {right!r}")
        if tally.right == tally.wrong == draws:
            break
    return tally


def stands_nowhere(quote: str, turn: Turn) -> bool:
    """Whether a quote is wrong about a turn beyond doubt: an ellipsis may stand for what it leaves out."""
    letters = bare(quote)
    return (
        ELLIPSIS.search(quote) is None
        and len(letters) >= SHORTEST // 2
        and not any(letters in bare(text) for text in turn.strings)
    )


def stretch(turn: Turn, chance: random.Random) -> str:
    """Some whole words of a turn; of a text that is hardly parted by blanks, some characters."""
    chosen = chance.choice(turn.quotable)
    text, words = chosen.text, chosen.words
    for _ in range(TRIES):
        if len(words) * 20 > len(text):
            first = chance.randrange(len(words))
            last = min(first + chance.randint(1, 24), len(words) - 1)
            start, end = words[first][0], words[last][1]
        else:
            start = chance.randrange(len(text))
            end = min(start + chance.randint(SHORTEST, LONGEST), len(text))
        if len(bare(text[start:end])) >= SHORTEST // 2 and not halved(text, start) and not halved(text, end):
            return text[start:end].strip()
    return text.strip()


def halved(text: str, place: int) -> bool:
    """Whether a cut there would part an escape or a letter from its accents: no quote is cut so."""
    return (
        "\\" in text[max(0, place - 6) : place] or unicodedata.combining(text[place : place + 1] or " ") > 0
    )


def mistaken(right: str, turn: Turn, exchange: Exchange, chance: random.Random) -> str:
    """A quote that may be wrong: `right` with one thing changed, or a stretch of another turn."""
    words = [*re.finditer(r"\S+", right)]
    word = chance.choice(words)
    digits = [*re.finditer(r"\d", right)]
    other = chance.choice(exchange.turns)
    ways = [
        lambda: right[: word.start()] + chance.choice(exchange.words) + right[word.end() :],
        lambda: right[: word.start()] + "not " + right[word.start() :],
        lambda: right[: word.start()] + right[word.end() :],
        *([lambda: changed_digit(right, chance.choice(digits).start(), chance)] if digits else []),
        *([lambda: stretch(other, chance)] if other is not turn else []),
    ]
    return chance.choice(ways)()


def changed_digit(text: str, place: int, chance: random.Random) -> str:
    """`text` with another digit at `place`."""
    return text[:place] + chance.choice("0123456789") + text[place + 1 :]


def other_blanks(text: str, chance: random.Random) -> str:
    """Other white space between the words."""
    return re.sub(r"\s+", lambda _: chance.choice(BLANKS), text)


def curled(text: str, chance: random.Random) -> str:
    """Quotation marks as a typesetter has them, by chance the opening or the closing one."""
    return re.sub("[\"']", lambda found: chance.choice("“”" if found[0] == '"' else "‘’"), text)


def escaped(text: str, chance: random.Random) -> str:
    """As it stands inside a JSON string, letters beyond ASCII escaped or not."""
    return json.dumps(text, ensure_ascii=chance.random() < 0.5)[1:-1]


def decomposed(text: str, _: random.Random) -> str:
    """Accents and syllables in pieces."""
    return unicodedata.normalize("NFD", text)


def everything(text: str, chance: random.Random) -> str:
    """All of them, one after the other."""
    for mangle in (curled, other_blanks, decomposed, escaped):
        text = mangle(text, chance)
    return text


MANGLES: dict[str, Mangle | None] = {
    "exact": None,
    "white space": other_blanks,
    "curled quotes": curled,
    "JSON-escaped": escaped,
    "NFD": decomposed,
    "all": everything,
}


def table(tallies: dict[str, Tally]) -> str:
    """The tallies as Markdown."""
    rows = [
        "| mangling | right quotes | refused | wrong quotes | accepted |",
        "|---|--:|--:|--:|--:|",
    ]
    for kind, tally in tallies.items():
        refused, accepted = share(len(tally.refused), tally.right), share(len(tally.accepted), tally.wrong)
        rows.append(f"| {kind} | {tally.right} | {refused} | {tally.wrong} | {accepted} |")
    return "\n".join(rows)


def share(count: int, total: int) -> str:
    """`3 (0.15 %)`; of none what 95 % of such samples would stay below, by the rule of three."""
    if not total:
        return "-"
    return f"{count} ({100 * count / total:.2f} %)" if count else f"0 (below {300 / total:.2f} %)"


if __name__ == "__main__":
    main()
