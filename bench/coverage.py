# SPDX-License-Identifier: GPL-2.0-or-later
"""How often the interval of a whole cost holds the mean of independent runs, by benchmark.

    python bench/coverage.py [RUNS] [words for lsmeter run: -s apparmor -b 'open*' ...]

Each run has a seed of its own. Without words: SELinux on creat, mkdir, symlink, open and rename.
Exit code 1 if a benchmark's intervals hold the mean in fewer than 97 % of the runs.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, median, stdev
from typing import NamedTuple

LEAST = 0.97
OPERATIONS = ("creat", "mkdir", "symlink", "open", "rename")
WORDS = ("-s", "selinux", *(word for name in OPERATIONS for word in ("-b", f"{name} depth=1")))


class Whole(NamedTuple):
    """A difference of whole costs with its 99 % interval, in instructions."""

    insns: float
    low: float
    high: float


def measured(home: Path, seed: int, words: Sequence[str]) -> dict[str, Whole]:
    """Return the whole difference of each benchmark under each setup of one run."""
    run = [
        "run",
        "--seed",
        str(1000 * seed),
        "--run-dir",
        str(home / f"run-{seed}"),
        "--format",
        "json",
    ]
    command = [sys.executable, "-m", "lsmeter", *run, *words]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return {
        f"{item['setup']} {item['id']}": Whole(
            *(whole[key] for key in ("difference", "low", "high"))
        )
        for item in json.loads(done.stdout)["comparisons"]
        if (whole := item["whole"]) is not None and not item["control"]
    }


def main() -> None:
    """Measure, and print a line for each benchmark."""
    runs, words = (int(sys.argv[1]), sys.argv[2:]) if len(sys.argv) > 1 else (16, [])
    found: defaultdict[str, list[Whole]] = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="lsmeter-coverage-") as home:
        for seed in range(1, runs + 1):
            for name, whole in measured(Path(home), seed, words or WORDS).items():
                found[name].append(whole)
            print(f"run {seed} of {runs}", file=sys.stderr)
    print("| benchmark | mean of the runs | deviation | ± of a run | holds the mean |")
    print("| --- | ---: | ---: | ---: | ---: |")
    narrow = False
    for name, wholes in found.items():
        mean = fmean(item.insns for item in wholes)
        half = median((item.high - item.low) / 2 for item in wholes)
        held = sum(item.low <= mean <= item.high for item in wholes)
        spread = stdev(item.insns for item in wholes) if len(wholes) > 1 else 0.0
        numbers = f"{mean:+,.1f} | {spread:,.1f} | {half:,.1f} | {held} of {len(wholes)}"
        print(f"| {name} | {numbers} |")
        narrow |= held < LEAST * len(wholes)
    raise SystemExit(narrow)


if __name__ == "__main__":
    main()
