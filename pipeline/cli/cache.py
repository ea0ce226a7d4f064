"""`adjudge cache`: read the verdict cache, check it, carry it elsewhere, ask why something misses."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from adjudge.pipeline.cli.options import DEFAULT_HOME, Cache, Home

app = typer.Typer(
    help="The verdict cache: every verdict that was ever paid for.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command()
def stats(*, out: Home = DEFAULT_HOME, cache: Cache = None) -> None:
    """Say how many verdicts there are, from which models, and how old they are."""
    from adjudge.judges.ledger.ledger import Ledger
    from adjudge.pipeline import cache_commands
    from adjudge.pipeline.display import visible

    with Ledger.open(_existing(cache or out / "cache"), read_only=True, warn=_warn) as ledger:
        found = cache_commands.stats(ledger)
    typer.echo(f"{found.entries} entries, {found.replaced} replaced, {found.damaged} damaged")
    period = f"from {found.oldest or '-'} to {found.newest or '-'}"
    typer.echo(f"{found.bytes / 1e6:.1f} MB, {visible(period)}")
    for what, counts in (
        ("model", found.models),
        ("prompt", found.prompts),
        ("decision", found.decisions),
    ):
        for name, count in counts.most_common():
            typer.echo(f"  {what} {visible(name)}: {count}")


@app.command()
def verify(*, out: Home = DEFAULT_HOME, cache: Cache = None) -> None:
    """Check every entry as if it came from a stranger. Exit code 4 if anything is wrong."""
    from adjudge.judges.ledger.ledger import Ledger
    from adjudge.pipeline import cache_commands
    from adjudge.pipeline.display import visible

    with Ledger.open(_existing(cache or out / "cache"), read_only=True, warn=_warn) as ledger:
        found = cache_commands.verify(ledger)
    for fault in found.integrity:
        typer.echo(visible(fault))
    for key, reason in found.damaged:
        typer.echo(f"{visible(key)}: {visible(reason)}")
    typer.echo(f"{found.entries} entries are sound, {len(found.damaged)} are damaged")
    raise typer.Exit(0 if found.sound else 4)


@app.command()
def export(
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="[default: stdout]")] = None,
    *,
    out: Home = DEFAULT_HOME,
    cache: Cache = None,
) -> None:
    """Write all verdicts as JSON lines: for `cache import`, or as a suite's `recorded:` file."""
    from adjudge.judges.ledger.ledger import Ledger
    from adjudge.pipeline import cache_commands

    with Ledger.open(_existing(cache or out / "cache"), read_only=True, warn=_warn) as ledger:
        if file is None:
            sys.stdout.buffer.writelines(cache_commands.export_lines(ledger))
            return
        found = cache_commands.export(ledger, file)
    typer.echo(f"{found.written} entries written, {found.damaged} damaged ones left out", err=True)


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `cache export` wrote.")],
    *,
    out: Home = DEFAULT_HOME,
    cache: Cache = None,
) -> None:
    """Take verdicts in, each checked; what is there already is kept. Exit code 2 if a line was refused."""
    from adjudge.judges.ledger.ledger import Ledger
    from adjudge.pipeline import cache_commands
    from adjudge.pipeline.display import visible

    with Ledger.open(cache or out / "cache", warn=_warn) as ledger:
        found = cache_commands.import_records(ledger, file)
    for refused in found.refused:
        typer.echo(visible(refused), err=True)
    typer.echo(f"{found.added} added, {found.kept} were there already, {len(found.refused)} refused")
    raise typer.Exit(2 if found.refused else 0)


@app.command("why-miss")
def why_miss(
    suite: Annotated[Path, typer.Argument(metavar="SUITE", help="The suite whose questions are missed.")],
    *,
    conversation: Annotated[str | None, typer.Option(metavar="ID", help="Only of this one.")] = None,
    grader: Annotated[str | None, typer.Option(metavar="NAME", help="Only of this one.")] = None,
    judge: Annotated[str | None, typer.Option(metavar="MODEL", help="As given to `adjudge run`.")] = None,
    api_base: Annotated[str | None, typer.Option(metavar="URL", help="As given to `adjudge run`.")] = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="How many misses to explain.")] = 5,
    out: Home = DEFAULT_HOME,
    cache: Cache = None,
) -> None:
    """Say of a suite's questions which have no verdict in the cache, and what is stored instead."""
    from adjudge.pipeline.planning.overrides import Overrides
    from adjudge.pipeline.preview.misses import explain_misses
    from adjudge.pipeline.suite.load import load_suite

    overrides = Overrides(model=judge, api_base=api_base, graders=(grader,) if grader else ())
    for line in explain_misses(
        load_suite(suite),
        overrides,
        _existing(cache or out / "cache"),
        conversation=conversation,
        limit=limit,
    ):
        typer.echo(line)


def _existing(directory: Path) -> Path:
    from adjudge.judges.failure import UsageError

    if not directory.is_dir():
        raise UsageError(f"there is no cache at {str(directory)!r}; --cache or --out says where it is")
    return directory


def _warn(message: str) -> None:
    from adjudge.pipeline.display import visible

    typer.echo(f"adjudge: warning: {visible(message)}", err=True)
