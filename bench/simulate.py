# SPDX-License-Identifier: GPL-2.0-or-later
"""Coverage, alarms and power of the timed instrument on simulated hosts, whose truth is known.

    python -m bench.simulate [REPLICATES] [BLOCKS ...]    (10,000 and 8, 20, 60; from the checkout)

Prints a table of rates for each number of blocks, and one of runs that grow until they are
conclusive. Rates that lie outside their bounds end in `!`, and the exit code is 1.
docs/concepts/selftest.md says what is simulated and what the bounds are.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from lsmeter.statistics.family import Looks
from tests.statistics.rates import Growth, Rate, Row, Size, growths, rows

READINGS, GROWING_READINGS = 100, 60  # of a block
LOOKS = Looks(10, 60)
SEED = 42


def show(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> None:
    """Print a Markdown table, row by row as they come."""
    for line in (heads, ["---"] * len(heads), *lines):
        print(f"| {' | '.join(line)} |", flush=True)


def percent(rate: Rate) -> str:
    """Write a rate; one that is outside its bounds is marked."""
    return f"{rate.value:.1%}{'' if rate.passed else '!'}"


def simulate(replicates: int, blocks: int) -> int:
    """Print the rates of every noise model; return how many rows fail."""
    print(f"\n{replicates:,} replicates of {blocks} blocks of {READINGS} readings")
    found: list[Row] = list(rows(Size(replicates, blocks, READINGS, SEED)))
    heads = ("noise", *(rate.name for rate in found[0].rates))
    show(heads, ((row.noise.name, *map(percent, row.rates)) for row in found))
    return sum(not row.passed for row in found)


def grow(replicates: int) -> int:
    """Print how runs that grow end; return how many rows fail."""
    print(f"\n{replicates:,} runs that grow; looks at {', '.join(map(str, LOOKS.planned))} blocks")
    found: list[Growth] = list(growths(Size(replicates, 0, GROWING_READINGS, SEED), LOOKS))
    lines = (
        (
            *(item.noise.name, f"{item.overhead:+.0%}", percent(item.wrong)),
            *(f"{item.conclusive:.1%}", f"{item.blocks:.0f}"),
        )
        for item in found
    )
    show(("noise", "truth", "wrong", "right", "blocks, mean"), lines)
    return sum(not item.passed for item in found)


def main(words: Sequence[str]) -> int:
    """Simulate all that is asked for."""
    replicates, *blocks = map(int, words or ["10000"])
    failed = [simulate(replicates, count) for count in blocks or (8, 20, 60)]
    return int(bool(sum(failed) + grow(max(20, replicates // 5))))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
