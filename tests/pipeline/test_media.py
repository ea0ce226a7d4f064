"""Images, audio and files: passed to judges that take them where the suite says so, else named (J5)."""

from __future__ import annotations

import base64
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.judges.media import MediaKind
from adjudge.judges.request import Evidence, Model, digest
from adjudge.judges.room import known_media, size_of
from adjudge.pipeline.conversation import Conversation, Part
from adjudge.pipeline.evidence import EvidenceOptions, render, render_for
from adjudge.pipeline.media import LARGEST, Embedded, embedded
from adjudge.pipeline.readers import read_conversations
from adjudge.pipeline.windows import windows_of

READERS = Path(__file__).parents[1] / "data" / "readers"
PASS = EvidenceOptions(media="pass")
PNG = b"\x89PNG\r\n\x1a\n" + b"picture"
WAV = b"RIFF\x24\x00\x00\x00WAVEfmt sound"
PDF = b"%PDF-1.7 paper"


def packed(content: bytes) -> str:
    return base64.b64encode(content).decode()


def url(content: bytes, media_type: str = "image/png") -> str:
    return f"data:{media_type};base64,{packed(content)}"


def conversation(*contents: Any) -> Conversation:
    return Conversation.model_validate(
        {"id": "c", "messages": [{"role": "user", "content": content} for content in contents]}
    )


def image(content: bytes = PNG) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url(content)}}


def lines(evidence: Evidence) -> list[dict[str, Any]]:
    return [json.loads(line) for line in evidence.text.split("\n")]


SPELLINGS: dict[str, tuple[dict[str, Any], bytes, str]] = {
    "openai image": (image(), PNG, "image/png"),
    "openai audio": (
        {"type": "input_audio", "input_audio": {"data": packed(WAV), "format": "wav"}},
        WAV,
        "audio/wav",
    ),
    "openai file": (
        {"type": "file", "file": {"filename": "a.pdf", "file_data": url(PDF, "application/pdf")}},
        PDF,
        "application/pdf",
    ),
    "anthropic image": (
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": packed(PNG)}},
        PNG,
        "image/png",
    ),
    "anthropic document": (
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": packed(PDF)},
        },
        PDF,
        "application/pdf",
    ),
    "native": ({"type": "image", "media_type": "image/png", "data": packed(PNG)}, PNG, "image/png"),
    "url-safe and wrapped": (
        {
            "type": "image",
            "data": base64.urlsafe_b64encode(PNG + b"\xff\xfe\xfd").decode().rstrip("=")[:8]
            + "\n"
            + base64.urlsafe_b64encode(PNG + b"\xff\xfe\xfd").decode().rstrip("=")[8:],
        },
        PNG + b"\xff\xfe\xfd",
        "image/png",
    ),
    "called something else than it is": (
        {"type": "image", "data": url(PDF, "image/png")},
        PDF,
        "application/pdf",
    ),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_media_is_found_in_the_spelling_of_each_format(name: str) -> None:
    part, content, media_type = SPELLINGS[name]

    found = embedded(Part.model_validate(part))

    assert isinstance(found, Embedded)
    assert (found.content, found.media_type) == (content, media_type)


@pytest.mark.parametrize(
    ("part", "why"),
    [
        (
            {"type": "image_url", "image_url": {"url": "http://169.254.169.254/latest"}},
            "addresses are not fetched",
        ),
        ({"type": "image", "url": "file:///etc/passwd"}, "addresses are not fetched"),
        ({"type": "image", "data": "§§§"}, "not base64"),
        ({"type": "image", "data": "A"}, "not base64"),
        ({"type": "image_url", "image_url": {"url": "data:image/png,%89PNG"}}, "not base64"),
        ({"type": "image", "data": packed(b"<svg onload='x'/>")}, "no PNG"),
        ({"type": "video", "data": packed(b"\0\0\0 ftypmp42")}, "no PNG"),
        ({"type": "image", "data": ""}, "data is not in the record"),
        ({"type": "file", "file": {"file_id": "file-1"}}, "data is not in the record"),
        ({"type": "image", "data": packed(PNG + bytes(LARGEST))}, "larger than 5 MiB"),
        ({"type": "image", "data": "A" * (LARGEST * 2)}, "larger than 5 MiB"),
    ],
    ids=[
        "address",
        "path",
        "letters",
        "one letter",
        "no base64",
        "markup",
        "video",
        "empty",
        "id",
        "large",
        "long",
    ],
)
def test_what_can_not_be_passed_on_is_refused_with_its_reason(part: dict[str, Any], why: str) -> None:
    assert why in str(embedded(Part.model_validate(part)))


@pytest.mark.parametrize(
    "part", [{"type": "silence"}, {"type": "action", "name": "x"}, {"type": "document", "text": "words"}]
)
def test_parts_that_are_no_media_are_none(part: dict[str, Any]) -> None:
    assert embedded(Part.model_validate(part)) is None
    assert render(conversation([part]), PASS) == render(conversation([part]))


@given(st.text(max_size=60))
def test_no_data_is_a_crash(data: str) -> None:
    for part in ({"type": "image", "data": data}, {"type": "image", "url": f"data:{data}"}):
        found = render(conversation([part]), PASS)
        assert found.media == ()
        assert found.left_out


def test_media_is_only_named_unless_the_suite_says_otherwise() -> None:
    evidence = render(conversation([image()]))

    assert evidence.media == ()
    assert "not text, so only named" in evidence.left_out[0]


def test_what_is_passed_has_a_label_in_its_turn_and_its_digest_in_the_first_line() -> None:
    evidence = render(
        conversation("Look:", [{"type": "text", "text": "Two"}, image(), image(PNG + b"2")]), PASS
    )

    header, _, turn = lines(evidence)
    assert [part["shown"] for part in turn["parts"][1:]] == ["turn 2, image 1", "turn 2, image 2"]
    assert header["shown_after_the_text"][1] == {
        "label": "turn 2, image 2",
        "media_type": "image/png",
        "sha256": sha256(PNG + b"2").hexdigest(),
    }
    assert [base64.b64decode(media.data) for media in evidence.media] == [PNG, PNG + b"2"]
    assert evidence.left_out == ()
    assert "left_out" not in header


def test_other_bytes_are_other_evidence() -> None:
    first, second = (render(conversation([image(content)]), PASS) for content in (PNG, PNG + b"!"))

    assert first.digest != second.digest
    assert first.digest == digest(first.text)


def test_without_media_passing_changes_no_digest() -> None:
    plain = conversation("Hello.", [{"type": "text", "text": "a"}])

    assert render(plain, PASS) == render(plain)


def test_each_judge_is_shown_what_it_takes_and_told_what_it_is_not_shown() -> None:
    both = conversation(
        [image(), {"type": "input_audio", "input_audio": {"data": packed(WAV), "format": "wav"}}]
    )
    takes: dict[str, list[MediaKind]] = {"sees": ["image"], "hears": ["audio"], "reads": []}

    evidence = render_for(both, PASS, takes)

    assert {name: [media.kind for media in each.media] for name, each in evidence.items()} == takes
    assert evidence["reads"].left_out == (
        "image_url part (turn 1): not shown: the judge takes no images",
        "input_audio part (turn 1): not shown: the judge takes no audio",
    )
    assert lines(evidence["sees"])[1]["parts"][1]["not_shown"] == "the judge takes no audio"
    assert len({each.digest for each in evidence.values()}) == 3


def test_a_conversation_passes_20_mib_at_most() -> None:
    large = PNG + bytes(LARGEST - len(PNG))
    evidence = render(conversation(*([image(large)] for _ in range(5))), PASS)

    assert [media.turn for media in evidence.media] == [1, 2, 3, 4]
    assert evidence.left_out == (
        "image_url part (turn 5): not shown: the conversation has more than 20 MiB of media",
    )


def test_a_turn_that_is_not_shown_passes_nothing() -> None:
    run = Conversation.model_validate(
        {
            "id": "c",
            "messages": [{"role": "tool", "content": [image()]}, {"role": "system", "content": [image()]}],
        }
    )
    options = EvidenceOptions(media="pass", tool_results="none", system_prompt=False)

    assert render(run, options).media == ()


def test_windows_show_the_media_of_their_turns_and_keep_within_their_room() -> None:
    words = "word " * 200
    long = render(
        conversation(*([{"type": "text", "text": words}, image(PNG + bytes([n]))] for n in range(12))), PASS
    )

    windows = windows_of(long, 6000)

    assert len(windows) > 2
    for window in windows:
        listed = json.loads(window.evidence.text.split("\n")[0])["shown_after_the_text"]
        assert [media.turn for media in window.evidence.media] == list(window.evidence.numbers)
        assert [entry["label"] for entry in listed] == [media.label for media in window.evidence.media]
        assert size_of(window.evidence) <= 6000
    assert windows_of(long, 1700) == []


@pytest.mark.parametrize(
    ("model", "takes"),
    [
        ("openai/gpt-4o", ["image", "file"]),
        ("gemini/gemini-2.5-flash", ["image", "audio", "file"]),
        ("openai/gpt-3.5-turbo", []),
        ("hosted_vllm/anything", []),
    ],
)
def test_what_a_model_takes_is_what_litellm_lists(model: str, takes: list[str]) -> None:
    assert known_media({"main": Model(name=model)}) == {"main": takes}


def test_media_of_real_files_is_passed_or_said_to_be_missing() -> None:
    passed = {
        "ai_sdk/weather_parallel_tool_error.ui-messages.json": ["image/png"],
        "inspect_log/log_images_tc.json": ["image/png"],
        "anthropic/image_url_input.conversation.json": [],
        "gemini/google_model_youtube_video_url_input.conversation.json": [],
    }
    for name, types in passed.items():
        (run, *_) = read_conversations(READERS / name)
        assert isinstance(run, Conversation)
        evidence = render(run, PASS)
        assert [media.media_type for media in evidence.media] == types, name
        assert types or any("not shown: " in line for line in evidence.left_out), name
