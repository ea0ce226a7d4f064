"""The text of a suite made from a file: YAML that means exactly what it says (see `strict_yaml`)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from adjudge.pipeline.display import visible
from adjudge.pipeline.seeding.seeds import GRADER, Seeds, as_name, one_line

_CONVERSATIONS = """\
conversations:
  - conversations.jsonl
"""

_NO_CONVERSATIONS = """\
# The file holds no conversations. Name files of them here or with --conversations; whose `test` is one of
# the tests below is asked its statements.
conversations: []
"""

_GRADERS = f"""
judges:
  main:
    model: openai/gpt-5-mini        # any litellm model name; the key comes from the environment
    params: {{max_tokens: 2048}}

graders:
  - name: {GRADER}
    type: statements
    judge: main                     # threshold left out: all statements must be met
"""

_NOTHING = """\
    # No statement was found that a judge could be asked: write some here, or every grade is errored.
    # statements:
    #   - The agent ...
"""


def suite_text(seeds: Seeds, *, name: str, file: str, kind: str, conversations: bool) -> str:
    """The suite of `seeds`.

    Args:
        seeds: what was found.
        name: the suite's name.
        file: the name of the file it was found in, and `kind` what that is.
        conversations: whether `conversations.jsonl` lies beside the suite.
    """
    pieces = [
        f"# Made by `adjudge init --from` of {one_line(file)} ({kind}). Read it, change it, then try it:\n",
        "#     adjudge run suite.yaml --dry-run\n",
        "# Verdicts that the file holds are kept in the metadata of its conversations. They are no labels.\n",
        f"name: {quoted(as_name(name) or 'seeded')}\n\n",
        _CONVERSATIONS if conversations else _NO_CONVERSATIONS,
        _GRADERS,
        *_common(seeds),
        *_left_out(seeds.lines()),
        *_tests(seeds),
        "\npolicy: {require: all_passed}\n",
    ]
    return "".join(pieces)


def quoted(text: str) -> str:
    """`text` as a YAML scalar in double quotes, on one line. It holds no half of a character pair."""
    return visible(json.dumps(text, ensure_ascii=False))


def _common(seeds: Seeds) -> Iterator[str]:
    if seeds.common:
        yield "    statements:\n"
        yield from (f"      - {quoted(text)}\n" for text in seeds.common)
    elif not seeds.count:
        yield _NOTHING


def _left_out(lines: Iterable[str]) -> Iterator[str]:
    for place, line in enumerate(lines):
        if place == 0:
            yield "\n# Not taken over:\n"
        yield f"# - {visible(line)}\n"


def _tests(seeds: Seeds) -> Iterator[str]:
    told = {name: test for name, test in seeds.tests.items() if test.statements or test.title}
    if told:
        yield "\ntests:\n"
    for name, test in told.items():
        yield f"  {quoted(name)}:\n"
        if test.title:
            yield f"    title: {quoted(test.title)}\n"
        if test.statements:
            yield f"    statements:\n      {GRADER}:\n"
            yield from (f"        - {quoted(text)}\n" for text in test.statements)
