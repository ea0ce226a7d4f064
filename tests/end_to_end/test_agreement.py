"""A run's judge beside people, from the command line: figures, requirements, labels in and out, admission."""

from __future__ import annotations

import csv
import gzip
import json
import re
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from adjudge.testing import Reply, Request

if TYPE_CHECKING:
    from tests.end_to_end.conftest import Desk, Done

LABELLED = Path(__file__).parents[1] / "data/labelled/conversations.jsonl.gz"
CASE = re.compile(r'"metadata":\{"case":("(?:[^"\\]|\\.)*")\}')
STATEMENTS = ("A.", "B.", "C.")


def judged(desk: Desk, **judge: Any) -> None:
    """Twenty conversations with three statements each; the judge errs on `C.` of one in five."""
    desk.conversations(*(f"c{n}" for n in range(20)))
    desk.suite(desk.grader(*STATEMENTS), judges={"main": desk.judge(**judge)})

    def answer(request: Request) -> Reply:
        wrong = any(f"This is c{n}." in request.body.decode() for n in range(0, 20, 5))
        return Reply(decision={"B.": "not_met", "C.": "met" if wrong else "not_met"})

    desk.answer = answer


def labels(desk: Desk, file: str = "labels.jsonl") -> None:
    """What a person says of all: A. is met, B. and C. are not."""
    lines = [
        {"conversation_id": f"c{n}", "statement": text, "label": "met" if text == "A." else "not_met"}
        for n in range(20)
        for text in STATEMENTS
    ]
    (desk.path / file).write_text("".join(f"{json.dumps(line | {'reviewer': 'ana'})}\n" for line in lines))


def shown(desk: Desk, *options: str) -> dict[str, Any]:
    return json.loads(desk.adjudge("agreement", "--labels", "labels.jsonl", "--json", *options).out)


def test_a_run_is_compared_with_labels(desk: Desk) -> None:
    judged(desk)
    labels(desk)
    desk.run()

    done = desk.adjudge("agreement", "--labels", "labels.jsonl", "--by", "statement")

    assert done.code == 0
    assert "60 statements were judged, 60 of them labelled" in done.out
    assert "4 disagreements" in done.out
    assert "behaves: C." in done.out
    found = shown(desk, "--by", "statement")
    assert found["overall"]["confusion"] == {
        "people_met_judge_met": 20,
        "people_met_judge_not_met": 0,
        "people_not_met_judge_met": 4,
        "people_not_met_judge_not_met": 36,
    }
    assert found["parts"]["behaves: C."]["figures"]["tnr"]["value"] == 0.8
    assert len(found["disagreements"]) == 4


@pytest.mark.parametrize(
    ("required", "code"),
    [("kappa>=0.6", 0), ("tnr>=0.95", 1), ("alpha>=0.5", 3), ("kapa>=0.5", 2), ("kappa>=7", 2)],
)
def test_a_requirement_decides_the_exit_code(desk: Desk, required: str, code: int) -> None:
    judged(desk)
    labels(desk)
    desk.run()

    done = desk.adjudge("agreement", "--labels", "labels.jsonl", "--require", required)

    assert done.code == code
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "label verdicts with `adjudge review`"),
        (("--labels", "nowhere.jsonl"), "'nowhere.jsonl' can't be read"),
        (("--labels", "labels.jsonl", "--by", "colour"), "'colour' is none of grader"),
    ],
)
def test_what_is_missing_is_said_in_a_line(desk: Desk, options: tuple[str, ...], said: str) -> None:
    judged(desk)
    labels(desk)
    desk.run()

    done = desk.adjudge("agreement", *options)

    assert done.code == 2
    assert said in done.err
    assert done.err.count("\n") == 1


def test_labels_of_the_review_page_are_taken_unless_others_are_named(desk: Desk) -> None:
    judged(desk)
    labels(desk)
    desk.run()

    imported = desk.adjudge("labels", "import", "labels.jsonl")
    again = desk.adjudge("labels", "import", "labels.jsonl")

    assert imported.out == "60 labels added to .adjudge/labels.jsonl\n"
    assert again.out == "0 labels added to .adjudge/labels.jsonl; 60 were there already\n"
    assert "60 of them labelled" in desk.adjudge("agreement").out


def test_labels_travel_through_a_spreadsheet(desk: Desk) -> None:
    labels(desk)

    desk.adjudge("labels", "export", "labels.jsonl", "--to", "labels.csv")

    with (desk.path / "labels.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert (table[0]["conversation_id"], table[0]["label"], table[0]["reviewer"]) == ("c0", "met", "ana")
    back = desk.adjudge("labels", "export", "labels.csv", "--format", "jsonl")
    assert back.out == (desk.path / "labels.jsonl").read_text().replace('": "', '":"').replace(', "', ',"')


ADMITTED = {"admitted_by": "agreement.json"}


def admitted(desk: Desk, **judge: Any) -> Done:
    """Run under a judge that has to be admitted, after it was measured as it stands in `judged`."""
    judged(desk)
    labels(desk)
    desk.run()
    desk.adjudge("agreement", "--labels", "labels.jsonl", "--write", "agreement.json")
    desk.decide({})
    desk.suite(desk.grader(*STATEMENTS), judges={"main": desk.judge(**(ADMITTED | judge))})
    return desk.run("--refresh")


def test_a_judge_that_agreed_with_people_is_admitted(desk: Desk) -> None:
    done = admitted(desk)

    assert done.code == 0
    assert "not_admitted" not in done.out + done.err


@pytest.mark.parametrize(
    ("judge", "why"),
    [
        ({"admitted_if": ["tnr>=0.95"]}, "tnr>=0.95 was asked for and the lower end of tnr is 0."),
        ({"admitted_if": ["alpha>=0.5"]}, "alpha>=0.5 was asked for and alpha could not be measured"),
        ({"model": "openai/other"}, "model was 'openai/any' and is 'openai/other'"),
        ({"params": {"temperature": 0.5}}, "params was {} and is {'temperature': 0.5}"),
        ({"output": "text"}, "output was 'auto' and is 'text'"),
    ],
)
def test_a_judge_that_falls_short_or_is_another_one_now_is_not_admitted(
    desk: Desk, judge: dict[str, Any], why: str
) -> None:
    done = admitted(desk, **judge)

    (reason,) = [text for text in desk.summary()["policy"]["reasons"] if "judge_not_admitted" in text]
    assert done.code == 3
    assert desk.summary()["policy"]["result"] == "undecided"
    assert why in reason
    assert f"warning: not admitted: judge 'main': {reason.partition('judge ')[2][8:]}" in done.err


def test_another_prompt_is_another_judge(desk: Desk) -> None:
    admitted(desk)
    (desk.path / "mine.md").write_text(
        "# system\nDecide.\n# user\n{evidence}\n{statements}\n{reply_format}\n"
    )
    desk.suite(desk.grader(*STATEMENTS, prompt="mine.md"), judges={"main": desk.judge(**ADMITTED)})

    done = desk.run()

    assert done.code == 3, done.err
    assert "its prompt was not measured" in done.err


def test_a_judge_nobody_measured_yet_is_not_admitted_and_its_run_can_be_labelled(desk: Desk) -> None:
    judged(desk, **ADMITTED)
    desk.answer = lambda _: Reply()

    done = desk.run()

    assert done.code == 3
    assert "there is no 'agreement.json' yet" in done.err
    assert len(desk.results()) == 20


def test_a_failure_outranks_a_judge_that_is_not_admitted(desk: Desk) -> None:
    judged(desk, **ADMITTED)

    assert desk.run().code == 1


def test_a_record_that_is_none_is_refused_before_anything_is_asked(desk: Desk) -> None:
    judged(desk, **ADMITTED)
    (desk.path / "agreement.json").write_text('{"kappa": 1}')

    done = desk.run()

    assert done.code == 2
    assert "is not what `adjudge agreement RUN --labels FILE --write FILE` writes" in done.err
    assert desk.server.count == 0
    assert desk.runs == []


def test_what_a_run_was_admitted_by_is_frozen(desk: Desk) -> None:
    admitted(desk, admitted_if=["tnr>=0.95"])
    (desk.path / "agreement.json").unlink()

    assert desk.adjudge("resume").code == 3


def test_the_truth_lies_in_the_intervals_for_a_judge_of_known_error_rates(desk: Desk) -> None:
    """716 labelled statements, a judge with tpr 0.9, tnr 0.8 and 2 % errors, 300 conversations labelled."""
    found, truth = study(desk, tpr=0.9, tnr=0.8, errored=0.02, labelled=300)

    figures, whole = found["overall"]["figures"], found["overall"]
    assert whole["statements"] == 716
    assert whole["compared"] + sum(whole["errored"].values()) + whole["unlabelled"] == 716
    assert whole["undecided"] > 0
    for name, value in (("tpr", 0.9), ("tnr", 0.8), ("decided", 0.98)):
        assert figures[name]["lower"] <= value <= figures[name]["upper"], name
    right = whole["share_met_corrected"]
    assert right["lower"] <= truth <= right["upper"]
    assert not right["lower"] <= whole["share_met"]["value"] <= truth  # the judge's own share is off
    assert len(found["parts"]) == 5
    assert sum(part["statements"] for part in found["parts"].values()) == 716


def study(
    desk: Desk, *, tpr: float, tnr: float, errored: float, labelled: int
) -> tuple[dict[str, Any], float]:
    """What `adjudge agreement` says of a run over the labelled statements, and the true share that is met."""
    conversations: dict[str, dict[str, Any]] = {}
    truth: dict[tuple[str, str], bool] = {}
    for line in gzip.decompress(LABELLED.read_bytes()).splitlines():
        row = json.loads(line)
        for said in row["labelled"]:
            case = f"{row['conversation_id']} {said['label_kind']}"
            metadata = {"case": case, "label_kind": said["label_kind"]}
            plain: dict[str, Any] = {"id": case, "messages": row["messages"], "metadata": metadata}
            asked = conversations.setdefault(case, plain).setdefault("statements", {"behaves": []})
            asked["behaves"].append(said["statement"])
            truth[case, said["statement"]] = said["label"]
    chosen = set(Random(1).sample(sorted(conversations), labelled))
    desk.conversations(*conversations.values())
    (desk.path / "labels.jsonl").write_text(
        "".join(
            json.dumps({"conversation_id": case, "statement": text, "label": "met" if met else "not_met"})
            + "\n"
            for (case, text), met in truth.items()
            if case in chosen
        )
    )

    def answer(request: Request) -> Reply:
        (shown,) = CASE.findall(request.json["messages"][-1]["content"])
        case = json.loads(shown)
        (text,) = request.statements.values()
        random = Random(f"{case} {text}")
        if random.random() < errored:
            return Reply(status=400)
        right = random.random() < (tpr if truth[case, text] else tnr)
        return Reply(decision="met" if right == truth[case, text] else "not_met")

    desk.answer = answer
    grader = {"name": "behaves", "type": "statements", "judge": "main"}
    desk.suite(grader, evidence={"metadata": ["case"]})
    desk.run()
    return shown(desk, "--by", "metadata.label_kind"), sum(truth.values()) / len(truth)
