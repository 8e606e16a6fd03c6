# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes a run of many boots out of a small one, to time what reads it.

Usage: python bench/many_boots.py RUN OUT BOOTS

RUN is a run directory or a packed run, such as examples/main.lsmeter; OUT a directory that is new.
The boots of each cell are its own, again and again, each with an index and a seed of its own, and
with the readings and the windows of some benchmarks moved by a few instructions, so that no two
are alike.
"""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from pathlib import Path

from lsmeter.core.model import Boot, BootId, Samples
from lsmeter.measure.results.boots import read_boot, write_boot
from lsmeter.measure.results.directory import RunData, boot_folder, create_run, read_run

_APART = 1_000  # indexes and seeds of one repetition from those of the next


def make(run: RunData, home: Path, boots: int) -> None:
    """Write a run of so many boots, as evenly over cells as they were."""
    known = [stored for boot in run.boots if (stored := read_boot(run.folder(boot), boot)).capture]
    made = []
    for number in range(boots):
        boot, again = known[number % len(known)].boot, number // len(known) * _APART
        made.append(BootId(boot.cell_hash, again + boot.index, again + boot.seed))
    create_run(home, replace(run.manifest, boots=tuple(made)))
    for number, planned in enumerate(made):
        stored = known[number % len(known)]
        if stored.capture is not None and stored.request is not None:
            boot = _moved(stored.boot, planned)
            write_boot(boot_folder(home, planned), boot, stored.capture, stored.request)


def _moved(boot: Boot, planned: BootId) -> Boot:
    by = random.Random(planned.folder)  # noqa: S311
    samples = tuple(_shifted(item, by) if by.random() < 0.2 else item for item in boot.samples)
    return replace(boot, index=planned.index, seed=planned.seed, samples=samples)


def _shifted(item: Samples, by: random.Random) -> Samples:
    """Return a benchmark of which some readings and windows took longer."""
    values = tuple(value + by.choice((0, 0, 0, 2)) for value in item.values)
    whole = item.whole and replace(
        item.whole,
        rounds=tuple(
            replace(one, bulk=one.bulk + by.choice((0, 0, 40))) for one in item.whole.rounds
        ),
    )
    return replace(item, values=values, whole=whole)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    make(read_run(Path(sys.argv[1])), Path(sys.argv[2]), int(sys.argv[3]))
