"""What a run costs whose verdicts are all cached, and what commands cost before they do any work.

    python benchmarks/cached.py [--verdicts 2000 20000] [--repeat 5] [--flat 10000 1000000]

Makes conversations of about 2 KB (native JSONL) and a suite of ten statements, stores an answer to every
question as an earlier run would have, and runs `adjudge run` as a user does. CPU is user + system of the
whole process, the least of `--repeat` runs; memory is its largest resident set.

The floor does what no rerun can do without: it reads each conversation, digests it, reads its ten rows by
their keys and parses them, with the standard library alone. A busy machine slows both: compare their ratio.

Prints Markdown tables. `--flat` also runs two sizes once each and prints how much more memory and time a
verdict the larger one takes; a million verdicts need 2 GB of disk and minutes to store.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from contenders.job import ANSWERED, ASKED

STATEMENTS = 10
FLOOR = """
import hashlib, json, sqlite3, sys
rows = sqlite3.connect(f"file:{sys.argv[1]}/.adjudge/cache/cache.db?mode=ro", uri=True)
keys = iter(open(f"{sys.argv[1]}/keys"))
met = 0
for line in open(f"{sys.argv[1]}/conversations.jsonl", "rb"):
    json.loads(line)
    hashlib.sha256(line).hexdigest()
    for key in next(keys).split():
        (value,) = rows.execute("SELECT value FROM Cache WHERE key = ? AND raw = 1", (key,)).fetchone()
        met += json.loads(value)["verdicts"][0]["decision"] == "met"
print(met)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a process took: `seconds` of CPU (user + system) and `megabytes` resident at most."""

    seconds: float
    megabytes: float


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--verdicts", type=int, nargs="*", default=[2000, 20_000])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--flat", type=int, nargs=2, metavar=("FEW", "MANY"))
    options = parser.parse_args()
    print("| cached verdicts | CPU s | memory MB | us a verdict | floor, CPU s | x floor |")
    print("|---:|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as place:
        for verdicts in options.verdicts:
            desk = filled(Path(place), verdicts)
            floor = least(options.repeat, sys.executable, "-c", FLOOR, str(desk))
            run = least(options.repeat, *command("run", desk))
            print(row(verdicts, run, floor))
        print("\n| command | CPU s | memory MB |\n|---|---:|---:|")
        desk = filled(Path(place), 200)
        least(1, *command("run", desk))
        for words in ("--help", "show", "whatif"):
            cost = least(options.repeat, *command(words, desk))
            print(f"| `adjudge {words}` | {cost.seconds:.2f} | {cost.megabytes:.0f} |")
        if options.flat:
            few, many = (least(1, *command("run", filled(Path(place), count))) for count in options.flat)
            more = many.seconds / options.flat[1] / (few.seconds / options.flat[0])
            print(f"\n{options.flat[0]:,} verdicts: {few.seconds:.1f} s, {few.megabytes:.0f} MB.")
            print(f"{options.flat[1]:,} verdicts: {many.seconds:.1f} s, {many.megabytes:.0f} MB.")
            print(f"{many.megabytes - few.megabytes:+.0f} MB; {more:.2f} x the time a verdict.")


def command(word: str, desk: Path) -> list[str]:
    """An `adjudge` command on `desk`, as the installed script runs it."""
    script = str(Path(sys.executable).with_name("adjudge"))
    home = str(desk / ".adjudge")
    if word == "run":
        return [script, "run", str(desk / "suite.yaml"), "--out", home]
    return [script, word] if word == "--help" else [script, word, "latest", "--out", home]


def least(repeat: int, *words: str) -> Cost:
    """The cheapest of some runs of a command, its modules compiled, as they are once it is installed."""
    costs: list[Cost] = []
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for _ in range(repeat):
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, env=environment)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{' '.join(words)} ended with {process.returncode}")
        costs.append(Cost(seconds=used.ru_utime + used.ru_stime, megabytes=used.ru_maxrss / 1024))
    return min(costs, key=lambda cost: cost.seconds)


def row(verdicts: int, run: Cost, floor: Cost) -> str:
    """A line of the first table."""
    each = run.seconds / verdicts * 1e6
    ratio = run.seconds / floor.seconds
    left = f"| {verdicts:,} | {run.seconds:.2f} | {run.megabytes:.0f} | {each:.0f} "
    return f"{left}| {floor.seconds:.2f} | {ratio:.1f} |"


def filled(place: Path, verdicts: int) -> Path:
    """A directory with a suite of so many questions, all answered. Made in a process of its own.

    A process begins with the memory of the one that starts it in its books, so this one stays small.
    """
    desk = place / str(verdicts)
    if not desk.exists():
        desk.mkdir()
        process = multiprocessing.get_context("spawn").Process(target=fill, args=(desk, verdicts))
        process.start()
        process.join()
        if process.exitcode:
            raise SystemExit("the cache could not be filled")
    return desk


def fill(desk: Path, verdicts: int) -> None:
    """Write conversations and suite into `desk`, store an answer to every question, list the keys."""
    with (desk / "conversations.jsonl").open("w") as file:
        file.writelines(conversation(number) for number in range(verdicts // STATEMENTS))
    statements = [f"Statement {n} holds of what the agent says about the order." for n in range(STATEMENTS)]
    grader = {"name": "behaviour", "type": "statements", "judge": "main", "statements": statements}
    suite = {
        "name": "cached",
        "conversations": [{"path": "conversations.jsonl"}],
        "judges": {"main": {"model": "openai/gpt-4.1-mini"}},
        "graders": [grader],
    }
    (desk / "suite.yaml").write_text(json.dumps(suite))
    store(desk)


def conversation(number: int) -> str:
    """One line: eight turns, about 2 KB."""
    messages = [
        {
            "role": ("user", "assistant")[turn % 2],
            "content": (ASKED, ANSWERED)[turn % 2].format(n=number * 8 + turn),
        }
        for turn in range(8)
    ]
    return json.dumps({"id": f"conversation-{number}", "messages": messages}) + "\n"


def store(desk: Path) -> None:
    """Store an answer to every question of the suite in `desk`, as an earlier run would have."""
    from adjudge.judges.ledger.ledger import Ledger
    from adjudge.judges.ledger.record import Record
    from adjudge.judges.verdict import Attempt, Citation, Origin, Usage, Verdict
    from adjudge.pipeline.planning.freeze import Freezing, plan_head
    from adjudge.pipeline.planning.overrides import Overrides
    from adjudge.pipeline.preview.questions import questions_of
    from adjudge.pipeline.suite.load import load_suite

    suite = load_suite(desk / "suite.yaml")
    head = plan_head(suite, "earlier", Overrides())

    def records() -> Iterator[Record]:
        usage = Usage(input_tokens=812, output_tokens=64, cached_input_tokens=640)
        cited = (Citation(turn=2, quote="please confirm the last four digits", verified=True),)
        said = "The agent asks for the last digits of the card in turn 2, before it speaks about the refund."
        with (desk / "keys").open("w") as keys:
            for _, asked in questions_of(head, Freezing(suite, head)):
                keys.write(" ".join(question.request.key for _, question in asked) + "\n")
                for _, question in asked:
                    yield Record(
                        key=question.request.key,
                        fields=question.request.key_fields,
                        verdicts=(Verdict(decision="met", rationale=said, citations=cited),),
                        attempts=(Attempt(status=200, seconds=0.5, usage=usage, cost_usd=0.0004),),
                        origin=Origin(run="earlier", unit=question.request.unit),
                        created="2026-01-01T00:00:00+00:00",
                        adjudge="0.1.0",
                    )

    found = records()
    with Ledger.open(desk / ".adjudge" / "cache") as ledger:
        while batch := list(islice(found, 5000)):
            ledger.add(batch)


if __name__ == "__main__":
    main()
