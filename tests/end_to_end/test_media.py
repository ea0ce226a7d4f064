"""Images and files of a conversation arrive at the judges that take them, in their provider's words."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.end_to_end.conftest import Desk

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256))).decode()
PDF = base64.b64encode(b"%PDF-1.7\n" + bytes(range(256))).decode()
SEEN = "The agent describes the picture."

OPENAI = [
    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
    {
        "type": "file",
        "file": {"filename": "turn-1-file-1.pdf", "file_data": f"data:application/pdf;base64,{PDF}"},
    },
]
ANTHROPIC = [
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
    {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PDF}},
]


def with_media(desk: Desk, **judge: Any) -> None:
    """A suite that passes media, and a conversation that has an image and a file."""
    content = [{"type": "text", "text": "What is this?"}, OPENAI[0], OPENAI[1]]
    said = [{"role": "user", "content": content}, {"role": "assistant", "content": "A picture."}]
    desk.conversations({"id": "c1", "messages": said})
    desk.suite(desk.grader(SEEN), judges={"main": desk.judge(**judge)}, evidence={"media": "pass"})


def parts(desk: Desk) -> list[dict[str, Any]]:
    """The parts of the last message that the server was sent last."""
    return desk.server.requests[-1].json["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("model", "shapes"),
    [("openai/gpt-4o", OPENAI), ("anthropic/claude-sonnet-4-5", ANTHROPIC)],
    ids=["openai", "anthropic"],
)
def test_the_bytes_arrive_after_the_evidence_each_under_its_label(
    desk: Desk, model: str, shapes: list[dict[str, Any]]
) -> None:
    desk.environ["ANTHROPIC_API_KEY"] = "sk-test-0000"
    base = desk.server.origin if model.startswith("anthropic") else desk.server.url
    with_media(desk, model=model, api_base=base)

    assert desk.run().code == 0
    above, image_label, image, file_label, file, below = parts(desk)
    assert [image, file] == shapes
    assert above["text"].rstrip().endswith(">")
    assert "Evidence, turn 1, image 1." in image_label["text"]
    assert "Evidence, turn 1, file 1." in file_label["text"]
    assert SEEN in below["text"]
    assert PNG not in above["text"]


def test_a_second_run_asks_nothing_and_another_image_is_another_question(desk: Desk) -> None:
    with_media(desk, model="openai/gpt-4o")
    desk.run()
    desk.run()
    assert desk.server.count == 1

    lines = (desk.path / "conversations.jsonl").read_text()
    other = base64.b64encode(base64.b64decode(PNG) + b"!").decode()
    (desk.path / "conversations.jsonl").write_text(lines.replace(PNG, other))
    desk.run()

    assert desk.server.count == 2
    assert parts(desk)[2]["image_url"]["url"].endswith(other)


def test_a_judge_that_takes_no_images_is_told_and_the_plan_says_so(desk: Desk) -> None:
    with_media(desk, model="openai/any")

    assert desk.run().code == 0
    plan = json.loads((desk.runs[-1] / "plan.json").read_text())
    assert plan["judges"]["main"]["media"] == []
    assert plan["conversations"][0]["left_out"] == [
        "image_url part (turn 1): not shown: the judge takes no images",
        "file part (turn 1): not shown: the judge takes no files",
    ]
    assert isinstance(desk.server.requests[-1].json["messages"][-1]["content"], str)
    assert "the judge takes no images" in desk.server.requests[-1].json["messages"][-1]["content"]


def test_the_suite_can_say_what_a_judge_takes(desk: Desk) -> None:
    with_media(desk, model="openai/any", media=["image"])

    assert desk.run().code == 0
    assert [part["type"] for part in parts(desk)] == ["text", "text", "image_url", "text"]


def test_what_litellm_would_drop_is_an_error_and_nothing_is_sent(desk: Desk) -> None:
    desk.environ["DEEPSEEK_API_KEY"] = "sk-test-0000"
    with_media(desk, model="deepseek/deepseek-chat", media=["image"])

    assert desk.run().code == 3
    assert desk.server.count == 0
    error = desk.grades()[0]["error"]
    assert error["cause"] == "bad_request"
    assert "litellm sends no such image" in error["message"]


def test_a_dry_run_sends_nothing_and_counts_the_media(desk: Desk) -> None:
    with_media(desk, model="openai/gpt-4o")

    seen = json.loads(desk.run("--dry-run", "--json").out)["input_tokens"]
    with_media(desk, model="openai/any")
    unseen = json.loads(desk.run("--dry-run", "--json").out)["input_tokens"]

    assert desk.server.count == 0
    assert seen > unseen + 1600
