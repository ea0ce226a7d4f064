"""The options that several commands take, said once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DEFAULT_HOME = Path(".adjudge")
Home = Annotated[
    Path, typer.Option("--out", metavar="DIR", envvar="ADJUDGE_HOME", help="Where runs and the cache live.")
]
Cache = Annotated[
    Path | None,
    typer.Option(metavar="DIR", envvar="ADJUDGE_CACHE", help="The verdict cache. [default: OUT/cache]"),
]
RunName = Annotated[str, typer.Argument(metavar="RUN", help="A run directory, a run id, or `latest`.")]
Offline = Annotated[
    bool, typer.Option("--offline", envvar="ADJUDGE_OFFLINE", help="Answer from the cache alone; no calls.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", envvar="ADJUDGE_QUIET", help="No progress, no table.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the summary as JSON, alone on stdout.")]
Junit = Annotated[
    Path | None, typer.Option(metavar="FILE", envvar="ADJUDGE_JUNIT", help="Also write JUnit XML there.")
]
Html = Annotated[
    Path | None, typer.Option(metavar="FILE", envvar="ADJUDGE_HTML", help="Also write the review page there.")
]
Github = Annotated[
    bool | None,
    typer.Option(
        "--github/--no-github",
        help="Annotations and a step summary for GitHub Actions. [default: where it runs there]",
    ),
]
MaxCalls = Annotated[
    int | None, typer.Option(metavar="N", min=0, envvar="ADJUDGE_MAX_CALLS", help="Hard cap on calls.")
]
MaxCost = Annotated[
    float | None,
    typer.Option(
        "--max-cost",
        metavar="USD",
        min=0,
        envvar="ADJUDGE_MAX_COST",
        help="Hard cap on cost; calls in flight finish.",
    ),
]
Confidence = Annotated[
    float,
    typer.Option(metavar="X", min=0.5, max=0.9999, envvar="ADJUDGE_CONFIDENCE", help="Of intervals."),
]
