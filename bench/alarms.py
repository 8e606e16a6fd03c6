# SPDX-License-Identifier: GPL-2.0-or-later
"""A baseline against itself, many times over, on this machine: how often the tests alarm.

    python bench/alarms.py [RUNS] [BLOCKS] [words for lsmeter run: -b stat ...]

Each run has the whole file suite unless words say less, a seed of its own, and the baseline twice.
Counted are comparisons with p at most 0.05 before Holm's correction, and those after it.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

ALPHA = 0.05


def alarms(home: Path, seed: int, blocks: int, words: list[str]) -> tuple[int, int, int]:
    """Return how many comparisons one run has, and how many alarm before and after correction."""
    asked = ["--instrument", "timed", "--machine", "here", "--setup", "running"]
    many = ["--boots", str(blocks), "--seed", str(seed), "--run-dir", str(home / f"run-{seed}")]
    command = [sys.executable, "-m", "lsmeter", "run", *asked, *many, *words]
    done = subprocess.run(
        [*command, "--format", "json"], capture_output=True, check=False, text=True
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    tests = [item["tests"] for item in json.loads(done.stdout)["comparisons"]]
    before = sum(item["p"] <= ALPHA for item in tests)
    return len(tests), before, sum(item["p_corrected"] <= ALPHA for item in tests)


def main() -> None:
    """Print a line for each run, then the shares over all of them."""
    numbers = [int(word) for word in sys.argv[1:3] if word.isdigit()]
    runs, blocks = (*numbers, *(200, 10)[len(numbers) :])
    found = []
    with tempfile.TemporaryDirectory(prefix="lsmeter-alarms-") as home:
        for seed in range(1, runs + 1):
            found.append(alarms(Path(home), seed, blocks, sys.argv[1 + len(numbers) :]))
            print(f"run {seed}: {found[-1][1]} of {found[-1][0]} alarm, {found[-1][2]} after Holm")
    total, before, after = (sum(column) for column in zip(*found, strict=True))
    wrong = sum(item[2] > 0 for item in found)
    # Comparisons of one run share its blocks, so runs are what can be counted.
    shares = [item[1] / item[0] for item in found]
    mean = sum(shares) / runs
    error = math.sqrt(sum((share - mean) ** 2 for share in shares) / max(1, runs - 1) / runs)
    print(f"{runs} runs of {blocks} blocks, {total:,} comparisons of the baseline with itself")
    print(f"before correction: {before:,}, {mean:.2%} (standard error {error:.2%}); asked: 5 %")
    print(f"after Holm: {after} comparisons, in {wrong} of {runs} runs ({wrong / runs:.1%})")


if __name__ == "__main__":
    main()
