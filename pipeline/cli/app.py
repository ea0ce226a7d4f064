"""The command line: read words, call, print, exit. Each command imports what it needs when it runs."""

from __future__ import annotations

import gc
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Annotated, Literal, Never

import typer

from adjudge.judges.failure import AdjudgeError, StorageError
from adjudge.pipeline.cli import cache as cli_cache
from adjudge.pipeline.cli import labels as cli_labels
from adjudge.pipeline.cli.options import (
    DEFAULT_HOME,
    AsJson,
    Cache,
    Confidence,
    Github,
    Home,
    Html,
    Junit,
    MaxCalls,
    MaxCost,
    Offline,
    Quiet,
    RunName,
)
from adjudge.pipeline.display import visible
from adjudge.pipeline.suite.errors import SuiteError

_OBJECTS = 20_000
"""So many new objects are searched for garbage at a time: what commands load and rows hold is none."""

app = typer.Typer(
    name="adjudge",
    help="Grade agent conversations with model judges, with numbers that can be believed.\n\n"
    "Start with `adjudge init my-suite`, then `adjudge run my-suite/suite.yaml`.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 policy met; 1 a grade failed; 2 usage or suite error; 3 something was not judged; "
    "4 storage; 5 nothing to judge; 130/143 interrupted (resume).",
)
app.add_typer(cli_cache.app, name="cache")
app.add_typer(cli_labels.app, name="labels")


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"adjudge {version('adjudge')}")
        raise typer.Exit


@app.callback()
def _adjudge(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which version this is.")
    ] = False,
) -> None: ...


@app.command()
def run(
    suite: Annotated[Path, typer.Argument(metavar="SUITE", help="The suite file (YAML).")],
    *,
    conversations: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Grade these files instead of the suite's. Repeatable."),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            envvar="ADJUDGE_JUDGE",
            help="Ask this model instead, such as openai/gpt-5-mini; NAME=MODEL for one judge.",
        ),
    ] = None,
    api_base: Annotated[
        str | None,
        typer.Option(metavar="URL", envvar="ADJUDGE_API_BASE", help="The judge's server, OpenAI-compatible."),
    ] = None,
    grader: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this grader. Repeatable.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=1, envvar="ADJUDGE_LIMIT", help="Only the first N.")
    ] = None,
    out: Home = DEFAULT_HOME,
    cache: Cache = None,
    offline: Offline = False,
    refresh: Annotated[
        bool, typer.Option("--refresh", envvar="ADJUDGE_REFRESH", help="Ask again; keep the old in history.")
    ] = False,
    concurrency: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, envvar="ADJUDGE_CONCURRENCY", help="Calls in flight per judge."),
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, envvar="ADJUDGE_SAMPLES", help="Ask each judge N times; the majority decides."
        ),
    ] = None,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how many calls it would take and what they would cost.")
    ] = False,
    as_json: AsJson = False,
    junit: Junit = None,
    html: Html = None,
    github: Github = None,
    quiet: Quiet = False,
) -> None:
    """Grade the conversations of a suite.

    Verdicts that were obtained before are taken from the cache; only what is missing is asked.
    The run is written to OUT/runs/<run id>; stop it at any time and `adjudge resume latest`.
    """
    from adjudge.pipeline.cli import run as cli_run
    from adjudge.pipeline.planning.overrides import Overrides

    overrides = Overrides(
        model=judge,
        api_base=api_base,
        graders=tuple(grader or ()),
        limit=limit,
        concurrency=concurrency,
        samples=samples,
        max_calls=max_calls,
        max_cost_usd=max_cost,
        refresh=refresh,
    )
    settings = cli_run.Settings(
        home=out,
        cache=cache or out / "cache",
        offline=offline,
        refresh=refresh,
        quiet=quiet,
        as_json=as_json,
        junit=junit,
        html=html,
        github=github,
    )
    if dry_run:
        cli_run.dry_run(suite, conversations, overrides, settings)
        return
    raise typer.Exit(cli_run.run(suite, conversations, overrides, settings))


@app.command()
def resume(
    run: RunName = "latest",
    *,
    out: Home = DEFAULT_HOME,
    cache: Cache = None,
    offline: Offline = False,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    as_json: AsJson = False,
    junit: Junit = None,
    html: Html = None,
    github: Github = None,
    quiet: Quiet = False,
) -> None:
    """Go on with a run under its plan: judge what is missing or errored."""
    from adjudge.pipeline.cli import run as cli_run

    settings = cli_run.Settings(
        home=out,
        cache=cache or out / "cache",
        offline=offline,
        refresh=False,
        quiet=quiet,
        as_json=as_json,
        junit=junit,
        html=html,
        github=github,
    )
    raise typer.Exit(cli_run.resume(run, settings, max_calls, max_cost))


@app.command()
def show(
    run: RunName = "latest",
    conversation: Annotated[
        str | None,
        typer.Argument(metavar="[CONVERSATION]", help="Show one, verdict by verdict."),
    ] = None,
    *,
    out: Home = DEFAULT_HOME,
    as_json: AsJson = False,
) -> None:
    """Show a run, or one conversation of it."""
    from adjudge.pipeline.cli import read as cli_read

    cli_read.show(run, conversation, out, as_json=as_json)


@app.command()
def whatif(
    run: RunName = "latest",
    *,
    threshold: Annotated[
        list[str] | None, typer.Option(metavar="[GRADER=]X", help="Another threshold. Repeatable.")
    ] = None,
    require: Annotated[
        list[str] | None, typer.Option(metavar="GRADER:s2", help="Make a statement or check required.")
    ] = None,
    optional: Annotated[
        list[str] | None, typer.Option(metavar="GRADER:s2", help="Make a statement or check optional.")
    ] = None,
    out: Home = DEFAULT_HOME,
    as_json: AsJson = False,
) -> None:
    """Decide a run's verdicts anew, with other thresholds or flags. No calls; nothing is written."""
    from adjudge.pipeline.cli import read as cli_read

    cli_read.whatif(run, threshold or [], require or [], optional or [], out, as_json=as_json)


@app.command()
def review(
    run: RunName = "latest",
    *,
    labels: Annotated[
        Path | None,
        typer.Option(metavar="FILE", envvar="ADJUDGE_LABELS", help="[default: OUT/labels.jsonl]"),
    ] = None,
    reviewer: Annotated[
        str | None,
        typer.Option(metavar="NAME", envvar="ADJUDGE_REVIEWER", help="Who labels. [default: your user name]"),
    ] = None,
    blind: Annotated[
        bool, typer.Option("--blind", help="Hide what the judge said of a statement until you labelled it.")
    ] = False,
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="0 takes a free one.")] = 0,
    browse: Annotated[
        bool | None, typer.Option("--open/--no-open", help="Open a browser. [default: on a desktop]")
    ] = None,
    out: Home = DEFAULT_HOME,
) -> None:
    """Read a run in a browser, conversation by conversation, and label its verdicts.

    Serves this machine alone, at an address with a secret in it, until Ctrl-C.
    """
    from adjudge.pipeline.cli import review as cli_review

    how = cli_review.Reviewing(labels=labels, reviewer=reviewer, blind=blind, port=port, browse=browse)
    cli_review.review(run, out, how)


@app.command()
def agreement(
    run: RunName = "latest",
    *,
    labels: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Labels, JSON lines or CSV. Repeatable. [default: the suite's and OUT/labels.jsonl]",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(metavar="WHAT", help="Also each grader, statement, judge, test or metadata.KEY."),
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(
            metavar="'kappa>=0.6'",
            help="The lower end of a figure must reach this: accuracy, tpr, tnr, precision, npv, kappa, "
            "decided, alpha. Repeatable. Exit code 1 if it doesn't, 3 if it can't be told.",
        ),
    ] = None,
    confidence: Confidence = 0.95,
    write: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write what a suite's `judges.NAME.admitted_by` reads."),
    ] = None,
    listed: Annotated[
        int, typer.Option("--list", metavar="N", min=0, help="Disagreements to print at most.")
    ] = 20,
    out: Home = DEFAULT_HOME,
    as_json: AsJson = False,
) -> None:
    """Compare a run's judge with people: rates, kappa, the corrected share, each with its interval.

    Labels come from `adjudge review`, or from files with conversation_id, statement and label
    (met, not_met or undecidable) in each line.
    """
    from adjudge.pipeline.cli import agreement as cli_agreement

    asked = cli_agreement.Asked(
        labels=labels or [],
        by=by,
        required=require or [],
        confidence=confidence,
        write=write,
        listed=listed,
        as_json=as_json,
    )
    raise typer.Exit(cli_agreement.show_agreement(run, out, asked))


@app.command()
def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="The run compared with, such as the one before.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The run in question.")],
    *,
    by: Annotated[
        Literal["conversation", "test"],
        typer.Option(help="Pair conversations of one id, or rollouts of one test."),
    ] = "conversation",
    confidence: Confidence = 0.95,
    out: Home = DEFAULT_HOME,
    as_json: AsJson = False,
) -> None:
    """Compare two runs, of two agents, two judges or two prompts: what turned, and is it more than chance?

    Exit code 0 if B shows no regression, 1 if it does, 3 if that can't be told.
    """
    from adjudge.pipeline.cli import compare as cli_compare

    raise typer.Exit(cli_compare.compare_runs(a, b, out, by=by, confidence=confidence, as_json=as_json))


@app.command()
def stability(
    run: RunName = "latest",
    *,
    samples: Annotated[
        int,
        typer.Option(metavar="N", min=2, help="Times each judge is asked, the run's own answers included."),
    ] = 5,
    confidence: Confidence = 0.95,
    out: Home = DEFAULT_HOME,
    cache: Cache = None,
    offline: Offline = False,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how many calls it would take, and ask nobody.")
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Ask a run's judges again, where another decision would change a grade: how often do they flip?

    The run stays as it is; the result goes to stability.json beside it.
    """
    from adjudge.pipeline.cli import stability as cli_stability
    from adjudge.pipeline.grading.bench import Lookup
    from adjudge.pipeline.suite.load import Budget

    asked = cli_stability.Asked(
        samples=samples,
        lookup=Lookup(cache=cache or out / "cache", offline=offline),
        caps=Budget(max_calls=max_calls, max_cost_usd=max_cost),
        confidence=confidence,
        dry_run=dry_run,
        quiet=quiet,
        as_json=as_json,
    )
    raise typer.Exit(cli_stability.show_stability(run, out, asked))


@app.command()
def rollouts(
    run: RunName = "latest",
    *,
    confidence: Confidence = 0.95,
    out: Home = DEFAULT_HOME,
    as_json: AsJson = False,
) -> None:
    """Show each test's rollouts: passed, mean reward, best, worst, spread, pass@k and pass^k."""
    from adjudge.pipeline.cli import read as cli_read

    cli_read.rollouts(run, out, confidence=confidence, as_json=as_json)


@app.command()
def export(
    run: RunName = "latest",
    *,
    form: Annotated[
        Literal["result-json", "jsonl", "csv", "junit", "html", "markdown", "github"],
        typer.Option("--format", "-f", help="result-json writes one file per conversation and grader."),
    ] = "jsonl",
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="PATH", help="File, or directory. [default: stdout]"),
    ] = None,
    grader: Annotated[str | None, typer.Option(metavar="NAME", help="result-json: only this grader.")] = None,
    conversation: Annotated[
        str | None, typer.Option(metavar="ID", help="result-json: only this conversation.")
    ] = None,
    out: Home = DEFAULT_HOME,
) -> None:
    """Write a run in another shape."""
    from adjudge.pipeline.cli import read as cli_read

    cli_read.export(run, form, to, grader, conversation, out)


Files = Annotated[list[Path], typer.Argument(metavar="FILE...", help="Files of conversations.")]
Form = Annotated[
    str, typer.Option("--from", metavar="FORMAT", help="Their format; auto looks at their content.")
]


@app.command()
def convert(
    files: Files,
    *,
    form: Form = "auto",
    to: Annotated[Path | None, typer.Option(metavar="FILE", help="[default: stdout]")] = None,
) -> None:
    """Write conversations of any format as native JSONL."""
    from adjudge.pipeline.cli import files as cli_files

    raise typer.Exit(cli_files.convert_files(files, form, to))


@app.command()
def conversations(files: Files, *, form: Form = "auto") -> None:
    """List what files hold: ids, turns, tools, how each ended, what could not be read."""
    from adjudge.pipeline.cli import files as cli_files

    raise typer.Exit(cli_files.list_files(files, form))


@app.command()
def init(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Where to put it; made if missing.")],
    *,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Take statements and conversations from a tau2-bench, promptfoo, Inspect or DeepEval file.",
        ),
    ] = None,
) -> None:
    """Write a suite to start from: a small working one, or one made of a file's statements."""
    from adjudge.pipeline.cli import files as cli_files

    raise typer.Exit(cli_files.init(directory, source))


@app.command()
def lint(
    suite: Annotated[Path, typer.Argument(metavar="SUITE", help="The suite file (YAML).")],
    *,
    conversations: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Look at these files' statements instead of the suite's files'."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit code 1 if there is anything to say.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say which statements of a suite a judge is likely to decide badly, and how to word them better.

    Looks for two claims in one, double negatives, vague and unfalsifiable words, twins and the like. Asks
    nobody, and is right most of the time only: read what it says.
    """
    from adjudge.pipeline.cli import lint as cli_lint

    raise typer.Exit(cli_lint.lint(suite, conversations, strict=strict, as_json=as_json))


@app.command()
def schema() -> None:
    """Print the JSON Schema of suite files, for editors."""
    from adjudge.pipeline.suite.load import schema_text

    typer.echo(schema_text(), nl=False)


@app.command()
def doctor(
    *,
    out: Home = DEFAULT_HOME,
    cache: Cache = None,
) -> None:
    """Look at this machine: versions, keys that are set (never their values), the cache, the disk."""
    from adjudge.pipeline.cli import read as cli_read

    raise typer.Exit(cli_read.doctor(out, cache or out / "cache"))


def main() -> int:
    """Run the command line. Returns the exit code; a mistake is one message on stderr."""
    signal.signal(signal.SIGTERM, _terminate)
    gc.set_threshold(_OBJECTS)
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # to look for them takes 50 ms
    try:
        code = _exit_code()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except AdjudgeError as error:
        lines = "\n" if isinstance(error, SuiteError) else ""
        typer.echo(f"adjudge: {visible(str(error), keep=lines)}", err=True)
        return error.exit_code
    except OSError as error:
        typer.echo(f"adjudge: {visible(str(error))}", err=True)
        return StorageError.exit_code
    except Exception:  # noqa: BLE001 - or Python's exit code would say that a grade failed
        typer.echo(visible(traceback.format_exc(), keep="\n"), err=True, nl=False)
        typer.echo("adjudge: this is a fault of adjudge itself; please report it", err=True)
        return StorageError.exit_code
    return code


def _exit_code() -> int:
    try:
        app()
    except SystemExit as stop:
        if isinstance(stop.__context__, BrokenPipeError):  # for which typer exits as for a failed grade
            raise stop.__context__ from None
        return stop.code if isinstance(stop.code, int) else 1
    return 0


def _terminate(number: int, _: object) -> Never:
    """Unwind, so that nothing half-written is left behind."""
    raise SystemExit(128 + number)
