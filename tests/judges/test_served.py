"""The names under which providers answer for a model, and those that are another model's."""

from __future__ import annotations

import pytest

from adjudge.judges.calling.served import is_same_model


@pytest.mark.parametrize(
    ("asked", "served"),
    [
        ("openai/gpt-5", "gpt-5-2025-08-07"),
        ("anthropic/claude-sonnet-4-5", "claude-sonnet-4-5-20250929"),
        ("anthropic/claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022"),
        ("gemini/gemini-2.5-flash", "gemini-2.5-flash"),
        ("gemini/gemini-2.5-pro", "gemini-2.5-pro-preview-05-06"),
        ("ollama/qwen2.5", "qwen2.5:latest"),
        ("hosted_vllm/Qwen/Qwen2.5-7B-Instruct", "Qwen/Qwen2.5-7B-Instruct"),
        ("openai/gpt-4-0613", "gpt-4-0613"),
        ("azure/our-deployment", "gpt-5-2025-08-07"),
    ],
)
def test_a_date_a_folder_and_case_make_no_other_model(asked: str, served: str) -> None:
    assert is_same_model(asked, served)


@pytest.mark.parametrize(
    ("asked", "served"),
    [
        ("openai/gpt-5", "gpt-5-mini-2025-08-07"),
        ("openai/gpt-5-mini", "gpt-5"),
        ("anthropic/claude-sonnet-4-5", "claude-haiku-4-5-20251001"),
        ("hosted_vllm/Qwen/Qwen2.5-7B-Instruct", "Qwen/Qwen2.5-14B-Instruct"),
    ],
)
def test_another_model_is_told(asked: str, served: str) -> None:
    assert not is_same_model(asked, served)
