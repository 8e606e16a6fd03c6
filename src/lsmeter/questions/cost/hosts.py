# SPDX-License-Identifier: GPL-2.0-or-later
"""What machines were like while they were measured as they run; pure.

The probe says it before and after each block (`host.*`, `host.after.*`), and how its clock went
(`timing.*`). All of it is text from outside.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator, Mapping, Sequence

from lsmeter.core.groups import grouped
from lsmeter.core.model import Boot
from lsmeter.core.printable import printable
from lsmeter.measure.instruments import find_instrument
from lsmeter.measure.instruments.timed import HUNG, LOST
from lsmeter.measure.results.directory import RunData

_OF_HOST = ("host.", "timing.")
_BEFORE, _AFTER = "host.", "host.after."
# What must not change while a run goes on, with how people call it.
_STEADY = {
    "machine": "the machine",
    "cpu": "the processor",
    "microcode": "the microcode",
    "kernel": "the kernel",
    "build": "the kernel's build",
    "boot_id": "the boot",
    "lsm": "the list of security modules",
    "governor": "the frequency governor",
    "turbo": "turbo",
    "no_turbo": "turbo",
    "smt": "SMT",
    "online": "the CPUs that are on line",
    "clocksource": "the kernel's clock source",
    "aslr": "address space randomisation",
    "bpf_jit": "the BPF compiler",
}
# What facts say that a boot had, and what of it a reader has to know.
_TOLD = {
    LOST: "processes lost their turns and went on alone: they are in the levels of their setups, "
    "and in no ratio",
    HUNG: "guests hung in the kernel's boot, before anything was measured, and were started a "
    "second time",
}
_SPEED = "cycles_per_1000_ticks"
_LEAST_SPEED, _LEAST_STEAL = 0.02, 0.01  # shares from which on it is said
_SET_NS = 1_000_000  # a clock that was set by less was only disciplined
_CHARS = 80

Facts = Mapping[str, str]


def differences(before: RunData, after: RunData) -> tuple[str, ...]:
    """Return one line for each way in which two timed runs were not made on the same machine.

    Empty where their instrument asks for nothing, or where one of them does not say.
    """
    names = find_instrument(after.manifest.instrument).comparable
    first, second = (
        [dict(boot.facts) for boot in run.boots if boot.facts] for run in (before, after)
    )
    found = []
    for name in names:
        here, there = (
            sorted({_short(item.get(_BEFORE + name, "")) for item in side})
            for side in (first, second)
        )
        if "" in (*here, *there) or not here or not there:
            continue
        if set(here) != set(there):
            found.append(f"{name}: {' or '.join(here)}, {' or '.join(there)}")
    return tuple(found)


def warnings(run: RunData) -> tuple[str, ...]:
    """Say what of a machine as it ran a reader has to know, the gravest first."""
    kernels = {cell.hash: cell.place.kernel for cell in run.manifest.cells}
    boots = sorted((boot for boot in run.boots if boot.facts), key=lambda boot: boot.index)
    by_kernel = grouped((kernels[boot.cell_hash], boot) for boot in boots)
    told = {
        name: mine
        for name, mine in sorted(by_kernel.items())
        if any(key.startswith(_OF_HOST) for boot in mine for key, _ in boot.facts)
    }
    return tuple(
        f"{name}: {text}" if len(told) > 1 else text
        for name, mine in told.items()
        for text in _of_machine(mine)
    )


def _of_machine(boots: Sequence[Boot]) -> Iterator[str]:
    facts = [dict(boot.facts) for boot in boots]
    yield from _changes(boots, facts)
    yield from _clock(facts)
    yield from _speed(facts)
    yield from _busy(facts)
    yield from _moved(facts)
    for name, words in _TOLD.items():
        if count := sum(name in item for item in facts):
            yield f"{count} of {len(facts)} {words}."


def _changes(boots: Sequence[Boot], facts: Sequence[Facts]) -> Iterator[str]:
    told = set()
    for name, words in _STEADY.items():
        known, where = "", ""
        for boot, item in zip(boots, facts, strict=True):
            for value in (item.get(_BEFORE + name, ""), item.get(_AFTER + name, "")):
                if known and value and value != known and not where:
                    where = f"from {_short(known)} to {_short(value)} in block {boot.index}"
                known = value or known
        if where and words not in told:
            told.add(words)
            yield f"{words} changed while it was measured: {where}."


def _clock(facts: Sequence[Facts]) -> Iterator[str]:
    clocks = sorted({item["timing.clock"] for item in facts if "timing.clock" in item})
    if len(clocks) > 1:
        yield f"blocks were read from different clocks: {', '.join(map(_short, clocks))}."
    strays = [item["timing.stray"] for item in facts if "timing.stray" in item]
    if strays:
        yield f"the clock did not run evenly in {len(strays)} blocks: {_short(strays[0])}."
    sets = [_number(item.get("timing.clock_set_ns", "")) for item in facts]
    steps = [step for step in sets if abs(step) >= _SET_NS]
    if steps:
        most = max(steps, key=abs) / 1e9
        yield (
            f"the clock of the day was set in {len(steps)} blocks, by up to {most:+.3f} s; no "
            "reading depends on it."
        )


def _speed(facts: Sequence[Facts]) -> Iterator[str]:
    said = [_number(item.get(at + _SPEED, "")) for item in facts for at in (_BEFORE, _AFTER)]
    speeds = [speed for speed in said if speed > 0]
    if len(speeds) < 2:
        return
    middle = statistics.median(speeds)
    low, *_, high = statistics.quantiles(speeds, n=20, method="inclusive")
    if (high - low) / middle >= _LEAST_SPEED:
        yield (
            f"the processor's speed moved by {(high - low) / middle:.0%} while it was measured "
            "(9 of 10 looks): its frequency, or what shares its core."
        )


def _busy(facts: Sequence[Facts]) -> Iterator[str]:
    loads = [_number(item.get("host.load", "").partition(" ")[0]) for item in facts]
    cpus = max((_cpus(item.get("host.online", "")) for item in facts), default=1)
    if loads and statistics.median(loads) > cpus / 2 + 1:
        yield f"the machine was busy: load {statistics.median(loads):.1f} on {cpus} CPUs (median)."
    stolen = sum(
        max(0.0, _number(item.get("host.after.steal_10ms", "")) - _number(item["host.steal_10ms"]))
        for item in facts
        if "host.steal_10ms" in item and "host.after.steal_10ms" in item
    )
    spans = sum(_number(item.get("timing.life_ns", "")) for item in facts) * cpus
    if spans and stolen * 1e7 / spans >= _LEAST_STEAL:
        yield f"the hypervisor took {stolen * 1e7 / spans:.0%} of the machine's time."


def _moved(facts: Sequence[Facts]) -> Iterator[str]:
    each = [{key for key in item if key.startswith("timing.moved.")} for item in facts]
    if moved := set.union(*each):
        yield (
            f"the process was moved between CPUs in {sum(map(bool, each))} blocks, in readings of "
            f"{len(moved)} benchmarks; they are among the numbers."
        )


def _short(text: str) -> str:
    return printable(text)[:_CHARS]


def _number(text: str) -> float:
    found = re.fullmatch(r"-?[0-9]{1,18}(?:\.[0-9]{1,9})?", text)
    return float(text) if found else 0.0


def _cpus(text: str) -> int:
    """Count the CPUs of a list such as 0-3,8."""
    return max(1, sum(map(_range, filter(None, text.split(",")))))


def _range(part: str) -> int:
    low, dash, high = part.partition("-")
    if not (low.isdecimal() and (high.isdecimal() or not dash)) or len(part) > 12:
        return 0
    return int(high) - int(low) + 1 if dash else 1
