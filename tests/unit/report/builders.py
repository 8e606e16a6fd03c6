# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds realistic reports for the tests of report formats, without a guest.

The costs follow what Linux 6.1 showed: stat at depth n costs 1,410 + 332 n instructions with
capabilities, and SELinux adds about 171 per component and 150 beside.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from lsmeter.core.model import Benchmark, Kernel, Metric, ParamValue, Place, Problem
from lsmeter.core.model.conclusion import (
    BootPeak,
    Comparison,
    Difference,
    Estimate,
    Mean,
    Number,
    Peak,
    Sampled,
    Verdict,
    WholeCost,
)
from lsmeter.questions.cost.document import report_document
from lsmeter.questions.cost.model import Report, SetupFacts
from lsmeter.tables import render as tables
from lsmeter.tables.model import Detail
from lsmeter.tables.render import Options
from tests.unit.model_builders import change, kernel

LATENCY = Metric("latency", "insns")
SETUPS = ("capability", "selinux", "apparmor", "tomoyo", "landlock", "bpf", "distribution")
KERNELS = ("debian:6.1", "debian:6.12")

TITLES = {
    "capability": "capabilities only, every other module off",
    "selinux": "SELinux without a policy",
    "landlock": "Landlock, 1 layer of 1 rule, all operations allowed",
}

# Instructions beside the path walk, and per path component, that a setup adds.
ADDED = {
    "capability": (0, 0),
    "selinux": (151, 171),
    "apparmor": (0, 3),
    "tomoyo": (900, 40),
    "landlock": (60, 0),
    "bpf": (24, 12),
    "distribution": (170, 14),
}
BASE = {
    "open": 2100,
    "stat": 1410,
    "rename": 4100,
    "chmod": 2500,
    "creat": 4614,
    "unlink": 4300,
    "symlink": 4000,
    "mkdir": 5200,
    "rmdir": 4900,
    "openat": 2500,
    "fstatat": 1500,
    "read": 1018,
    "write": 1260,
    "copy": 2300,
    "empty": 32,
    "getppid": 190,
}
# What undoes an operation, and what that costs; an operation that is not here is its own cycle.
UNDO = {
    "open": ("open+close", 1610),
    "openat": ("openat+close", 1610),
    "creat": ("creat+close+unlink", 7350),
    "unlink": ("creat+close+unlink", 7660),
    "mkdir": ("mkdir+rmdir", 5310),
    "rmdir": ("mkdir+rmdir", 5600),
    "symlink": ("symlink+unlink", 5220),
    "rename": ("rename+rename", 6960),
}
# Instructions that a setup adds to closing, freeing and deferred work.
ADDED_LATER = {"selinux": 177, "distribution": 64}
CAUSE = "whole cost not known well enough: -1.20% to +2.40%"
HALF = 6.5  # of the interval of a whole cost


def render(
    report: Report,
    form: str,
    options: Options = tables.DEFAULT_OPTIONS,
    *,
    everything: bool = False,
) -> str:
    """Show a report in a format, as `lsmeter report` does, with or without --all."""
    detail = Detail.TERMINAL if everything else tables.find_format(form).detail
    return tables.render(report_document(report, detail), form, options)


def place(setup: str, kernel: str = KERNELS[0]) -> Place:
    return Place(kernel, setup, "file", "tmpfs", "root")


def benchmark(operation: str, **params: ParamValue) -> Benchmark:
    return Benchmark(
        suite="file",
        operation=operation,
        params=tuple(params.items()),
        metric=LATENCY,
        title=operation,
        origin="lsmeter",
        control=operation in {"empty", "getppid"},
        calls="" if operation == "empty" else operation,
        cycle="" if operation == "empty" else UNDO.get(operation, (operation, 0))[0],
    )


def suite() -> tuple[Benchmark, ...]:
    """Sixty-one benchmarks, in an order that is not the natural one."""
    found = [benchmark("empty"), benchmark("getppid")]
    for operation in ("open", "stat"):
        found += [benchmark(operation, depth=depth) for depth in (8, 1, 2, 3, 4, 5, 6, 7)]
        found += [benchmark(operation, link="hard"), benchmark(operation, link="soft")]
        found += [benchmark(operation, target="missing")]
        found += [benchmark(operation, path=f"dotdot-{count}") for count in (9, 3)]
    for operation in ("rename", "chmod"):
        found += [benchmark(operation, depth=depth) for depth in (1, 2, 3, 4, 5)]
    found += [benchmark("openat", path=path) for path in ("dotdot-3", "dotdot-9")]
    found += [benchmark("creat", depth=depth) for depth in (1, 2)]
    found += [benchmark(name) for name in ("unlink", "symlink", "fstatat")]
    found += [benchmark(name, dirs=9437) for name in ("mkdir", "rmdir")]
    for operation in ("read", "write", "copy"):
        found += [benchmark(operation, size=size) for size in (0, 1024, 2048, 4096)]
    return (*found, benchmark("read", size=1), benchmark("write", size=1))


def cost(item: Benchmark, setup: str, kernel: str = KERNELS[0]) -> int:
    """Return a plausible number of instructions."""
    params = dict(item.params)
    depth = params.get("depth", 2)
    assert isinstance(depth, int)
    size = params.get("size", 0)
    assert isinstance(size, int)
    fixed, step = ADDED.get(setup, (50, 7))
    base = BASE.get(item.operation, 1000) + 332 * depth + size // 8
    if kernel != KERNELS[0]:
        base = base * 104 // 100
    if item.control:
        return BASE[item.operation]
    if item.operation in {"read", "write", "copy"}:
        return base + (74 if setup in {"selinux", "distribution"} else 0)
    return base + fixed + step * depth


def estimate(
    item: Benchmark, setup: str, value: float, *, kernel: str = KERNELS[0], repeats: bool = True
) -> Estimate:
    peaks = (Peak(int(value), 0.96), Peak(int(value) + 400, 0.04))
    return Estimate(
        place=place(setup, kernel),
        benchmark=item,
        centre=value,
        low=value,
        high=value if repeats else value + 8,
        repeats=repeats,
        evidence=Sampled(
            100, 2, value, value + 400, 0.96, peaks, by_boot(value, value + 8 * (not repeats))
        ),
        mean=Mean(value + 16, value + 12.5, value + 19.5, readings=97, ticked=3),
        whole=whole_cost(whole_value(item, setup, value)),
    )


def by_boot(*values: float, share: float = 0.96) -> tuple[BootPeak, ...]:
    return tuple(BootPeak(boot, int(value), share) for boot, value in enumerate(values))


def whole_value(item: Benchmark, setup: str, value: float) -> float:
    """Return what a cycle costs of which the operation costs `value`."""
    if item.operation not in UNDO:
        return value
    return value + UNDO[item.operation][1] + ADDED_LATER.get(setup, 0)


def whole_cost(value: float) -> WholeCost:
    return WholeCost(
        value=value,
        low=value - HALF,
        high=value + HALF,
        boot_low=value - 2,
        boot_high=value + 1,
        operations=4000,
        rounds=8,
        boots=2,
        deferred=round(value / 10),
    )


def verdict_of(overhead: float, margin: float = 0.01) -> Verdict:
    if not math.isfinite(overhead):
        return Verdict.INCONCLUSIVE
    if abs(overhead) <= margin:
        return Verdict.EQUIVALENT
    return Verdict.SLOWER if overhead > 0 else Verdict.FASTER


def comparison(
    item: Benchmark,
    setup: str,
    value: float,
    baseline_value: float,
    *,
    kernel: str = KERNELS[0],
    baseline_kernel: str | None = None,
    baseline_setup: str = "capability",
    verdict: Verdict | None = None,
    repeats: bool = True,
) -> Comparison:
    typical = change(baseline_value, value)
    ruling = verdict or verdict_of(typical.overhead)
    later = change(
        whole_value(item, baseline_setup, baseline_value),
        whole_value(item, setup, value),
        0.0 if item.control or value == baseline_value else HALF,
    )
    return Comparison(
        place=place(setup, kernel),
        baseline=place(baseline_setup, baseline_kernel or kernel),
        benchmark=item,
        typical=typical,
        mean=change(baseline_value + 16, value + 16),
        whole=later,
        in_step=0.96,
        moved=0.0,
        found=Difference.SEEN if typical.difference or later.difference else Difference.NONE,
        verdict=ruling,
        cause=CAUSE if ruling is Verdict.INCONCLUSIVE else "",
        decided_by=Number.TYPICAL,
        decided=typical,
        cycles=2000,
        repeats=repeats,
    )


def kernel_facts(name: str) -> Kernel:
    release = name.removeprefix("debian:") + ".0-49-cloud-amd64"
    origin = "package linux-image-cloud-amd64"
    return replace(kernel(name), release=release, version="1-1", origin=origin, config={})


def setup_facts(kernel: str, setup: str) -> SetupFacts:
    own: tuple[str, ...] = () if setup in {"capability", "landlock"} else (setup,)
    if setup == "distribution":
        own = ("lockdown", "landlock", "yama", "apparmor")
    note = "" if setup == "capability" else "no policy loaded: this measures hooking only"
    return SetupFacts(
        kernel=kernel,
        setup=setup,
        title=TITLES.get(setup, ""),
        note=note,
        asked_lsms=None if setup == "distribution" else ("capability", *own),
        active_lsms=("capability", *own),
        facts=(("mitigations", "off"),),
        boots=2,
        verified=True,
    )


def report(
    *,
    setups: Sequence[str] = SETUPS,
    kernels: Sequence[str] = KERNELS[:1],
    benchmarks: Sequence[Benchmark] | None = None,
    problems: Sequence[Problem] = (),
    changes: Mapping[str, object] | None = None,
) -> Report:
    """Build a whole report; the first of `setups` is the baseline."""
    chosen = suite() if benchmarks is None else tuple(benchmarks)
    baseline = setups[0] if setups else "capability"
    estimates = [
        estimate(item, setup, cost(item, setup, kernel), kernel=kernel, repeats=_repeats(item))
        for kernel in kernels
        for setup in setups
        for item in chosen
    ]
    comparisons = [
        comparison(
            item,
            setup,
            cost(item, setup, kernel),
            cost(item, baseline, kernel),
            kernel=kernel,
            baseline_setup=baseline,
            repeats=_repeats(item),
        )
        for kernel in kernels
        for setup in setups[1:]
        for item in chosen
    ]
    fields: dict[str, object] = {
        "title": "Cost of security modules on file operations",
        "created": "2024-05-01T12:00:00Z",
        "lsmeter_version": "0.1.0",
        "command": "lsmeter run experiments/main.toml",
        "instrument": "exact",
        "unit": "insns",
        "baseline_setup": baseline,
        "margin": 0.01,
        "conditions": (("mitigations", "off"), ("init_on_alloc", "no"), ("tick", "nohz")),
        "host": (("machine", "x86_64"), ("cpus", "2")),
        "tools": (("qemu", "7.2.11"), ("probe", "0.1.0")),
        "kernels": tuple(kernel_facts(name) for name in kernels),
        "setups": tuple(setup_facts(kernel, setup) for kernel in kernels for setup in setups),
        "estimates": tuple(estimates),
        "comparisons": tuple(comparisons),
        "problems": tuple(problems),
        "notes": (),
    }
    return Report(**{**fields, **(changes or {})})  # type: ignore[arg-type]


def _repeats(item: Benchmark) -> bool:
    return item.operation != "creat"


def side_by_side(setups: Sequence[str] = ("capability", "selinux")) -> Report:
    """Two runs lined up: every setup on the new kernel against itself on the old one."""
    old, new = KERNELS
    whole = report(setups=setups, kernels=KERNELS)
    comparisons = tuple(
        comparison(
            item,
            setup,
            cost(item, setup, new),
            cost(item, setup, old),
            kernel=new,
            baseline_kernel=old,
            baseline_setup=setup,
        )
        for setup in setups
        for item in suite()
    )
    return Report(**{**vars(whole), "comparisons": comparisons})
