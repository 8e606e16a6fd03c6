# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures lsmeter itself against its targets, and prints a table: `make benchmark`.

Run it on an otherwise idle machine: these are wall-clock times. The kernel is fetched first, so
that no download is timed.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from lsmeter.measure.results.documents import digest_of, sealed

ROOT = Path(__file__).parents[1]
MAIN = str(ROOT / "experiments/main.toml")
REPEATS = 5
MILLION = 1_000_000


def lsmeter(home: Path, *words: str) -> tuple[float, float]:
    """Run the command; return its wall time in seconds and its own peak memory in MB."""
    environment = {**os.environ, "LSMETER_DATA": str(home / "data")}
    before = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "lsmeter", *words],
        cwd=home,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    wall_s = time.monotonic() - before
    if os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit(f"lsmeter {' '.join(words)} failed")
    return wall_s, usage.ru_maxrss / 1000


def boot_times(home: Path, *words: str) -> list[float]:
    """Return the wall time of single guests, one at a time, as the run recorded it."""
    out = home / f"boots-{len(list(home.iterdir()))}"
    common = ("--setup", "capability", "--jobs", "1", "--boots", str(REPEATS), "--fresh")
    lsmeter(home, "run", *common, *words, "--run-dir", str(out))
    documents = [json.loads(path.read_bytes()) for path in out.glob("boots/*/boot.json")]
    return [document["boot"]["wall_s"] for document in documents]


@contextmanager
def busy_cores() -> Iterator[None]:
    """Keep every core busy while the block runs."""
    burn = [sys.executable, "-c", "while True: pass"]
    processes = [subprocess.Popen(burn) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def modes(home: Path, run: Path) -> dict[tuple[str, str], float]:
    """Return the estimate of every benchmark of every setup of a run."""
    words = [sys.executable, "-m", "lsmeter", "report", str(run), "--format", "json"]
    said = subprocess.run(words, cwd=home, capture_output=True, check=True).stdout
    return {(item["setup"], item["id"]): item["value"] for item in json.loads(said)["estimates"]}


def inflate(run: Path, total: int) -> None:
    """Repeat the samples of a run until it has `total` of them."""
    files = sorted(run.glob("boots/*/samples.parquet"))
    for path in files:
        table = pl.read_parquet(path)
        copies = total // len(files) // len(table) + 1
        pl.concat([table] * copies).write_parquet(path)
        boot = path.with_name("boot.json")
        document = json.loads(boot.read_bytes())
        document["files"][path.name] = digest_of(path.read_bytes())
        name, version, _ = (document.pop(key) for key in ("format", "version", "sha256"))
        boot.write_bytes(sealed(name, version, document))


def main() -> None:
    """Measure and print every target."""
    rows: list[tuple[str, str, str]] = []
    with tempfile.TemporaryDirectory(prefix="lsmeter-bench-") as directory:
        home = Path(directory)
        lsmeter(home, "run", "--setup", "capability", "--benchmark", "empty", "--boots", "1")
        empty = statistics.median(boot_times(home, "--benchmark", "empty"))
        suite = statistics.median(boot_times(home))
        rows.append(("guest with an empty suite, start to power-off", f"{empty:.2f} s", "2.0 s"))
        rows.append(("the file suite adds", f"{suite - empty:.2f} s", "3.0 s"))
        events = statistics.median(boot_times(home, "--events"))
        rows.append(("a guest with events takes, times one without", f"{events / suite:.2f}", "4"))
        wall_s, memory_mb = lsmeter(home, "run", MAIN, "--fresh", "--run-dir", "quiet")
        rows.append(("main experiment, kernel cached", f"{wall_s:.1f} s", "60 s"))
        rows.append(("peak memory of the tool", f"{memory_mb:.0f} MB", "300 MB"))
        again_s, _ = lsmeter(home, "run", MAIN, "--run-dir", "again")
        rows.append(("main experiment, all known", f"{again_s:.1f} s", "-"))
        with busy_cores():
            lsmeter(home, "run", MAIN, "--fresh", "--run-dir", "busy")
        quiet, busy = modes(home, home / "quiet"), modes(home, home / "busy")
        differing = sum(quiet[key] != busy[key] for key in quiet)
        rows.append((f"modes that differ on a busy machine, of {len(quiet)}", str(differing), "0"))
        inflate(home / "quiet", MILLION)
        for form in ("table", "html"):
            wall_s, memory_mb = lsmeter(home, "report", "quiet", "--format", form, "-o", "page")
            rows.append((f"report of a million samples as {form}", f"{wall_s:.1f} s", "5 s"))
            rows.append((f"its peak memory as {form}", f"{memory_mb:.0f} MB", "300 MB"))
    width = max(len(name) for name, _, _ in rows)
    for name, measured, target in rows:
        print(f"{name:{width}}  {measured:>9}  target {target}")


if __name__ == "__main__":
    main()
