# SPDX-License-Identifier: GPL-2.0-or-later
"""A run of workloads as a document: what a request pays (`lsmeter help workloads`)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean
from typing import Any

from lsmeter.core.groups import grouped
from lsmeter.core.model import Benchmark, Place
from lsmeter.core.model.conclusion import Verdict
from lsmeter.core.model.workload import Client
from lsmeter.measure.results.directory import RunData
from lsmeter.measure.results.manifest import Manifest
from lsmeter.questions.cells.covers import left_out_of_services
from lsmeter.questions.cells.frame import placed, run_document
from lsmeter.questions.cells.results import Bounds, measured_results
from lsmeter.questions.cells.rows import COMPARISON
from lsmeter.questions.workload.figures import (
    AVC_LOOKUPS,
    AVC_MISSES,
    CLEANUP,
    CLOCK,
    HOOK_CALLS,
    HOOK_INSNS,
    KERNEL,
    SWITCHES,
    SYSCALLS,
    USER,
    Compared,
    Measured,
    Once,
    Workloads,
    find_workloads,
)
from lsmeter.tables import numbers
from lsmeter.tables.fields import BENCHMARK, SETUP, Field, flat_table, tabled
from lsmeter.tables.intervals import Bounded, intervals
from lsmeter.tables.model import (
    Column,
    Detail,
    Document,
    Item,
    Kind,
    Section,
    Shown,
    Table,
    Tone,
    Value,
)
from lsmeter.tables.values import change, first_of, many, percent

NAME = "lsmeter-workloads"
VERSION = 2
_MOST_HOOKS = 12
_DIFFERENT_WORK = 0.05  # of hook calls
_COUNTS = (HOOK_CALLS, AVC_LOOKUPS, AVC_MISSES)
_COVERS = (
    "Kernel instructions of the service's tasks, of interrupts and softirqs (the network of {}) "
    "and of kernel threads; ticks and grace periods are left out, and the client's own with what "
    "they put off{}. Instructions, not time."
)
_CLIENTS: Mapping[Client, tuple[str, str]] = {
    "namespace": ("both ends", ""),
    "guest": ("the server's end", ": it runs in another guest"),
    "loopback": ("both ends, over the loopback", ": it runs beside the server"),
}
_DOTS = (
    "Kernel instructions of a unit over the baseline's in %, a panel for each setup; lines are "
    "95 % intervals."
)


def document(run: RunData, detail: Detail) -> Document:
    """Return what a run of workloads shows, for a format with this much room."""
    found = find_workloads(run)
    sections = tuple(
        section
        for measured in grouped((item.place.beside, item) for item in found.measured).values()
        for section in _sections(found, measured, run.manifest, detail)
    )
    title = "What security modules cost real services"
    data = _data(found, run.manifest)
    if detail is Detail.DATA:
        flat = [
            {**COMPARISON.flat(item), "per": item["per"], "more_boots": item["more_boots"]}
            for item in data["comparisons"]
        ]
        sections = (Section("", tables=(flat_table("comparisons", flat),)), *sections)
    made = run_document(run, NAME, title, sections, found.problems, data)
    baseline = run.manifest.baseline_setup
    of = (run.manifest.kernels, run.manifest.created, "insns")
    return replace(
        made,
        version=VERSION,
        notes=(*_conditions(run), *made.notes),
        answer=first_of(_answer(found, baseline)),
        results=measured_results((), found.comparisons, found.problems, of, _means(found)),
        picture=intervals(
            f"What services cost over {baseline}",
            _DOTS,
            "overhead in %",
            0.0,
            _dots(found),
            alike=True,
        ),
    )


def _means(found: Workloads) -> Iterator[tuple[Place, Benchmark, Bounds]]:
    for item in found.measured:
        level = found.level(item)
        bounds = (level.mean, level.mean - level.half, level.mean + level.half)
        yield item.place, item.benchmark, bounds


def _dots(found: Workloads) -> Iterator[Bounded]:
    for item in sorted(found.compared, key=lambda item: item.tested.place.setup):
        place, kernel = item.tested.place, item.kernel
        panel = f"{place.setup}, {', '.join(place.beside[:3])}"
        each = (kernel.overhead, kernel.overhead_low, kernel.overhead_high)
        yield Bounded(panel, item.tested.benchmark.id, *(100 * share for share in each))


def _conditions(run: RunData) -> Iterator[str]:
    for every_ms in sorted({cell.task.monitor_ms for cell in run.manifest.cells} - {0}):
        yield f"monitored every {every_ms} ms: not to be compared with runs that are not"
    for cell in {cell.place.suite: cell for cell in run.manifest.cells}.values():
        if cell.task.workload and cell.conditions:
            shift, mib = cell.conditions.icount_shift, cell.conditions.memory_mib
            yield f"{cell.place.suite}: guests of {mib} MiB, {1 << shift} ns an instruction"


def _sections(
    found: Workloads, measured: Sequence[Measured], manifest: Manifest, detail: Detail
) -> Iterator[Section]:
    baseline, beside, unit = manifest.baseline_setup, measured[0].place.beside, measured[0].unit
    compared = [item for item in found.compared if item.tested.place.beside == beside]
    kernel, suite, filesystem, _ = beside
    cells = (cell for cell in manifest.cells if cell.place.beside == beside)
    client = next(cell.task.workload.client for cell in cells if cell.task.workload)
    lead = (_COVERS.format(*_CLIENTS[client]), _spread(found, measured))
    yield Section(
        f"{suite} on {kernel}, {filesystem}: kernel instructions a {unit}",
        lead=lead,
        tables=(_overheads(found, measured, compared, baseline),),
        items=tuple(_doubts(compared)),
    )
    if detail is not Detail.SHORT:
        tables = (
            *(_inside(measured), *_hooks(measured, baseline), _controls(measured, compared)),
            *_disk(measured),
            *_once([item for item in found.once if item.place.beside == beside]),
        )
        yield Section(f"{suite} on {kernel}, {filesystem}: where from", tables=tables)


def _spread(found: Workloads, measured: Sequence[Measured]) -> str:
    each = (boot.spread for item in measured for boot in item.boots)
    batches = max((spread for spread in each if spread is not None), default=math.nan)
    inside = f"batches of a boot: at most {100 * batches:.2f} % apart"
    if math.isnan(batches):
        inside = "one batch a boot: how far batches lie apart is not known"
    spreads = [found.spreads[item.place.beside, item.benchmark.id] for item in measured]
    between = max((s.fraction for s in spreads if s.freedom), default=math.inf)
    boots = " or ".join(map(str, sorted({len(item.boots) for item in measured})))
    known = "not known from one boot"
    if math.isfinite(between):
        known = f"at most {100 * between:.2f} % of the mean"
    return (
        f"Boots of each: {boots}, each with a seed and a layout of addresses of its own; setups "
        "are compared seed by seed. Standard deviation between boots of one setup: "
        f"{known}; {inside}."
    )


def _overheads(
    found: Workloads, measured: Sequence[Measured], compared: Sequence[Compared], baseline: str
) -> Table:
    by_key = {(item.tested.place.setup, item.tested.benchmark.id): item for item in compared}

    def cell(setup: str, item: Measured) -> Value:
        other = by_key.get((setup, item.benchmark.id))
        return None if other is None else _cell(other)

    fields = (
        BENCHMARK,
        Field(f"{baseline}_insns", baseline, lambda item: round(found.level(item).mean)),
        *(
            Field(f"{name}_overhead", name, partial(cell, name), Kind.PERCENT)
            for name in dict.fromkeys(setup for setup, _ in by_key)
        ),
    )
    bases = (item for item in measured if item.place.setup == baseline)
    title = f"Overhead over {baseline} in %, with the half-width of its 95 % interval"
    marks = {mark: verdict.value for verdict, mark in numbers.VERDICT_MARKS.items()}
    said = marks | {numbers.VERDICT_MARKS[Verdict.INCONCLUSIVE]: "not resolved"}
    meant = ", ".join(f"{mark} {word}" for mark, word in said.items())
    if len(found.compared) > 1:
        meant += f"; corrected for all {len(found.compared)} comparisons of the run (Holm)"
    more = (meant, *_left_out(compared))
    return tabled("overheads", title, fields, bases, more=more)


def _left_out(compared: Sequence[Compared]) -> Iterator[str]:
    """Say which costs may hide where setups are equivalent."""
    same = (item for item in compared if item.kernel.verdict is Verdict.EQUIVALENT)
    if units := [item.comparison.cycles for item in same]:
        yield f"Equivalent leaves out {left_out_of_services(units)}."


def _overhead(item: Compared, digits: int) -> str:
    """Write an overhead in % and half its interval; what a verdict is of is never written as 0."""
    kernel = item.kernel
    half = (kernel.overhead_high - kernel.overhead_low) / 2
    known = f" {numbers.PLUS_MINUS}{100 * half:.{digits}f}" if math.isfinite(half) else ""
    return f"{numbers.overhead(kernel.overhead, kernel.verdict, digits)}{known}"


def _cell(item: Compared) -> Shown:
    kernel = item.kernel
    text = f"{_overhead(item, 2)} {numbers.VERDICT_MARKS[kernel.verdict]}"
    return Shown(kernel.overhead, text, numbers.TONES[kernel.verdict])


def _answer(found: Workloads, baseline: str) -> Iterator[str]:
    """Say for each setup from where to where its overheads go, and what came of it."""
    if not found.compared:
        yield f"Nothing was compared: no setup beside {baseline} has a number."
    places = grouped((item.tested.place, item) for item in found.compared)
    several = len({place.beside for place in places}) > 1
    for place, mine in places.items():
        ends = [f(mine, key=lambda item: item.kernel.overhead) for f in (min, max)]
        each = [
            f"{_overhead(item, 1)} % ({item.tested.benchmark.id}, "
            f"{change(round(item.kernel.difference))} instructions)"
            for item in (ends if len(mine) > 1 else mine)
        ]
        counts = Counter(item.kernel.verdict.value for item in mine)
        said = ", ".join(f"{count} {kind}" for kind, count in counts.items())
        where = f" ({', '.join(place.beside)})" * several
        yield (
            f"{place.setup}{where}: {' to '.join(each)} over {baseline}, of the kernel "
            f"instructions a {mine[0].tested.unit}; of {many(len(mine), 'benchmark')} {said}."
        )


def _doubts(compared: Sequence[Compared]) -> Iterator[Item]:
    """Say for each setup what is not resolved."""
    for setup, mine in grouped((item.tested.place.setup, item) for item in compared).items():
        said = (*_unresolved(mine, setup), *_different_work(mine, setup))
        yield from (Item(text, tone=Tone.WARNING) for text in said)


def _different_work(compared: Sequence[Compared], setup: str) -> Iterator[str]:
    """Name benchmarks in which hooks are called more or less often than under the baseline.

    A module makes hooks cost more; how often they are called is what the guest did. How many
    segments and acknowledgements TCP sends depends on how sender and receiver take turns.
    """
    for item in compared:
        calls = item.baseline.mean(HOOK_CALLS)
        share = item.tested.mean(HOOK_CALLS) / calls - 1 if calls else 0.0
        if abs(share) <= _DIFFERENT_WORK:
            continue
        before, after = item.baseline.in_hooks(), item.tested.in_hooks()
        most = max(before | after, key=lambda name: abs(after.get(name, 0) - before.get(name, 0)))
        yield (
            f"{setup}, {item.tested.benchmark.id}: the guest did different work: hook calls "
            f"{percent(share)}, {most} {before.get(most, 0):,.0f} to {after.get(most, 0):,.0f} a "
            f"{item.tested.unit}; the overhead includes that"
        )


def _unresolved(compared: Sequence[Compared], setup: str) -> Iterator[str]:
    """Name what is within the spread between boots, and how many boots would tell."""
    for item in compared:
        kernel = item.kernel
        if kernel.verdict is Verdict.INCONCLUSIVE and math.isfinite(kernel.high):
            low, high = kernel.overhead_low, kernel.overhead_high
            beside = "" if low <= 0 <= high else " after correction"
            needed = f"; {kernel.boots} boots of each would do" if kernel.boots else ""
            yield (
                f"{setup}, {item.tested.benchmark.id}: not resolved{beside}: "
                f"{100 * low:+.2f} to {100 * high:+.2f} %{needed}"
            )
    if not math.isfinite(compared[0].kernel.high):
        yield f"{setup}: not resolved: one boot does not show how far boots differ; --boots 3"


def _inside(measured: Sequence[Measured]) -> Table:
    modules = sorted({name for item in measured for name in item.in_modules()})

    def inside(name: str) -> Field:
        return Field(f"in {name}", f"in {name}", lambda i: round(i.in_modules().get(name, 0.0)))

    def mean(name: str, digits: int | None = 2) -> Field:
        return Field(name, name, lambda item: round(item.mean(name), digits))

    fields = (
        *(BENCHMARK, SETUP, *map(inside, modules)),
        *(mean(HOOK_INSNS, None), *map(mean, _COUNTS)),
    )
    unit = measured[0].unit
    title = f"Inside each module's code and inside hooks, instructions a {unit}; calls a {unit}"
    return tabled("inside", title, fields, measured)


def _hooks(measured: Sequence[Measured], baseline: str) -> Iterator[Table]:
    """Show for each setup the hooks that add most; each benchmark counts the same."""
    by_setup = grouped((item.place.setup, item) for item in measured)
    for setup, tested in by_setup.items():
        sides = by_setup.get(baseline, []), tested
        both = set.intersection(*({item.benchmark.id for item in side} for side in sides))
        if setup == baseline or not both:
            continue  # no boot of one of them gave numbers on this file system
        base, item = (
            _joined([item for item in side if item.benchmark.id in both]) for side in sides
        )
        before, after, calls = base.in_hooks(insns=True), item.in_hooks(insns=True), item.in_hooks()
        added = {name: after.get(name, 0.0) - before.get(name, 0.0) for name in after | before}
        most = sorted(added, key=lambda name: -added[name])[:_MOST_HOOKS]
        rest = sum(added.values()) - sum(added[name] for name in most)
        outside = item.mean(KERNEL) - base.mean(KERNEL) - sum(added.values())
        rows: tuple[tuple[Value, ...], ...] = (
            *((name, round(calls.get(name, 0.0), 2), round(added[name])) for name in most),
            (f"{len(added) - len(most)} others", None, round(rest)),
            ("outside of hooks", None, round(outside)),
        )
        columns = (
            Column("hook", "hook", Kind.NAME),
            Column("calls", f"calls a {measured[0].unit}"),
            Column("added_insns", "instructions added", Kind.CHANGE),
        )
        title = f"{setup}: what each hook adds, mean over {many(len(both), 'benchmark')}"
        yield Table(f"hooks-{setup}", title, columns, rows)


def _joined(measured: Sequence[Measured]) -> Measured:
    """Return benchmarks of one setup as one, in which each boot of each counts the same."""
    return replace(measured[0], boots=[boot for item in measured for boot in item.boots])


def _said(item: Measured, key: str, digits: int | None = None) -> float | None:
    """Return what a client said of a batch, the mean over boots."""
    found = [boot.client[key] for boot in item.boots if key in boot.client]
    return round(fmean(found), digits) if len(found) == len(item.boots) else None


def _disk(measured: Sequence[Measured]) -> Iterator[Table]:
    """Show what the disk did whose requests take guest time, where there is one."""
    fields = (
        *(BENCHMARK, SETUP),
        Field("requests", "requests", lambda item: _said(item, "disk_requests")),
        Field("kib", "KiB", lambda item: _said(item, "disk_kib")),
        Field("busy_pct", "busy, %", lambda item: _said(item, "disk_busy_pct", 1)),
        Field("took_ms", "ms of guest time", lambda item: _said(item, "took_ms")),
    )
    found = [item for item in measured if _said(item, "disk_requests") is not None]
    if found:
        yield tabled("disk", "What the disk did in a batch, mean over boots", fields, found)


def _controls(measured: Sequence[Measured], compared: Sequence[Compared]) -> Table:
    moved = {id(item.tested): item.user.overhead for item in compared if item.user}
    fields = (
        *(BENCHMARK, SETUP),
        Field("user_insns", "user instructions", lambda item: round(item.mean(USER))),
        Field("user_overhead", "change", lambda item: moved.get(id(item)), Kind.PERCENT),
        Field("syscalls", "system calls", lambda item: round(item.mean(SYSCALLS), 1)),
        Field("clock_insns", "clock", lambda item: round(item.mean(CLOCK))),
        Field("cleanup_insns", "client's clean-up", lambda item: round(item.mean(CLEANUP))),
        Field("switches", "switches", lambda item: round(item.mean(SWITCHES), 1)),
        Field("rate_per_s", "rate, emulated", lambda item: _said(item, "rate_per_s")),
        Field("p99_us", "99 % in us, emulated", lambda item: _said(item, "p99_us")),
    )
    title = "Controls: what no security module should change; emulated rates are not for comparison"
    return tabled("controls", title, fields, measured, fixed=2)


def _once(once: Sequence[Once]) -> Iterator[Table]:
    """Show what guests of each setup do once until their services answer, means over boots."""
    columns = (
        Column("step", "step", Kind.NAME),
        Column("kernel_insns", "kernel", Kind.COUNT),
        Column("user_insns", "user", Kind.COUNT),
    )
    for setup, mine in grouped((item.place.setup, item) for item in once).items():
        each = [(item.title, fmean(item.kernel), fmean(item.user)) for item in mine]
        kernel, user = sum(item[1] for item in each), sum(item[2] for item in each)
        rows = ((title, round(a), round(b)) for title, a, b in (*each, ("all", kernel, user)))
        title = f"{setup}: done once in a guest, instructions, boots: {len(mine[0].kernel)}"
        yield Table(f"once-{setup}", title, columns, tuple(rows))


def _data(found: Workloads, manifest: Manifest) -> dict[str, Any]:
    given = {"instrument": manifest.instrument, "margin": manifest.margin}
    return {
        "benchmarks": [
            {
                **placed(item.place, item.benchmark),
                "unit": "insns",
                "per": item.unit,
                "kernel_insns": found.level(item).mean,
                "half_insns": found.level(item).half,
                "boots": [
                    {
                        "seed": boot.seed,
                        "figures": dict(boot.figures),
                        "modules": dict(boot.modules),
                        "syscalls": dict(boot.calls),
                        "hooks": {name: list(pair) for name, pair in boot.hooks.items()},
                        "spread_of_batches": boot.spread,
                        "client": dict(boot.client),
                    }
                    for boot in item.boots
                ],
            }
            for item in found.measured
        ],
        "once": [
            {
                "place": vars(item.place),
                "step": item.title,
                "kernel_insns": item.kernel,
                "user_insns": item.user,
            }
            for item in found.once
        ],
        "comparisons": [
            {
                **COMPARISON.entry(item.comparison, **given),
                "per": item.tested.unit,
                "more_boots": item.kernel.boots,
            }
            for item in found.compared
        ],
    }
