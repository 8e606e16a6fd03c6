# SPDX-License-Identifier: GPL-2.0-or-later
"""What guests showed of their policies: outcomes of proofs, states of modules, one-off costs.

All of it comes from guests, which are not to be trusted: texts are cut, and what is no number
is left out. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lsmeter.model import Benchmark, BenchmarkStatus, BootStatus, Setup
from lsmeter.policy import Proof, StateReading, ordered
from lsmeter.verify import proof_problems

if TYPE_CHECKING:  # the commands' start needs no tables
    from lsmeter.results.boots import StoredBoot
    from lsmeter.results.manifest import Manifest, ManifestCell

USABLE = (BootStatus.OK, BootStatus.PARTIAL)  # boots that give numbers

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
class ProofOutcome:
    """What became of one proof in one cell.

    happened and before are denied, allowed or failed; before is "" for what did not exist before
    there was a policy, happened is "" where no guest tried. error is the errno's name. held
    counts the boots in which the proof held, of all that reported anything.
    """

    kernel: str
    setup: str
    filesystem: str
    user: str
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

    kernel: str
    setup: str
    filesystem: str
    user: str
    benchmark: Benchmark
    state: str
    boot: int
    readings: int
    counters: tuple[Counter, ...]
    gauges: tuple[Gauge, ...]


@dataclass(frozen=True)
class OneOffCost:
    """What a guest paid once: a step of its setup, or its boot; over the boots of a cell.

    Guest time, told in instructions: what it waited for counts as well.
    """

    kernel: str
    setup: str
    filesystem: str
    user: str
    title: str
    insns: int  # in the boot in the middle
    low_insns: int
    high_insns: int
    boots: int


@dataclass(frozen=True)
class Evidence:
    """All of it that a run has."""

    proofs: tuple[ProofOutcome, ...]
    states: tuple[StateChange, ...]
    one_off: tuple[OneOffCost, ...]


def gather(
    manifest: Manifest, cells: Sequence[tuple[ManifestCell, tuple[StoredBoot, ...]]]
) -> Evidence:
    """Return what the boots of each cell showed.

    One-off costs are told where a setup has anything to load or to label.
    """
    setups = {setup.name: setup for setup in manifest.setups}
    known = {(item.suite, item.id): item for item in manifest.benchmarks}
    titled = any(step.title for setup in manifest.setups for step in setup.steps)
    proofs: list[ProofOutcome] = []
    states: list[StateChange] = []
    one_off: list[OneOffCost] = []
    for cell, boots in cells:
        setup = setups[cell.setup]
        usable = [stored for stored in boots if stored.boot.status in USABLE]
        benchmarks = {name: item for (suite, name), item in known.items() if suite == cell.suite}
        proofs += proof_outcomes(setup, cell, boots)
        states += state_changes(cell, usable, benchmarks, manifest.sampling.warmup)
        one_off += one_off_costs(setup, cell, usable) if titled else ()
    return Evidence(tuple(proofs), tuple(states), tuple(one_off))


def proof_outcomes(
    setup: Setup, cell: ManifestCell, boots: Iterable[StoredBoot]
) -> tuple[ProofOutcome, ...]:
    """Return what became of each of the setup's proofs in the boots of a cell."""
    told = [facts for stored in boots if (facts := dict(stored.boot.facts))]
    return tuple(_outcome(proof, cell, told) for proof in setup.proofs)


def _outcome(proof: Proof, cell: ManifestCell, told: list[dict[str, str]]) -> ProofOutcome:
    held = [facts for facts in told if not proof_problems(proof, facts)]
    # A boot in which it did not hold is what a reader has to see.
    failed = [facts for facts in told if facts not in held]
    facts = (failed or held or [{}])[0]
    key = f"proof.{proof.name}"
    error = facts.get(f"{key}.errno", "")
    return ProofOutcome(
        kernel=cell.kernel,
        setup=cell.setup,
        filesystem=cell.filesystem,
        user=cell.user,
        name=proof.name,
        access=proof.access,
        path=proof.path,
        denied=proof.denied,
        happened=_cut(facts.get(key, ""), _MAX_WORD),
        error="" if error == "0" else _cut(error, _MAX_WORD),
        before=_cut(facts.get(f"{key}.before", ""), _MAX_WORD),
        message=_cut(facts.get(f"{key}.message", ""), MAX_MESSAGE),
        held=len(held),
        boots=len(told),
    )


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "\N{HORIZONTAL ELLIPSIS}"


def state_changes(
    cell: ManifestCell,
    boots: Iterable[StoredBoot],
    benchmarks: Mapping[str, Benchmark],
    warmup: int,
) -> Iterator[StateChange]:
    """Return what the states did around each benchmark that ended well, boot by boot."""
    for stored in boots:
        counts = dict(stored.table["benchmark"].value_counts().rows())
        good = {
            samples.benchmark
            for samples in stored.boot.samples
            if samples.status is BenchmarkStatus.OK
        }
        for reading in stored.boot.states:
            readings = counts.get(reading.benchmark, 0)
            benchmark = benchmarks.get(reading.benchmark)
            if benchmark is None or not readings or reading.benchmark not in good:
                continue
            counters, gauges = _moved(reading)
            yield StateChange(
                kernel=cell.kernel,
                setup=cell.setup,
                filesystem=cell.filesystem,
                user=cell.user,
                benchmark=benchmark,
                state=_cut(reading.state, _MAX_WORD),
                boot=stored.boot.index,
                readings=readings + warmup,
                counters=counters,
                gauges=gauges,
            )


def _moved(reading: StateReading) -> tuple[tuple[Counter, ...], tuple[Gauge, ...]]:
    before = dict(reading.before)
    counters = tuple(
        Counter(name, after - before[name])
        for name, after in reading.after
        if _only_grows(name) and name in before
    )
    gauges = tuple(
        Gauge(name, before.get(name), after)
        for name, after in reading.after
        if not _only_grows(name)
    )
    return counters, gauges


def _only_grows(name: str) -> bool:
    return name in COUNTERS or name.endswith(_COUNTER_ENDINGS)


def one_off_costs(
    setup: Setup, cell: ManifestCell, boots: Iterable[StoredBoot]
) -> tuple[OneOffCost, ...]:
    """Return what the guests of a cell paid once: each step with a title, and the boot."""
    told = [dict(stored.boot.facts) for stored in boots]
    wanted = [
        (f"step.{number}", step.title)
        for number, step in enumerate(ordered(setup.steps, setup.proofs), 1)
        if step.title
    ]
    found = []
    for fact, title in (*wanted, (BOOT_FACT, BOOT_TITLE)):
        values = sorted(
            int(text)
            for facts in told
            if (text := facts.get(fact, "")).isascii()
            and text.isdigit()
            and len(text) <= _MAX_DIGITS
        )
        if values:
            found.append(
                OneOffCost(
                    kernel=cell.kernel,
                    setup=cell.setup,
                    filesystem=cell.filesystem,
                    user=cell.user,
                    title=title,
                    insns=values[(len(values) - 1) // 2],
                    low_insns=values[0],
                    high_insns=values[-1],
                    boots=len(values),
                )
            )
    return tuple(found)
