"""One conversation as the page shows it: the turns as the judge saw them, and what was decided of them."""

from __future__ import annotations

import json
from typing import Any

from adjudge.judges.request import Evidence
from adjudge.pipeline.aggregate import missing_graders, score_of
from adjudge.pipeline.conversation import Conversation
from adjudge.pipeline.display import block
from adjudge.pipeline.evidence import EvidenceOptions, render
from adjudge.pipeline.grade import GradeRow, ResultRow
from adjudge.pipeline.plain import is_list, is_mapping
from adjudge.pipeline.reports.text import not_graded, reward, threshold
from adjudge.pipeline.review.rows import combined_text

View = dict[str, Any]


def conversation_view(row: ResultRow, conversation: Conversation, options: EvidenceOptions) -> View:
    """What the page shows of one conversation, as JSON values.

    `turns` and `agent_output` are the lines of the evidence, read back: a turn has the number the judge knows
    it by, and what it was not shown is not there. `evidence` is their digest. In every text, characters that
    act or hide are written as escapes.
    """
    evidence = render(conversation, options)
    header, *lines = map(json.loads, evidence.text.split("\n"))
    turns = [line for line in lines if "turn" in line]
    _put_results_beside_calls(turns, conversation)
    _put_images_into_parts(turns, evidence)
    return shown(
        {
            "id": row["conversation_id"],
            **{name: row[name] for name in ("test", "title", "rollout", "status", "termination_reason")},
            **{name: row[name] for name in ("grading_state", "agent_pov_incomplete", "error")},
            **{name: row[name] for name in ("tool_calls", "tool_errors")},
            "combined": combined_text(row),
            "scored": sum(score_of(grade) is not None for grade in row["grades"]),
            "selected": len(row["grades"]) + len(missing_graders(row)),
            "missing": [{"grader": name, "why": not_graded(row)} for name in missing_graders(row)],
            "evidence": evidence.digest,
            "left_out": list(evidence.left_out),
            "metadata": _written(header["metadata"]) if "metadata" in header else None,
            "turns": turns,
            "agent_output": next((line["agent_output"] for line in lines if "agent_output" in line), None),
            "grades": [_grade(grade) for grade in row["grades"]],
        }
    )


def shown(value: Any) -> Any:
    """A JSON value with every text in it, keys aside, safe to show (`display.block`)."""
    if isinstance(value, str):
        return block(value)
    if is_mapping(value):
        return {key: shown(inner) for key, inner in value.items()}
    if is_list(value):
        return [shown(inner) for inner in value]
    return value


def without_judgement(view: View, labelled: set[tuple[int, str]]) -> View:
    """`view` for somebody who must not know what the judge said before they decided themselves.

    Statements that are not in `labelled` (place of the grade, id of the statement) lose what the judge said;
    a grade loses its result until all its statements are labelled, the rest until all of the conversation's
    are.
    """
    grades = [_blind(place, grade, labelled) for place, grade in enumerate(view["grades"])]
    if not any(grade.get("hidden") for grade in grades):
        return view
    kept = [_hidden(grade) if grade["type"] == "checks" else grade for grade in grades]
    return {**view, "grades": kept, "combined": None, "scored": None, "grading_state": None, "hidden": True}


def _blind(place: int, grade: View, labelled: set[tuple[int, str]]) -> View:
    unknown = [row for row in grade.get("statements", []) if (place, row["id"]) not in labelled]
    if not unknown:
        return grade
    rows = [
        {"id": row["id"], "text": row["text"], "required": row["required"], "hidden": True}
        if row in unknown
        else row
        for row in grade["statements"]
    ]
    return {**_hidden(grade), "statements": rows}


def _hidden(grade: View) -> View:
    return {"grader": grade["grader"], "type": grade["type"], "gating": grade["gating"], "hidden": True}


def _grade(grade: GradeRow) -> View:
    value = score_of(grade)
    score = None if value is None else reward(value)
    return {**grade, "score": score, "threshold": threshold(grade)}


def _put_results_beside_calls(turns: list[dict[str, Any]], conversation: Conversation) -> None:
    """Write arguments as text, and say of each call which turn holds its result.

    `beside` is that turn where only other results stand between, so that it can be shown with its call;
    it then is `of`, the turn that called, for the result.
    """
    calls = iter(conversation.tool_calls)
    for turn in turns:
        if turn.get("timestamp") is not None:
            turn["timestamp"] = str(turn["timestamp"])
        for call in turn.get("tool_calls", []):
            result = next(calls).result_turn
            call["arguments"] = _written(call["arguments"])
            call["result"] = result
            if result is not None:
                between = turns[turn["turn"] : result]
                turns[result - 1]["of"] = turn["turn"]
                call["beside"] = all(each["role"] == "tool" for each in between)


def _put_images_into_parts(turns: list[dict[str, Any]], evidence: Evidence) -> None:
    """Give each part that was passed to the judge as an image its picture, as a data URL."""
    images = {media.label: media for media in evidence.media if media.kind == "image"}
    for part in (part for turn in turns for part in turn.get("parts", []) if is_mapping(part)):
        image = images.get(part.get("shown", ""))
        if image is not None:
            part["image"] = f"data:{image.media_type};base64,{image.data}"


def _written(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
