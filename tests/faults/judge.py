# SPDX-License-Identifier: GPL-2.0-or-later
"""What is wrong after a fault: lost results, wrong numbers, tracebacks, hangs, leftovers."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, combinations
from pathlib import Path
from typing import Any

from tests.faults.case import Case
from tests.faults.field import REPORT, Ended, Field

Numbers = dict[tuple[str, str, str], list[dict[str, Any]]]

_CRASH = re.compile(r"Traceback|panicked|Event loop|Exception ignored|core dumped|internal error")
# What moves a cursor or turns the direction of writing; a newline and a tab may stand.
_RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class Defect(StrEnum):
    """What a campaign counts; all of them have to be 0."""

    ENDING = "another ending"
    LOST = "lost results"
    WRONG = "wrong numbers"
    TRACEBACK = "tracebacks"
    HANG = "hangs"
    LEFTOVER = "leftovers"


@dataclass(frozen=True)
class Truth:
    """Every number that a report may hold, by part, setup and benchmark; and a sound field."""

    numbers: Numbers
    whole: list[dict[str, Any]]
    home: Path

    def plant(self, home: Path) -> Field:
        """Make a field with the kernel and nothing measured."""
        for name in ("tmp", "user", "cache"):
            (home / name).mkdir(parents=True)
        shutil.copy(self.home / "kernel", home)
        return Field(home)

    def plant_measured(self, field: Field) -> None:
        """Give a field the run and the store of a finished main command."""
        for name in ("run", "data"):
            shutil.copytree(self.home / name, field.home / name, dirs_exist_ok=True)


def find_truth(home: Path, write_kernel: Callable[[Path], object]) -> Truth:
    """Measure without a fault: with all boots, and with any of them left."""
    home.mkdir()
    write_kernel(home / "kernel")
    field = Truth({}, [], home).plant(home / "field")
    _good(field.main())
    whole = _entries(field)
    numbers: Numbers = {}
    boots = sorted((field.run_dir / "boots").iterdir())
    aside = home / "aside"
    aside.mkdir()
    for away in chain.from_iterable(combinations(boots, some) for some in range(len(boots))):
        for boot in away:
            boot.rename(aside / boot.name)
        for entry in _entries(field):
            numbers.setdefault(_key(entry), []).append(entry)
        for boot in away:
            (aside / boot.name).rename(boot)
    for name in ("run", "data"):
        shutil.move(field.home / name, home / name)
    return Truth(numbers, whole, home)


def defects(case: Case, ended: Ended, field: Field, truth: Truth) -> Iterator[tuple[Defect, str]]:
    """Yield all that is wrong with the ending of a case."""
    yield from _told(case, ended)
    if case.sound and (field.run_dir / "manifest.json").is_file():
        yield from _numbers(field, truth)
    if case.recovers:
        field.mend()
        again = field.main()
        yield from _crashed(again)
        if again.code != 0 or _entries(field) != truth.whole:
            yield Defect.LOST, f"the mended command ended with {again.code}: {again.text[-2000:]}"
        if (known := again.err.count("from the store")) < case.kept:
            yield Defect.LOST, f"{known} boots were known, not {case.kept}: {again.err}"
    if left := [path.name for path in field.temporary.iterdir()]:
        yield Defect.LEFTOVER, f"temporary files: {left}"
    if running := field.processes():
        yield Defect.LEFTOVER, f"processes: {running}"
    if str(field.home) in Path("/proc/mounts").read_text():
        yield Defect.LEFTOVER, "a mount"
    if case.recovers and (left := [str(path) for path in _hidden(field)]):
        yield Defect.LEFTOVER, f"partial files: {left}"


def _told(case: Case, ended: Ended) -> Iterator[tuple[Defect, str]]:
    if ended.code is None:
        yield Defect.HANG, " ".join(ended.words)
    elif ended.code not in case.codes:
        yield Defect.ENDING, f"{ended.code}, not {sorted(case.codes)}: {ended.text[-2000:]}"
    elif case.says.lower() not in " ".join(ended.text.lower().split()):
        yield Defect.ENDING, f"'{case.says}' is not in: {ended.text[-2000:]}"
    yield from _crashed(ended)


def _crashed(ended: Ended) -> Iterator[tuple[Defect, str]]:
    if _CRASH.search(ended.text):
        yield Defect.TRACEBACK, ended.text[-3000:]
    if found := _RAW.search(ended.text):
        yield Defect.ENDING, f"{found[0]!r} reached the output: {ended.text!r:.2000}"


def _numbers(field: Field, truth: Truth) -> Iterator[tuple[Defect, str]]:
    """Hold what a report says now against the truth: equal, or absent and told."""
    done = field(*REPORT)
    yield from _crashed(done)
    if done.code is None:
        yield Defect.HANG, "report"
        return
    try:
        document = json.loads(done.out)
    except ValueError:
        if done.code in (0, 1) or "error:" not in done.err:
            yield Defect.LOST, f"no report, and no reason: {done.code} {done.text[-1000:]}"
        return
    found = [*document["estimates"], *document["comparisons"]]
    for entry in found:
        if entry not in truth.numbers.get(_key(entry), ()):
            yield Defect.WRONG, json.dumps(entry)[:1500]
    if len(found) < len(truth.whole) and not (document["problems"] or document["notes"]):
        yield Defect.LOST, "numbers are absent, and no problem is named"


def _entries(field: Field) -> list[dict[str, Any]]:
    done = field(*REPORT)
    try:
        document = json.loads(done.out)
    except ValueError:
        return []
    return [*document["estimates"], *document["comparisons"]]


def _key(entry: dict[str, Any]) -> tuple[str, str, str]:
    part = "comparison" if "overhead" in entry else "estimate"
    return part, entry["setup"], entry["id"]


def _hidden(field: Field) -> Iterator[Path]:
    for home in (field.run_dir, field.home / "data", field.home / "cache"):
        yield from (path for path in home.rglob(".*") if not path.name.endswith(".lock"))


def _good(ended: Ended) -> None:
    assert ended.code == 0, ended.text
