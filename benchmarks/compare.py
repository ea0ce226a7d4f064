"""How often `adjudge compare` names a winner where there is none, and finds one where there is.

    python benchmarks/compare.py

Conversations of five statements, met with chance 3 in 4, are decided in two runs. In each, a conversation has
luck of its own (a normal deviation of that chance), so that its statements stand or fall together. In run B a
statement is met less often by `drop`. Beside it: McNemar's test over statements as if each were
independent evidence.
"""

from __future__ import annotations

import random

from adjudge.pipeline.trust.compare import Table
from adjudge.pipeline.trust.paired import mcnemar
from adjudge.pipeline.trust.pairing import Pair, Side

DRAWS = 1000
STATEMENTS = 5
CASES = ((40, 0.0, 0.0), (40, 0.2, 0.0), (100, 0.2, 0.0), (40, 0.2, 0.2), (100, 0.2, 0.2), (100, 0.2, 0.1))


def drawn(chance: random.Random, conversations: int, luck: float, drop: float) -> Table:
    """Two runs of a test that B does worse by `drop`."""
    table = Table()
    for number in range(conversations):
        shares = [0.75 - lost + chance.gauss(0, luck) for lost in (0.0, drop)]
        for _ in range(STATEMENTS):
            a, b = (Side(chance.random() < share) for share in shares)
            name = str(number)
            table.add(Pair(conversation=name, cluster=name, grader="g", label="s", a=a, b=b))
    return table


def main() -> None:
    """Print a table."""
    chance = random.Random(20_261_201)
    print("| conversations | luck | drop | B worse | B better | naive: differs |")
    print("|---:|---:|---:|---:|---:|---:|")
    for conversations, luck, drop in CASES:
        tables = [drawn(chance, conversations, luck, drop) for _ in range(DRAWS)]
        seen = [table.seen(0.95) for table in tables]
        naive = sum(mcnemar(table.lost, table.gained) < 0.05 for table in tables)
        worse, better = seen.count("regression") / DRAWS, seen.count("improvement") / DRAWS
        print(f"| {conversations} | {luck} | {drop} | {worse:.3f} | {better:.3f} | {naive / DRAWS:.3f} |")


if __name__ == "__main__":
    main()
