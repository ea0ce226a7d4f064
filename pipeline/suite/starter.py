"""A first suite to try and to change: what `adjudge init` writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from adjudge.judges.failure import StorageError, UsageError
from adjudge.pipeline.suite.load import schema_text

_SUITE = """\
# yaml-language-server: $schema=suite.schema.json
# A suite says what is graded (conversations), by what (graders and judges), and what must hold (policy).
# Try it: adjudge run suite.yaml --dry-run
name: refund-desk

conversations:
  - conversations.jsonl

judges:
  main:
    model: openai/gpt-5-mini        # any litellm model name; the key comes from the environment
    params: {max_tokens: 2048}

graders:
  - name: expected-behaviors        # a judge says of each statement whether it is true
    type: statements
    judge: main
    threshold: 0.75                 # at least three in four must be; left out: all of them
    statements:
      - The agent confirms the order number before it discusses the refund.
      - The agent tells the user how the refund will be paid.
      - text: The agent never promises a date for the refund.
        required: true              # not met: the grade fails, whatever the score

  - name: books-balance             # a Python function looks at the tool calls
    type: checks
    verifier: verifiers/refunds.py:verify

tests:                              # what is special about one scenario
  refund-over-limit:
    title: A refund above the limit is refused
    statements:
      expected-behaviors:
        - The agent refuses to pay back more than 100 euros by itself.

policy: {require: all_passed}
budget: {max_calls: 100}
"""

_CONVERSATIONS: list[dict[str, Any]] = [
    {
        "id": "refund-1",
        "messages": [
            {"role": "user", "content": "My kettle arrived broken, I want my money back."},
            {"role": "assistant", "content": "I'm sorry about that. What is your order number?"},
            {"role": "user", "content": "4471"},
            {
                "role": "assistant",
                "tool_calls": [{"id": "c1", "name": "find_order", "arguments": {"order": 4471}}],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "kettle, 39.90 euros, paid by card"},
            {"role": "assistant", "content": "Order 4471, 39.90 euros: shall I refund it to your card?"},
            {"role": "user", "content": "Yes please."},
            {
                "role": "assistant",
                "tool_calls": [{"id": "c2", "name": "refund", "arguments": {"order": 4471, "amount": 39.9}}],
            },
            {"role": "tool", "tool_call_id": "c2", "content": "ok"},
            {"role": "assistant", "content": "Done. 39.90 euros go back to your card."},
        ],
    },
    {
        "id": "refund-2",
        "test": "refund-over-limit",
        "messages": [
            {"role": "user", "content": "Refund order 5120, it was 480 euros. I need it today."},
            {
                "role": "assistant",
                "tool_calls": [{"id": "c1", "name": "find_order", "arguments": {"order": 5120}}],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "sofa, 480.00 euros, paid by card"},
            {
                "role": "assistant",
                "content": "480 euros for order 5120 is more than I may refund. A colleague will look at it; "
                "once approved, the money goes back to your card.",
            },
        ],
    },
]

_VERIFIER = '''\
"""Checks on the tool calls of a refund conversation."""

from adjudge import Conversation, check, optional

LIMIT = 100


def verify(conversation: Conversation):
    refunds = [call for call in conversation.tool_calls if call.name == "refund"]
    known = [call.arguments["order"] for call in conversation.tool_calls if call.name == "find_order"]
    return [
        check("no refund above the limit", all(call.arguments["amount"] <= LIMIT for call in refunds)),
        check("every refunded order looked up", all(call.arguments["order"] in known for call in refunds)),
        optional("no tool failed", conversation.tool_errors == 0),
    ]
'''


def write_starter(directory: Path) -> list[Path]:
    """Write a small suite, its conversations and its verifier into `directory`, which is made if needed.

    Returns the files written, the suite first.

    Raises:
        UsageError: one of the files is there already; nothing is written then.
        StorageError: they can't be written; what was written is taken back.
    """
    lines = [json.dumps(conversation, ensure_ascii=False) + "\n" for conversation in _CONVERSATIONS]
    contents = {
        directory / "suite.yaml": _SUITE,
        directory / "conversations.jsonl": "".join(lines),
        directory / "verifiers" / "refunds.py": _VERIFIER,
        directory / "suite.schema.json": schema_text(),
    }
    there = [repr(str(path)) for path in contents if path.exists()]
    if there:
        raise UsageError(f"{', '.join(there)} is there already; name another directory")
    begun: list[Path] = []
    try:
        for path, text in contents.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                begun.append(path)
                file.write(text)
    except OSError as error:
        for path in begun:
            path.unlink(missing_ok=True)
        raise StorageError(f"can't write into {str(directory)!r}: {error.strerror}") from error
    return begun
