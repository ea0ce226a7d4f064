"""What a verdict costs that a model is asked for: adjudge beside its floors and its peers.

    python benchmarks/live.py [--only NAME ...] [--quick] [--repeat 3] [--sigma 0.5] [--write]

All ask a server on loopback about the same conversations and the same ten statements. Prints tables in
Markdown; `--write` puts them into docs/benchmarks.md, between its markers. `--quick` measures once and
fewer conditions; `--only` takes a part of a contender's name, and always measures the aiohttp floor too.

CPU is user + system of the contender's process, without start-up. Contenders take turns, and each figure is a
ratio to the aiohttp floor of the same turn, so that a busy machine slows both.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

import cached
from contest import CONTENDERS, ENVIRONMENTS, FLOOR, HERE, RUN, Contender, Cost, measured, server

SIZES = {"2 KB": 2048, "40 KB": 40_960}
POINTS = ((0.05, 16), (0.05, 64), (0.5, 64), (0.5, 256))
SECONDS = 5
"""How long a measurement of throughput takes, about."""
DOCUMENT = HERE.parent / "docs" / "benchmarks.md"


def main() -> None:
    """Measure, and print or write the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="*", default=[""], metavar="NAME")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--sigma", type=float, default=0.0)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    chosen = [c for c in CONTENDERS if c.name == FLOOR or any(part in c.name for part in options.only)]
    ENVIRONMENTS.mkdir(exist_ok=True)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # what is installed is compiled
    lines = list(report(chosen, 1 if options.quick else options.repeat, options.sigma, options.quick))
    if options.write:
        write("\n".join(lines))
    else:
        print("\n".join(lines))


def report(chosen: Sequence[Contender], repeat: int, sigma: float, quick: bool) -> Iterator[str]:
    """All lines of all tables."""
    began = time.monotonic()
    yield f"Measured {time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC: {machine()}. {load()}."
    rates: dict[str, float] = {}
    for size in SIZES if not quick else list(SIZES)[:1]:
        found = turns(chosen, SIZES[size], repeat)
        rates |= {} if rates else {name: fastest(costs) for name, costs in found.items()}
        yield f"\n### CPU a verdict, {size}, no latency, 64 in flight\n"
        yield "| contender | CPU ms | x aiohttp | least to most | start-up, CPU s | memory MB |"
        yield "|---|---:|---:|---:|---:|---:|"
        for contender in chosen:
            yield row(contender.name, found[contender.name], found[FLOOR])
    drawn = f", log-normal with sigma {sigma}" if sigma else ""
    yield f"\n### Verdicts a second where the server takes its time{drawn}, 2 KB\n"
    points = POINTS[-2:-1] if quick else POINTS
    yield (
        "| contender |"
        + "|".join(
            f" {1000 * latency:.0f} ms, {at} in flight (ideal {at / latency:,.0f}) " for latency, at in points
        )
        + "|"
    )
    yield "|---|" + "---:|" * len(points)
    for contender in chosen:
        told = [throughput(contender, rates[contender.name], *point, sigma) for point in points]
        yield f"| {contender.name} | {' | '.join(told)} |"
    if not quick:
        yield from reruns(chosen)
        yield from memory(chosen)
    yield f"\nAll of it took {(time.monotonic() - began) / 60:.0f} minutes. {load()} at the end."


def turns(chosen: Sequence[Contender], size: int, repeat: int) -> dict[str, list[Cost | str]]:
    """The costs of each where the server answers at once, by name; they take turns. Half as many of 40 KB."""
    found: dict[str, list[Cost | str]] = {contender.name: [] for contender in chosen}
    with server() as base:
        for _ in range(repeat):
            for contender in chosen:
                many = contender.conversations // (2 if size > 4096 else 1)
                cost = measured(contender, base, conversations=many, size=size, concurrency=64)
                found[contender.name].append(cost)
                say(f"{contender.name} {size}: {cost}")
    return found


def row(name: str, costs: list[Cost | str], floors: list[Cost | str]) -> str:
    """A line of the first tables, or why there is none."""
    pairs = [
        (cost, floor)
        for cost, floor in zip(costs, floors, strict=True)
        if isinstance(cost, Cost) and isinstance(floor, Cost)
    ]
    if not pairs:
        why = next((cost for cost in costs if isinstance(cost, str)), "the floor could not be measured")
        return f"| {name} | {why} | | | | |"
    ratios = [cost.each / floor.each for cost, floor in pairs]
    good = [cost for cost, _ in pairs]
    middle = statistics.median
    return (
        f"| {name} | {middle(cost.each for cost in good):.2f} | {middle(ratios):.1f} "
        f"| {min(ratios):.1f} to {max(ratios):.1f} "
        f"| {middle(cost.startup for cost in good):.1f} | {max(cost.megabytes for cost in good):.0f} |"
    )


def fastest(costs: list[Cost | str]) -> float:
    """The most verdicts a second of some measurements that CPU allows one core; 0 if there is none."""
    return max((1000 / cost.each for cost in costs if isinstance(cost, Cost)), default=0.0)


def throughput(contender: Contender, rate: float, latency: float, at: int, sigma: float) -> str:
    """Verdicts a second, and the share of the ideal. `rate`, without latency, bounds how many it is given."""
    if not rate:
        return "-"
    ideal = at / latency
    many = max(1, round(SECONDS * min(ideal, rate) / 10))
    with server(latency, sigma) as base:
        cost = measured(contender, base, conversations=many, size=2048, concurrency=at)
    say(f"{contender.name} {latency} {at}: {cost}")
    return cost if isinstance(cost, str) else f"{cost.rate:,.0f} ({cost.rate / ideal:.0%})"


def reruns(chosen: Sequence[Contender]) -> Iterator[str]:
    """What it costs to run again what is stored; of adjudge and the floor the whole process."""
    yield "\n### Running again what is stored, 2 KB\n"
    yield "| contender | CPU ms a verdict | remark |"
    yield "|---|---:|---|"
    with tempfile.TemporaryDirectory() as place:
        desk = cached.filled(Path(place), 2000)
        floor = cached.least(3, sys.executable, "-c", cached.FLOOR, str(desk)).seconds / 2
        yield f"| sqlite, digest and JSON alone | {floor:.3f} | whole process, 2,000 verdicts |"
        ours = cached.least(3, *cached.command("run", desk)).seconds / 2
        yield f"| {RUN} | {ours:.3f} | whole process, 2,000 verdicts: {ours / floor:.1f} x the floor |"
    with server() as base:
        for contender in chosen:
            if not contender.reruns:
                continue
            job = {"conversations": contender.conversations, "size": 2048, "concurrency": 64}
            cost = measured(contender, base, again=True, **job)
            if isinstance(cost, str):
                yield f"| {contender.name} | | {cost} |"
            else:
                remark = f"without start-up; {cost.asked} requests for {cost.verdicts} verdicts"
                yield f"| {contender.name} | {cost.each:.3f} | {remark} |"


def memory(chosen: Sequence[Contender]) -> Iterator[str]:
    """How memory grows with the number of verdicts, beside what importing litellm takes."""
    runs = [contender for contender in chosen if contender.name == RUN]
    if not runs:
        return
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    alone = cached.least(1, sys.executable, "-c", "import litellm").megabytes
    yield f"\n### Memory of a whole run\n\n`import litellm` alone: {alone:.0f} MB.\n"
    yield "| verdicts | size | MB | above litellm |"
    yield "|---:|---|---:|---:|"
    with server() as base:
        for size, conversations in (("2 KB", 100), ("2 KB", 800), ("40 KB", 50), ("40 KB", 400)):
            job = {"conversations": conversations, "size": SIZES[size], "concurrency": 64}
            cost = measured(runs[0], base, **job)
            if isinstance(cost, str):
                yield f"| {conversations * 10:,} | {size} | {cost} | |"
            else:
                above = cost.megabytes - alone
                yield f"| {conversations * 10:,} | {size} | {cost.megabytes:.0f} | {above:+.0f} |"


def machine() -> str:
    """What it was measured on, with the versions of what is compared."""
    ours = ", ".join(f"{name} {version(name)}" for name in ("adjudge", "aiohttp", "litellm", "openai"))
    return f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}; {ours}"


def load() -> str:
    """How busy the machine is."""
    return f"Load {os.getloadavg()[0]:.1f}"


def say(what: str) -> None:
    """Progress, for whoever waits."""
    print(what, file=sys.stderr, flush=True)


def write(tables: str) -> None:
    """Put the tables into the document, between its markers."""
    head, begin, rest = DOCUMENT.read_text().partition("<!-- live: begin -->\n")
    _, end, tail = rest.partition("<!-- live: end -->")
    if not (begin and end):
        raise SystemExit(f"{DOCUMENT} has no markers for the tables")
    DOCUMENT.write_text(f"{head}{begin}\n{tables}\n\n{end}{tail}")


if __name__ == "__main__":
    main()
