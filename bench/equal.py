# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures with two versions of lsmeter and says which numbers differ.

Usage: python bench/equal.py record DIR [--program LSMETER] [--only NAME,...] [--timed RUN]
       python bench/equal.py compare BEFORE AFTER

Recorded are the JSON forms of the main experiment (whole costs included), three kernels, an
attributed run, sweeps on two kernels, counts of hooks, hooks against policies, suites, events, a
web server, a comparison, a gate, a history, an index and an estimate: with the kernel
built:6.1-lsm-all. Numbers are matched by what they are of: kernel, setup, benchmark, hook and the
name of the field. Times and texts are left out. A timed run has other numbers each time:
both sides report RUN, which was made before. The main experiment in text formats and a gate's are
compared by the numbers of lines that are alike but for these.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
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
    "suites": ("run", "experiments/suites.toml", *_each("--setup", "capability", "selinux")),
    "events": (
        *("run", "experiments/events.toml", "--kernel", "debian:6.1"),
        *_each("--setup", "capability", "selinux"),
    ),
    "web": ("run", "--suite", "web", *_each("--setup", "capability", "selinux-enforcing")),
}
_TIMED = "timed"
_FORMATS = ("text", "markdown", "csv", "html", "bmf", "kcidb", "table")
_PROFILE = "tests/data/profiles/strace-c-f.txt"
# What is read from the runs, or measured by a command of its own.
VIEWS: dict[str, tuple[str, ...]] = {
    **{f"rep-{name}": ("report", f"r-{name}") for name in RUNS},
    "compare": ("compare", "r-main", "r-main2"),
    "gate": ("gate", "r-main", "r-main2"),
    "index": ("index", "r-suites"),
    "estimate": ("estimate", "--profile", _PROFILE, "--seconds", "10", "r-suites"),
    "history": ("history", "r-kernels"),
    "cost": ("hooks", "cost", "r-attributed"),
    "slopes1": ("slopes", "--kernel", "built:6.1-lsm-all", "--fresh"),
    "slopes2": ("slopes", "--kernel", "debian:6.12", "--fresh"),
    "lookups": ("slopes", "--kernel", "debian:6.1", "--lookups", "selinux", "--fresh"),
    "count": ("hooks", "count", *_each("--setup", "capability", "selinux")),
    **{f"main-{form}": ("report", "r-main", "--format", form) for form in _FORMATS},
    "gate-junit": ("gate", "r-main", "r-main2", "--format", "junit"),
    "gate-ktap": ("gate", "r-main", "r-main2", "--format", "ktap"),
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

_NUMBER = re.compile(r"(?<![\w.,])[-\u2212+]?\d[\d,]*(?:\.\d+)?(?![\w])")
# When a run was made and where, its boots' digests, what made it, how much memory was there.
_MADE = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\S*|(?<![<\w])/[\w.+-]+/\S*|\b[0-9a-f]{12,}\b|(made by:|memory_mib\b).*"
)


def record(
    home: Path, program: list[str], only: frozenset[str] = frozenset(), timed: Path | None = None
) -> None:
    """Measure everything, or what is named, into `home`; report a timed run that is there."""
    home.mkdir(parents=True, exist_ok=True)
    stored = {_TIMED: ("report", str(timed.resolve()))} if timed else {}
    for name, words in (RUNS | VIEWS | stored).items():
        if only and name not in only:
            continue
        more: tuple[str, ...] = () if "--format" in words else ("--format", "json")
        if name in RUNS:
            more = ("--fresh", "--run-dir", f"r-{name}")
        form = "json" if "json" in more else "txt"
        command = [*program, *map(_placed, words), *more]
        _run(home, command, home / f"{name}.{form}", name)


def _placed(word: str) -> str:
    own = word.startswith(("experiments/", "tests/"))
    return str(Path(__file__).resolve().parents[1] / word) if own else word


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
    for name in (*VIEWS, _TIMED):
        old, new = (_read(home / name) for home in (before, after))
        if old is None or new is None:
            print(f"{name}: not recorded on {'both sides' if old is new else 'one side'}")
            continue
        same = [key for key in old if key in new and old[key] == new[key]]
        other = [key for key in old if key in new and old[key] != new[key]]
        print(f"{name}: {len(same):,} equal, {len(other):,} differ")
        for key in other[:20]:
            print(f"  {' / '.join(key)}: {old[key]} then {new[key]}")
        _summarize("equal", same)
        _summarize("differ", other)
        _summarize("only before", old.keys() - new.keys())
        _summarize("only after", new.keys() - old.keys())
        worse += len(other)
    return worse


def _summarize(what: str, keys: Iterable[tuple[str, ...]]) -> None:
    """Print how many numbers there are of each field."""
    found = Counter(" ".join(word for word in key[-2:] if "=" not in word) for key in keys)
    if found:
        print(f"  {what}: " + ", ".join(f"{key} {n:,}" for key, n in found.most_common()))


def _read(stem: Path) -> dict[tuple[str, ...], float] | None:
    document, text = (stem.with_name(f"{stem.name}.{form}") for form in ("json", "txt"))
    if document.is_file() and document.stat().st_size:
        return dict(numbers(json.loads(document.read_bytes())))
    if text.is_file() and text.stat().st_size:
        return dict(_in_text(text.read_text()))
    return None


def _in_text(text: str) -> Iterator[tuple[tuple[str, ...], float]]:
    """Yield every number of a text with its line, and how many lines like it came before."""
    seen: Counter[str] = Counter()
    for line in text.splitlines():
        words = _MADE.sub("", line)
        shape = _NUMBER.sub("#", words)
        seen[shape] += 1
        for index, word in enumerate(_NUMBER.findall(words)):
            yield (
                (shape[:200], str(seen[shape]), str(index)),
                float(word.replace(",", "").replace("\u2212", "-")),
            )


def main() -> int:
    """Do what the command line says; exit 1 when numbers differ."""
    parser = argparse.ArgumentParser(description="Measure with two versions and compare.")
    commands = parser.add_subparsers(dest="command", required=True)
    measure = commands.add_parser("record")
    measure.add_argument("home", type=Path)
    measure.add_argument("--program", default=f"{sys.executable} -m lsmeter")
    measure.add_argument("--only", default="", help="runs and views, separated by commas")
    measure.add_argument("--timed", type=Path, metavar="RUN", help="a timed run to report")
    both = commands.add_parser("compare")
    both.add_argument("before", type=Path)
    both.add_argument("after", type=Path)
    found = parser.parse_args()
    if found.command == "compare":
        return 1 if compare(found.before, found.after) else 0
    only = frozenset(filter(None, found.only.split(",")))
    record(found.home, found.program.split(), only, found.timed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
