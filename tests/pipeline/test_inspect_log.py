"""Inspect AI logs: both encodings, epochs, attachments, pools, errors, limits and damaged zips."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZipFile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.evidence import render
from adjudge.pipeline.readers import inspect_log
from adjudge.pipeline.readers.source import Source, Unreadable

DATA = Path(__file__).parents[1] / "data" / "readers" / "inspect_log"
HEADER = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}}


def read(file: Path) -> list[Conversation | Unreadable]:
    return list(inspect_log.read(Source(file)))


def real(name: str) -> Conversation:
    [found] = read(DATA / name)
    assert isinstance(found, Conversation)
    return found


def one(path: Path, **sample: Any) -> Conversation:
    """The conversation of one hand-made sample."""
    file = path / "log.json"
    file.write_text(json.dumps({**HEADER, "samples": [{"id": "s", "epoch": 1, **sample}]}))
    [found] = read(file)
    assert isinstance(found, Conversation), found
    return found


def packed(path: Path, members: dict[str, Any], method: int = ZIP_DEFLATED) -> Path:
    """A zip of JSON members."""
    file = path / "log.eval"
    with ZipFile(file, "w", compression=method) as archive:
        for name, value in members.items():
            archive.writestr(name, json.dumps(value))
    return file


def notes(conversation: Conversation) -> list[str]:
    return conversation.metadata.get("adjudge", {}).get("notes", [])


def content(conversation: Conversation, turn: int) -> list[dict[str, Any]]:
    found = conversation.messages[turn - 1].content
    assert isinstance(found, list)
    return [part.model_dump(exclude_none=True) for part in found]


def test_both_encodings_of_a_log_give_the_same_evidence_and_ids() -> None:
    of_zip, of_json = real("log_formats.eval"), real("log_formats.json")

    assert (of_zip.id, of_zip.test, of_zip.rollout) == ("log_formats-1-1", "1", 1)
    assert (of_json.id, of_json.test, of_json.rollout) == (of_zip.id, of_zip.test, of_zip.rollout)
    assert render(of_json).text == render(of_zip).text


def test_a_sample_is_named_by_its_uuid_where_it_has_one() -> None:
    run = real("log_message_deduplication.eval")

    assert (run.id, run.test, run.rollout) == ("5XJAqKPKGtzrXUZ3UhthJM", "0", 1)


def test_calls_are_joined_to_results_and_have_the_times_of_their_events() -> None:
    run = real("log_message_deduplication.eval")

    assert [(call.name, call.arguments) for call in run.tool_calls] == [("bash", {"cmd": "ls"})] * 5
    assert all(call.result and call.result.startswith("bin\n") for call in run.tool_calls)
    assert (run.messages[1].timestamp, run.messages[2].timestamp) == (
        "2025-10-06T10:15:45.373069+00:00",
        "2025-10-06T10:15:45.470832+00:00",
    )


def test_what_is_known_of_the_log_and_its_scores_is_metadata_and_no_verdict() -> None:
    run = real("log_formats.eval")

    assert run.metadata["scores"] == {"match": {"value": "I", "answer": "No"}}
    assert run.metadata["log"]["status"] == "success"
    assert run.metadata["log"]["eval"]["task"] == "popularity"
    assert (run.statements, run.graders) == ({}, None)
    assert notes(run) == ["11 events of the sample left out"]


def test_every_kind_of_tool_error_is_an_error_and_what_the_tool_gave_is_kept() -> None:
    run = real("log_tool_call_error.json")

    assert (run.rollout, run.tool_errors) == (4, 11)
    assert [message.error for message in run.messages][:2] == ["parsing: ...", "timeout: ..."]
    assert run.messages[10].error == "output_limit: The tool output limit of 10 MiB was exceeded."
    assert "<START_TOOL_OUTPUT>" in run.messages[10].text


def test_an_image_is_a_named_part_without_its_data() -> None:
    run = real("log_images_tc.json")

    assert content(run, 2)[1]["url"].startswith("data:image/png;base64,")
    line = render(run).text.splitlines()[2]
    assert json.loads(line)["parts"] == [
        "What is this a picture of?",
        {"type": "image", "url": "data:image/png;base64"},
    ]


def test_a_log_without_samples_is_said_to_have_none() -> None:
    [fault] = read(DATA / "no-samples.json")

    assert isinstance(fault, Unreadable)
    assert fault.reason == "the log has no samples (its status is 'cancelled')"


@pytest.mark.parametrize("protocol", ["attachment", "tc"])
def test_attachments_stand_where_they_are_referred_to(tmp_path: Path, protocol: str) -> None:
    reference = f"{protocol}://0a1b"
    call = {"id": "1", "function": "search", "arguments": {"query": reference}}
    run = one(
        tmp_path,
        messages=[
            {"role": "user", "content": reference},
            {"role": "assistant", "content": [{"type": "text", "text": reference}], "tool_calls": [call]},
        ],
        attachments={"0a1b": "a long text"},
    )

    assert [message.text for message in run.messages] == ["a long text", "a long text"]
    assert run.tool_calls[0].arguments == {"query": "a long text"}


def test_a_reference_to_no_attachment_stays_as_it_is(tmp_path: Path) -> None:
    run = one(tmp_path, messages=[{"role": "user", "content": "attachment://none"}])

    assert run.messages[0].text == "attachment://none"


def test_epochs_are_rollouts_of_one_test(tmp_path: Path) -> None:
    samples: dict[str, Any] = {
        f"samples/{sample}_epoch_{epoch}.json": {"id": sample, "epoch": epoch, "messages": []}
        for sample in (10, 9)
        for epoch in (2, 1)
    }
    found = read(packed(tmp_path, {"header.json": HEADER, **samples}))

    assert [(run.id, run.test, run.rollout) for run in found if isinstance(run, Conversation)] == [
        ("log-9-1", "9", 1),
        ("log-10-1", "10", 1),
        ("log-9-2", "9", 2),
        ("log-10-2", "10", 2),
    ]


def test_reasoning_is_kept_as_reasoning_and_what_is_encrypted_as_such(tmp_path: Path) -> None:
    reasoning = {"type": "reasoning", "reasoning": "Let me see.", "signature": "sig"}
    redacted = {"type": "reasoning", "reasoning": "ENCRYPTED", "summary": "It looked.", "redacted": True}
    said = [reasoning, redacted, {"type": "text", "text": "No."}]
    run = one(tmp_path, messages=[{"role": "assistant", "content": said}])

    assert content(run, 1) == [
        {"type": "reasoning", "text": "Let me see.", "signature": "sig"},
        {"type": "reasoning", "text": "It looked.", "redacted": True, "data": "ENCRYPTED"},
        {"type": "text", "text": "No."},
    ]
    assert "ENCRYPTED" not in render(run).text
    assert "Let me see" not in render(run).text


def test_a_tool_the_provider_ran_is_a_call_and_a_result_between_the_words(tmp_path: Path) -> None:
    def used(**more: Any) -> dict[str, Any]:
        return {"type": "tool_use", "id": "w1", "name": "web_search", "arguments": '{"query": "x"}', **more}

    said = [
        {"type": "text", "text": "I look it up."},
        used(result="found", error=None),
        used(id="w2", result="", error="unavailable"),
        {"type": "text", "text": "Here it is."},
    ]
    run = one(tmp_path, messages=[{"role": "assistant", "content": said}])

    assert [(message.role, message.text) for message in run.messages] == [
        ("assistant", "I look it up."),
        ("tool", "found"),
        ("assistant", ""),
        ("tool", ""),
        ("assistant", "Here it is."),
    ]
    assert [(call.name, call.arguments, call.error) for call in run.tool_calls] == [
        ("web_search", {"query": "x"}, None),
        ("web_search", {"query": "x"}, "unavailable"),
    ]


def test_documents_audio_and_video_are_named_parts(tmp_path: Path) -> None:
    said = [
        {"type": "document", "document": "data:application/pdf;base64,JVBERi0=", "filename": "terms.pdf"},
        {"type": "audio", "audio": "call.wav", "format": "wav"},
        {"type": "video", "video": "https://example.org/v.mp4", "format": "mp4"},
    ]
    shown = render(one(tmp_path, messages=[{"role": "user", "content": said}])).text

    assert '"filename":"terms.pdf"' in shown
    assert '{"type":"audio","format":"wav","url":"call.wav"}' in shown
    assert '"url":"https://example.org/v.mp4"' in shown
    assert "JVBERi0" not in shown


def test_arguments_that_could_not_be_parsed_are_noted(tmp_path: Path) -> None:
    call = {"id": "1", "function": "bash", "arguments": {"bash": "{bad"}, "parse_error": "no JSON"}
    run = one(tmp_path, messages=[{"role": "assistant", "content": "", "tool_calls": [call]}])

    assert run.tool_calls[0].arguments == {"bash": "{bad"}
    assert notes(run) == ["turn 1: a call's arguments could not be parsed by the agent's program"]


def test_what_a_tool_gave_back_in_a_users_message_is_noted(tmp_path: Path) -> None:
    run = one(tmp_path, messages=[{"role": "user", "content": "image", "tool_call_id": ["1"]}])

    assert (run.messages[0].role, run.messages[0].tool_call_id) == ("user", None)
    assert notes(run) == ["turn 1: holds what a tool gave back, shown as the user's"]


def test_a_sample_that_an_error_halted_has_failed_and_keeps_what_was_said(tmp_path: Path) -> None:
    error = {"message": "RuntimeError('no sandbox')", "traceback": "..."}
    run = one(tmp_path, messages=[{"role": "user", "content": "hi"}], error=error)

    assert (run.status, run.error, len(run.messages)) == ("failed", "RuntimeError('no sandbox')", 1)
    assert run.metadata["error"]["traceback"] == "..."


def test_a_sample_that_was_canceled_is_canceled(tmp_path: Path) -> None:
    run = one(tmp_path, messages=[], error={"message": "CancelledError('Cancelled via cancel scope')"})

    assert run.status == "canceled"


def test_a_sample_that_hit_a_limit_is_complete_and_names_the_limit(tmp_path: Path) -> None:
    run = one(tmp_path, messages=[], limit={"type": "token", "limit": 1000})

    assert (run.status, run.termination_reason) == ("completed", "token_limit")
    assert run.metadata["limit"] == {"type": "token", "limit": 1000}


def test_the_completion_is_the_agents_output(tmp_path: Path) -> None:
    output = {"choices": [{"stop_reason": "max_tokens"}], "completion": "cut o", "usage": {"total_tokens": 1}}
    run = one(tmp_path, messages=[], output=output)

    assert (run.agent_output, run.termination_reason) == ("cut o", "max_tokens")
    assert run.metadata["output"] == {"usage": {"total_tokens": 1}}


@pytest.mark.parametrize("newer", [False, True])
def test_a_sample_without_messages_is_read_from_its_last_call_and_the_pool(
    tmp_path: Path, newer: bool
) -> None:
    reply = {"message": {"id": "m3", "role": "assistant", "content": "Bye."}}
    asked = [{"role": "user", "content": text} for text in ("a", "b", "c")]
    run = one(
        tmp_path,
        messages=[],
        events=[
            {"event": "model", "input": [], "input_refs": [[0, 1]], "output": {"choices": []}},
            {"event": "model", "input": [], "input_refs": [[0, 1], [2, 3]], "output": {"choices": [reply]}},
            {"event": "span_begin", "type": "scorers"},
            {"event": "model", "input": [{"role": "user", "content": "Grade this."}]},
        ],
        **({"events_data": {"messages": asked, "calls": []}} if newer else {"message_pool": asked}),
    )

    assert [message.text for message in run.messages] == ["a", "c", "Bye."]
    assert run.agent_pov_incomplete is True
    assert "the sample has no messages: these are what its last model call was given and said" in notes(run)


def test_a_broken_sample_in_a_zip_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    file = packed(tmp_path, {"header.json": HEADER, "samples/b_epoch_1.json": {"id": "b", "epoch": 1}})
    with ZipFile(file, "a") as archive:
        archive.writestr("samples/a_epoch_1.json", '{"id": "a"')
    fault, run = read(file)

    assert isinstance(fault, Unreadable)
    assert fault.reason.startswith("'samples/a_epoch_1.json': cut short")
    assert isinstance(run, Conversation)


def test_a_log_that_was_cut_off_has_its_start_for_a_header(tmp_path: Path) -> None:
    start = {"version": 2, "eval": {"task": "t"}}
    file = packed(tmp_path, {"_journal/start.json": start, "samples/a_epoch_1.json": {"id": "a", "epoch": 1}})
    [run] = read(file)

    assert inspect_log.recognises(Source(file).first())
    assert isinstance(run, Conversation)
    assert run.metadata["log"] == {"version": 2, "status": None, "eval": {"task": "t"}}


def test_a_way_of_packing_that_python_cannot_undo_says_how_to_convert(tmp_path: Path) -> None:
    file = packed(tmp_path, {"header.json": HEADER, "samples/a_epoch_1.json": {"id": "a"}}, ZIP_BZIP2)
    [fault] = read(file)

    assert isinstance(fault, Unreadable)
    assert "packed in a way that can't be read here (method 12)" in fault.reason
    assert "inspect log convert --to json" in fault.reason


def test_a_sample_in_chunks_says_how_to_convert(tmp_path: Path) -> None:
    [fault] = read(packed(tmp_path, {"header.json": HEADER, "samples/a_epoch_1/sample.json": {}}))

    assert isinstance(fault, Unreadable)
    assert fault.reason.startswith("'samples/a_epoch_1/sample.json': a sample in chunks; convert")


def test_a_sample_that_claims_a_huge_size_is_not_unpacked(tmp_path: Path) -> None:
    file = packed(tmp_path, {"header.json": HEADER, "samples/a_epoch_1.json": {"id": "a"}})
    data = bytearray(file.read_bytes())
    entry = data.rindex(b"PK\x01\x02")
    data[entry + 24 : entry + 28] = struct.pack("<I", 1 << 31)
    file.write_bytes(data)
    [fault] = read(file)

    assert isinstance(fault, Unreadable)
    assert fault.reason == "'samples/a_epoch_1.json': larger than 256 MiB"


def test_another_zip_is_not_recognised_and_read_as_no_log(tmp_path: Path) -> None:
    file = packed(tmp_path, {"word/document.xml": "x"})
    [fault] = read(file)

    assert not inspect_log.recognises(Source(file).first())
    assert isinstance(fault, Unreadable)
    assert fault.reason.startswith("not a log that can be read")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_zip_gives_reasons_and_raises_nothing(tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray((DATA / "log_formats.eval").read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        content[data.draw(st.integers(4, len(content) - 1))] = data.draw(st.integers(0, 255))
    file = tmp_path / "log.eval"
    file.write_bytes(bytes(content[: data.draw(st.integers(4, len(content)))]))

    for found in read(file):
        assert isinstance(found, Conversation | Unreadable)
