"""Who takes part in the benchmarks, and how one of them is measured. Standard library only.

A contender is a script of `contenders/`, run by the Python of its own environment: adjudge's for adjudge and
the floors, one in `.benchmarks/` for each peer (`make benchmark-peers`). Where there are two cores,
the server has one and the contender the other.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ENVIRONMENTS = HERE.parent / ".benchmarks"
LONGEST = 150
"""Seconds that one measurement may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """One script.

    Attributes:
        name: what it is called in tables.
        environment: directory in `.benchmarks/` of what it needs, or None for what adjudge needs anyway.
        conversations: how many it is given where the server answers at once, so that it takes about a second.
        reruns: it keeps answers on disk and asks nothing again.
    """

    name: str
    script: str
    environment: str | None = None
    conversations: int
    reruns: bool = False

    @property
    def python(self) -> Path:
        """The interpreter of its environment; promptfoo's driver needs none of its own."""
        own = ENVIRONMENTS / (self.environment or "") / "bin" / "python"
        return own if self.environment not in {None, "promptfoo"} else Path(sys.executable)

    @property
    def missing(self) -> bool:
        """Whether its environment was not made."""
        return self.environment is not None and not (ENVIRONMENTS / self.environment).exists()


FLOOR = "aiohttp + pydantic"
RUN = "adjudge run"
CONTENDERS = (
    Contender(name="raw asyncio", script="raw", conversations=300),
    Contender(name=FLOOR, script="aiohttp_pydantic", conversations=300),
    Contender(name="openai SDK", script="openai_sdk", conversations=50),
    Contender(name="litellm.acompletion", script="litellm_acompletion", conversations=40),
    Contender(name=RUN, script="adjudge_run", conversations=300),
    Contender(name="adjudge.run, library", script="adjudge_library", conversations=200),
    Contender(name="autoevals", script="autoevals_classifier", environment="autoevals", conversations=40),
    Contender(name="openevals", script="openevals_judge", environment="openevals", conversations=40),
    Contender(name="phoenix-evals", script="phoenix_dataframe", environment="phoenix", conversations=40),
    Contender(name="ragas", script="ragas_metric", environment="ragas", conversations=30),
    Contender(
        name="pydantic-evals",
        script="pydantic_evals_dataset",
        environment="pydantic-evals",
        conversations=30,
    ),
    Contender(
        name="promptfoo", script="promptfoo_eval", environment="promptfoo", conversations=50, reruns=True
    ),
    Contender(name="Inspect AI", script="inspect_eval", environment="inspect", conversations=20, reruns=True),
    Contender(name="DeepEval", script="deepeval_evaluate", environment="deepeval", conversations=8),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a contender took; see `contenders/job.py`.

    Attributes:
        verdicts: good ones.
        asked: requests that the server saw.
        cpu: seconds, user and system, for all verdicts, without start-up.
        seconds: from the first request's arrival to the last answer's departure.
        startup: CPU seconds up to and with the first conversation.
        megabytes: resident at most.
    """

    verdicts: int
    asked: int
    cpu: float
    seconds: float
    startup: float
    megabytes: float

    @property
    def each(self) -> float:
        """CPU milliseconds a verdict."""
        return 1000 * self.cpu / self.verdicts

    @property
    def rate(self) -> float:
        """Verdicts a second."""
        return self.verdicts / self.seconds


@contextmanager
def server(latency: float = 0.0, sigma: float = 0.0) -> Generator[str]:
    """A judge server that answers after `latency` seconds, in a process of its own; gives its address."""
    words = [sys.executable, str(HERE / "server.py"), "--latency", str(latency), "--sigma", str(sigma)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            pin(process.pid, 0)
            yield (process.stdout or sys.stdin).readline().strip()
        finally:
            process.terminate()


def measured(contender: Contender, base: str, **job: float | bool) -> Cost | str:
    """The cost of a job, or in one line why there is none."""
    if contender.missing:
        return "not installed: `make benchmark-peers`"
    script = HERE / "contenders" / f"{contender.script}.py"
    words = [str(contender.python), str(script), json.dumps({"base": base, **job})]
    try:
        done = subprocess.run(
            words,
            check=False,
            capture_output=True,
            text=True,
            timeout=LONGEST,
            cwd=ENVIRONMENTS,
            preexec_fn=lambda: pin(0, 1),
        )
    except subprocess.TimeoutExpired:
        return f"not done within {LONGEST} s"
    if done.returncode:
        return (done.stderr.strip() or f"ended with {done.returncode}").splitlines()[-1][:100]
    cost = Cost(**json.loads(done.stdout.splitlines()[-1]))
    wanted = int(job["conversations"]) * 10
    return cost if cost.verdicts == wanted else f"{cost.verdicts} of {wanted} verdicts are good"


def pin(process: int, core: int) -> None:
    """Keep a process to one core, where the system can and there are two."""
    if hasattr(os, "sched_setaffinity") and (os.cpu_count() or 1) > 1:
        os.sched_setaffinity(process, {core})
