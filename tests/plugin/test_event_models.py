# SPDX-License-Identifier: GPL-2.0-or-later
"""The models of a processor against docs/reference/events.md, written anew here."""

from __future__ import annotations

import random
import subprocess
from collections import OrderedDict
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.conftest import DEADLINE_S

PLUGIN = Path(__file__).parents[2] / "plugin"
HERE = Path(__file__).parent
MASK = (1 << 64) - 1
Step = tuple[str, int, int]


class Cache:
    """Sets of entries, the least recently used first."""

    def __init__(self, sets: int, ways: int) -> None:
        self.sets: list[OrderedDict[int, None]] = [OrderedDict() for _ in range(sets)]
        self.ways = ways

    def use(self, index: int, entry: int) -> bool:
        entries = self.sets[index % len(self.sets)]
        known = entry in entries
        entries[entry] = None
        entries.move_to_end(entry)
        if len(entries) > self.ways:
            entries.popitem(last=False)
        return known


HUGE = ((0xFFFFFFFF80000000, 0xFFFFFFFF9FFFFFFF),)


class Memory:
    """Caches and TLBs, as one access after the other finds them."""

    def __init__(self) -> None:
        self.first = {"f": Cache(64, 8), "a": Cache(64, 12)}
        self.tlbs = {"f": Cache(32, 8), "a": Cache(16, 6)}
        self.l2, self.stlb = Cache(2048, 16), Cache(128, 16)
        self.begin()

    def begin(self) -> None:
        self.lines: dict[str, set[int]] = {"f": set(), "a": set()}
        self.pages: dict[str, set[int]] = {"f": set(), "a": set()}

    def touch(self, kind: str, address: int) -> list[int]:
        line, page = address >> 6, address >> 12
        new = [line not in self.lines[kind], page not in self.pages[kind]]
        self.lines[kind].add(line)
        self.pages[kind].add(page)
        huge = any(first <= address <= last for first, last in HUGE)
        number = address >> 21 if huge else page
        tlb = not self.tlbs[kind].use(number, number << 1 | huge)
        stlb = tlb and not self.stlb.use(number, number << 1 | huge)
        miss = not self.first[kind].use(line, line)
        l2 = miss and not self.l2.use(line, line)
        if l2:
            self.l2.use(line ^ 1, line ^ 1)
        code = kind == "f"
        sides = [*(new if code else (0, 0)), *((0, 0) if code else new)]
        misses = [miss and code, miss and not code, l2, tlb and code, tlb and not code, stlb]
        return [int(item) for item in (*sides, *misses)]


class Tage:
    """The predictor of conditional branches."""

    lengths = (5, 12, 27, 60)

    def __init__(self) -> None:
        self.base = [1] * 8192
        self.tables = [[[0, 0, 0] for _ in range(1024)] for _ in self.lengths]
        self.outcomes: list[bool] = []  # the newest last

    def fold(self, length: int, bits: int) -> int:
        newest = [int(item) for item in reversed(self.outcomes[-length:])]
        found = 0
        for start in range(0, len(newest), bits):
            found ^= sum(bit << at for at, bit in enumerate(newest[start : start + bits]))
        return found

    def entry(self, table: int, a: int) -> tuple[list[int], int]:
        length = self.lengths[table]
        index = (a ^ a >> 10 ^ table << 3 ^ self.fold(length, 10)) % 1024
        tag = (a ^ a >> 7 ^ self.fold(length, 9) << 1 ^ self.fold(length, 11)) & 0x7FF | 0x800
        return self.tables[table][index], tag

    def foresees(self, a: int, *, taken: bool) -> bool:
        entries = [self.entry(table, a) for table in range(4)]
        fitting = [table for table in range(4) if entries[table][0][0] == entries[table][1]]
        at = (a ^ a >> 13) % 8192
        said = [self.base[at] >= 2, *(entries[table][0][1] >= 0 for table in fitting)]
        right = said[-1] == taken
        if fitting:
            used = entries[fitting[-1]][0]
            if said[-1] != said[-2]:
                used[2] = min(3, used[2] + 1) if right else max(0, used[2] - 1)
            used[1] = min(3, used[1] + 1) if taken else max(-4, used[1] - 1)
        else:
            self.base[at] = min(3, self.base[at] + 1) if taken else max(0, self.base[at] - 1)
        longer = entries[(fitting[-1] + 1 if fitting else 0) :]
        free = [(entry, tag) for entry, tag in longer if not entry[2]]
        if not right and free:
            free[0][0][:] = [free[0][1], 0 if taken else -1, 0]
        elif not right:
            for entry, _ in longer:
                entry[2] -= 1
        self.outcomes = [*self.outcomes[-63:], taken]
        return right


class Targets:
    """The predictor of returns and of indirect targets."""

    def __init__(self) -> None:
        self.ring, self.top, self.path = [0] * 16, 0, 0
        self.last: dict[int, tuple[int, int]] = {}
        self.by_path: dict[int, tuple[int, int]] = {}

    def call(self, back: int) -> None:
        self.top = (self.top + 1) % 16
        self.ring[self.top] = back

    def foresees_return(self, to: int) -> bool:
        said, self.ring[self.top] = self.ring[self.top], 0
        self.top = (self.top - 1) % 16
        return said == to

    def foresees(self, a: int, to: int) -> bool:
        plain = (a ^ a >> 10) % 1024
        pathed = (a ^ a >> 10 ^ self.path ^ self.path >> 10) % 1024
        known = self.by_path.get(pathed, (0, 0))
        if known[0] != a:
            known = self.last.get(plain, (0, 0))
        self.last[plain] = self.by_path[pathed] = (a, to)
        self.path = (self.path << 5 ^ to >> 2) & 0xFFFFFFFF
        return known == (a, to)


def expected(steps: Iterable[Step]) -> list[list[int]]:
    memory, tage, targets = Memory(), Tage(), Targets()
    found = []
    for kind, first, second in steps:
        missed, counts = False, [0] * 10
        if kind in "fa":
            counts = memory.touch(kind, first)
        elif kind == "b":
            missed = not tage.foresees(first, taken=bool(second))
        elif kind == "t":
            missed = not targets.foresees(first, second)
        elif kind == "c":
            targets.call(first)
        elif kind == "r":
            missed = not targets.foresees_return(first)
        else:
            memory.begin()
        found.append([int(missed), *counts])
    return found


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "models"
    sources = [PLUGIN / "events" / f"{name}.c" for name in ("memory", "cache", "distinct")]
    sources += [PLUGIN / "events/predictor.c", HERE / "event_models.c"]
    flags = ("-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined,address")
    words = ["gcc", *flags, f"-I{PLUGIN}", "-o", str(path), *map(str, sources)]
    subprocess.run(words, check=True)
    return path


def measured(program: Path, steps: Iterable[Step]) -> list[list[int]]:
    text = "".join(f"{kind} {first:x} {second:x}\n" for kind, first, second in steps)
    done = subprocess.run(
        [program], input=text, capture_output=True, text=True, timeout=DEADLINE_S, check=True
    )
    return [[int(word) for word in line.split()] for line in done.stdout.splitlines()]


def accesses(chance: random.Random) -> list[Step]:
    """Draw code and data, of pages of both sizes, often the same and sometimes far away."""
    bases = (0x400000, 0x7FFF00000000, 0xFFFF888003000000, 0xFFFFC90000000000, 0xFFFFFFFF81000000)
    steps: list[Step] = []
    for _ in range(10_000):
        base, reach = chance.choice(bases), chance.choice((1 << 13, 1 << 17, 1 << 24))
        steps.append((chance.choice("fa"), (base + chance.randrange(reach)) & MASK, 0))
        if chance.random() < 0.001:
            steps.append(("n", 0, 0))
    return steps


def branches(chance: random.Random) -> list[Step]:
    """Draw branches that follow patterns, calls and returns, and targets that alternate."""
    steps: list[Step] = []
    places = [0xFFFFFFFF81000000 + chance.randrange(1 << 22) for _ in range(60)]
    for turn in range(6_000):
        place = chance.choice(places[: 3 + turn // 100 % 57])
        period = 2 + place % 7
        taken = turn % period == 0 if place % 3 else chance.random() < 0.5
        steps.append(("b", place, int(taken)))
        if place % 5 == 0:
            steps.append(("t", place + 9, places[turn % (1 + place % 4)]))
        if place % 4 == 0:
            steps.append(("c", place, 0))
        if place % 4 == 1:
            steps.append(("r", chance.choice(places), 0))
    return steps


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("draw", [accesses, branches])
def test_the_models_are_as_they_are_described(program: Path, draw: object, seed: int) -> None:
    steps = draw(random.Random(seed))  # type: ignore[operator]
    found = measured(program, steps)
    known = expected(steps)
    assert sum(row[0] for row in known) or sum(sum(row) for row in known)
    for number, (one, other) in enumerate(zip(found, known, strict=True)):
        assert one == other, (number, steps[number])


def test_a_pattern_is_learned(program: Path) -> None:
    """Taken once in four: a history of 5 outcomes tells all of it."""
    steps: list[Step] = [("b", 0x1000, int(turn % 4 == 0)) for turn in range(2_000)]
    missed = [row[0] for row in measured(program, steps)]
    assert sum(missed[:200]) > 0
    assert sum(missed[-1_000:]) == 0


def test_a_set_that_is_full_says_so(program: Path) -> None:
    """Beyond the limit nothing more is distinct, and nothing is written where it should not be."""
    steps: list[Step] = [("a", line << 6, 0) for line in range(60_000)]
    distinct = sum(row[3] for row in measured(program, steps))
    assert distinct == 49_152
