# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures with two versions of lsmeter and says which numbers differ.

Usage: python bench/equal.py record DIR [--program LSMETER]   (about 12 minutes; needs the kernel
                                                               built:6.1-lsm-all)
       python bench/equal.py compare BEFORE AFTER

Recorded are the JSON forms of the main experiment (whole costs included), three kernels, an
attributed run, sweeps on two kernels, counts of hooks, hooks against policies, a comparison and a
history. Numbers are matched by what they are of: kernel, setup, benchmark, hook and the name of
the field. Times and texts are left out.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_SETUPS = (
    *("capability", "selinux", "selinux-permissive", "selinux-enforcing"),
    *("selinux-enforcing:domain=confined", "selinux-permissive:policy=mdp", "apparmor"),
    *("apparmor-complain", "apparmor-enforcing", "smack", "smack-enforcing", "tomoyo"),
    *("tomoyo-disabled", "tomoyo-learning", "tomoyo-enforcing"),
)
_KERNELS = ("debian:6.1", "debian:6.12", "debian:7.2")


def _each(option: str, *values: str) -> tuple[str, ...]:
    return tuple(word for value in values for word in (option, value))


# Each run by its name, with the words that make it.
RUNS: dict[str, tuple[str, ...]] = {
    "main": ("run", "experiments/main.toml"),
    "main2": ("run", "experiments/main.toml", "--quick", "--condition", "slabs=single"),
    "kernels": ("run", *_each("--kernel", *_KERNELS), *_each("--setup", "capability", "selinux")),
    "attributed": ("run", "--attribute", *_each("--setup", "capability", "selinux", "apparmor")),
    "policy": (
        *("run", "experiments/policy-cost.toml", "--kernel", "built:6.1-lsm-all"),
        *("--baseline", "capability", *_each("--setup", *_SETUPS)),
    ),
}
# What is read from the runs, or measured by a command of its own.
VIEWS: dict[str, tuple[str, ...]] = {
    **{f"rep-{name}": ("report", f"r-{name}") for name in RUNS},
    "compare": ("compare", "r-main", "r-main2"),
    "history": ("history", "r-kernels"),
    "cost": ("hooks", "cost", "r-attributed"),
    "slopes1": ("slopes", "--kernel", "built:6.1-lsm-all", "--fresh"),
    "slopes2": ("slopes", "--kernel", "debian:6.12", "--fresh"),
    "lookups": ("slopes", "--kernel", "debian:6.1", "--lookups", "selinux", "--fresh"),
    "count": ("hooks", "count", *_each("--setup", "capability", "selinux")),
}

# What says of what a number is. All is measured in one suite, on tmpfs, as root.
_NAMES = (
    *("kernel", "setup", "baseline_kernel", "baseline_setup"),
    *("id", "benchmark", "params", "operation", "counter", "hook", "function", "name", "cause"),
    *("context", "state", "title", "delay_ns", "place", "over", "adds", "depths", "value_of"),
)
_LEFT_OUT = frozenset(
    {"version", "wall_s", "created", "command", "host", "tools", "notes", "conditions"}
)


def record(home: Path, program: list[str]) -> None:
    """Measure everything into `home`."""
    home.mkdir(parents=True, exist_ok=True)
    root = Path(__file__).resolve().parents[1]
    for name, words in RUNS.items():
        found = [str(root / word) if word.startswith("experiments/") else word for word in words]
        _run(
            home,
            [*program, *found, "--fresh", "--run-dir", f"r-{name}"],
            home / f"{name}.txt",
            name,
        )
    for name, words in VIEWS.items():
        _run(home, [*program, *words, "--format", "json"], home / f"{name}.json", name)


def _run(home: Path, words: list[str], output: Path, name: str) -> None:
    start = time.monotonic()
    with output.open("wb") as file:
        done = subprocess.run(words, cwd=home, stdout=file, check=False)
    print(f"{name}: exit {done.returncode}, {time.monotonic() - start:.1f} s", flush=True)


def numbers(value: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], float]]:
    """Yield every number of a document with what it is of."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return
    if isinstance(value, int | float):
        yield place, value
    elif isinstance(value, Mapping):
        # Of the document itself nothing is told by its title.
        known = () if "format" in value else _NAMES
        named = tuple(f"{key}={value[key]}" for key in known if key in value)
        for key, item in value.items():
            if key not in _LEFT_OUT and key not in _NAMES:
                yield from numbers(item, (*place, *named, key))
    else:
        for index, item in enumerate(value):
            unnamed = not isinstance(item, Mapping) or not set(_NAMES) & item.keys()
            yield from numbers(item, (*place, str(index)) if unnamed else place)


def compare(before: Path, after: Path) -> int:
    """Print what differs; return how many numbers do."""
    worse = 0
    for name in VIEWS:
        old, new = (_read(home / f"{name}.json") for home in (before, after))
        if old is None or new is None:
            print(f"{name}: not recorded on {'both sides' if old is new else 'one side'}")
            continue
        same = [key for key in old if key in new and old[key] == new[key]]
        other = [key for key in old if key in new and old[key] != new[key]]
        gone = Counter(key[-1] for key in old if key not in new)
        added = Counter(key[-1] for key in new if key not in old)
        print(f"{name}: {len(same):,} equal, {len(other):,} differ")
        for key in other[:20]:
            print(f"  {' / '.join(key)}: {old[key]} then {new[key]}")
        for what, found in (("only before", gone), ("only after", added)):
            if found:
                print(f"  {what}: " + ", ".join(f"{key} {n:,}" for key, n in found.most_common()))
        worse += len(other)
    return worse


def _read(path: Path) -> dict[tuple[str, ...], float] | None:
    if not path.is_file() or not path.stat().st_size:
        return None
    return dict(numbers(json.loads(path.read_bytes())))


def main() -> int:
    """Do what the command line says; exit 1 when numbers differ."""
    words = sys.argv[1:]
    if len(words) >= 2 and words[0] == "record":
        record(Path(words[1]), words[3:] or [sys.executable, "-m", "lsmeter"])
        return 0
    if len(words) == 3 and words[0] == "compare":
        return 1 if compare(Path(words[1]), Path(words[2])) else 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
