# SPDX-License-Identifier: GPL-2.0-or-later
"""What guests reported of their policies: enforcement checks, states of modules, one-off costs.

All of it comes from guests, which are not to be trusted: texts are cut, and what is no number
is left out. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lsmeter.core.model import Benchmark, BenchmarkStatus, Boot, Place, Setup
from lsmeter.core.model.setup import EnforcementCheck, ordered
from lsmeter.guest.conclude import check_problems
from lsmeter.measure.results.manifest import Manifest, ManifestCell

MAX_MESSAGE = 400  # characters of the kernel's message that a report shows
_MAX_WORD = 20
_MAX_DIGITS = 18

# Numbers that only grow: what counts is how far, around a benchmark. Those of SELinux's
# avc/cache_stats (security/selinux/avc.c), and by their ending those of kernel/inject-lsm; all
# others are gauges.
COUNTERS = frozenset({"lookups", "hits", "misses", "allocations", "reclaims", "frees"})
_COUNTER_ENDINGS = ("_calls", "_times", "_insns")

BOOT_FACT = "boot.insns"
BOOT_TITLE = "guest boot"


@dataclass(frozen=True)
class CheckOutcome:
    """The result of one enforcement check in one cell.

    happened and before are denied, allowed or failed; before is "" for what did not exist before
    there was a policy, happened is "" where no guest tried. error is the errno's name. held
    counts the boots in which the check passed, of all that reported anything.
    """

    place: Place
    name: str
    access: str
    path: str
    denied: bool  # what had to happen
    happened: str
    error: str
    before: str
    message: str  # the kernel's own line on the denial, "" for none
    held: int
    boots: int


@dataclass(frozen=True)
class Counter:
    """How far a number that only grows went around one benchmark."""

    name: str
    difference: int


@dataclass(frozen=True)
class Gauge:
    """A number that goes up and down, before and after one benchmark."""

    name: str
    before: int | None
    after: int


@dataclass(frozen=True)
class StateChange:
    """What a module's numbers did around one benchmark in one boot.

    readings are all of the benchmark, those to warm up too: the counters moved in them, and in
    what prepares and undoes them.
    """

    place: Place
    benchmark: Benchmark
    state: str
    boot: int
    readings: int
    counters: tuple[Counter, ...]
    gauges: tuple[Gauge, ...]


@dataclass(frozen=True)
class OneOffCost:
    """What a guest paid once: a step of its setup, or its boot; over the boots of a cell.

    Guest time as instructions: waiting counts as well.
    """

    place: Place
    title: str
    insns: int  # in the boot in the middle
    low_insns: int
    high_insns: int
    boots: int


@dataclass(frozen=True)
class Evidence:
    """All of it that a run has."""

    checks: tuple[CheckOutcome, ...]
    states: tuple[StateChange, ...]
    one_off: tuple[OneOffCost, ...]


def gather(manifest: Manifest, cells: Sequence[tuple[ManifestCell, tuple[Boot, ...]]]) -> Evidence:
    """Return what the boots of each cell reported.

    One-off costs are shown where any setup has something to load or to label.
    """
    setups = {setup.name: setup for setup in manifest.setups}
    known = {(item.suite, item.id): item for item in manifest.benchmarks}
    titled = any(step.title for setup in manifest.setups for step in setup.steps)
    warmup = manifest.sampling.warmup
    checks: list[CheckOutcome] = []
    states: list[StateChange] = []
    one_off: list[OneOffCost] = []
    for cell, boots in cells:
        setup, usable = setups[cell.place.setup], [boot for boot in boots if boot.status.usable]
        reported = [facts for boot in boots if (facts := dict(boot.facts))]
        checks += (_outcome(check, cell.place, reported) for check in setup.checks)
        states += (item for boot in usable for item in _changes(cell.place, boot, known, warmup))
        one_off += _one_off_costs(setup, cell.place, usable) if titled else ()
    return Evidence(tuple(checks), tuple(states), tuple(one_off))


def _outcome(
    check: EnforcementCheck, place: Place, reported: Sequence[dict[str, str]]
) -> CheckOutcome:
    failed = [facts for facts in reported if check_problems(check, facts)]
    # A boot in which it failed is what a reader has to see.
    facts = (*failed, *reported, {})[0]
    key = f"proof.{check.name}"
    error = facts.get(f"{key}.errno", "")
    return CheckOutcome(
        place=place,
        name=check.name,
        access=check.access,
        path=check.path,
        denied=check.denied,
        happened=_cut(facts.get(key, ""), _MAX_WORD),
        error="" if error == "0" else _cut(error, _MAX_WORD),
        before=_cut(facts.get(f"{key}.before", ""), _MAX_WORD),
        message=_cut(facts.get(f"{key}.message", ""), MAX_MESSAGE),
        held=len(reported) - len(failed),
        boots=len(reported),
    )


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _changes(
    place: Place, boot: Boot, known: Mapping[tuple[str, str], Benchmark], warmup: int
) -> Iterator[StateChange]:
    """Return what the states did around each benchmark of a boot that ended well."""
    counts = {item.benchmark: len(item.values) for item in boot.samples}
    good = {item.benchmark for item in boot.samples if item.status is BenchmarkStatus.OK}
    for reading in boot.states:
        benchmark = known.get((place.suite, reading.benchmark))
        readings = counts.get(reading.benchmark, 0)
        if benchmark is None or not readings or reading.benchmark not in good:
            continue
        before = dict(reading.before)
        grow = [n for n, _ in reading.after if n in COUNTERS or n.endswith(_COUNTER_ENDINGS)]
        yield StateChange(
            place,
            benchmark,
            _cut(reading.state, _MAX_WORD),
            boot.index,
            readings + warmup,
            tuple(Counter(n, v - before[n]) for n, v in reading.after if n in grow and n in before),
            tuple(Gauge(n, before.get(n), v) for n, v in reading.after if n not in grow),
        )


def _one_off_costs(setup: Setup, place: Place, boots: Iterable[Boot]) -> Iterator[OneOffCost]:
    """Return what the guests of a cell paid once: each step with a title, and the boot."""
    reported = [dict(boot.facts) for boot in boots]
    steps = enumerate(ordered(setup.steps, setup.checks), 1)
    wanted = {f"step.{number}": step.title for number, step in steps if step.title}
    for fact, title in {**wanted, BOOT_FACT: BOOT_TITLE}.items():
        texts = (facts.get(fact, "") for facts in reported)
        told = [t for t in texts if t.isascii() and t.isdigit() and len(t) <= _MAX_DIGITS]
        found = sorted(map(int, told))
        if found:
            middle = found[(len(found) - 1) // 2]
            yield OneOffCost(place, title, middle, found[0], found[-1], len(found))
