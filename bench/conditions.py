# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures by how much each condition of the exact instrument moves which benchmark.

Usage: python bench/conditions.py [KERNEL]. One guest of the setup `capability` for each condition,
and one as guests are by default; what is compared is the typical count of the file suite. The
table goes into docs/concepts/exact-instrument.md.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from lsmeter.catalogue.setups import parse_setup
from lsmeter.core.limits import Limits
from lsmeter.core.model import Cell, Conditions, Kernel, Sampling
from lsmeter.guest.boot_image import make_request
from lsmeter.guest.initramfs import archive, base
from lsmeter.guest.probe import catalogue, find_probe
from lsmeter.guest.session import parse_session
from lsmeter.machines.description import counted_guest
from lsmeter.machines.qemu import run_guest
from lsmeter.sources.kernels.resolve import resolve
from lsmeter.statistics.estimate import counts, mode

SEED = 42
DEFAULT = Conditions()


def without(*words: str) -> Callable[[str], str]:
    """Leave words out of the kernel's command line."""
    return lambda line: " ".join(word for word in line.split() if word not in words)


def as_it_is(line: str) -> str:
    """Change nothing of the kernel's command line."""
    return line


# What is changed: by name, the conditions and the kernel's command line.
CHANGES: dict[str, tuple[Conditions, Callable[[str], str]]] = {
    "another seed (order, allocations, ticks)": (DEFAULT, as_it_is),
    "slabs=single": (replace(DEFAULT, slabs="single"), as_it_is),
    "init_on_alloc=true": (replace(DEFAULT, init_on_alloc=True), as_it_is),
    "mitigations=auto": (replace(DEFAULT, mitigations="auto"), as_it_is),
    "mitigations=forced": (replace(DEFAULT, mitigations="forced"), as_it_is),
    "tick=periodic": (replace(DEFAULT, tick="periodic"), as_it_is),
    "icount_shift=3": (replace(DEFAULT, icount_shift=3), as_it_is),
    "memory_mib=512": (replace(DEFAULT, memory_mib=512), as_it_is),
    "cpu=max": (replace(DEFAULT, cpu="max"), as_it_is),
    "without nokaslr": (DEFAULT, without("nokaslr")),
    "without norandmaps": (DEFAULT, without("norandmaps")),
    "without randomize_kstack_offset=off": (DEFAULT, without("randomize_kstack_offset=off")),
    "without random.trust_cpu=on": (DEFAULT, without("random.trust_cpu=on")),
    "without dhash_entries=, ihash_entries=": (
        DEFAULT,
        without("dhash_entries=1048576", "ihash_entries=262144"),
    ),
    "without noreplace-smp": (DEFAULT, without("noreplace-smp")),
}


def measure(
    kernel: Kernel, conditions: Conditions, change: Callable[[str], str], seed: int
) -> dict[str, int]:
    """Run one guest; the typical count of each benchmark."""
    setup = parse_setup("capability")
    ids = tuple(item.id for item in catalogue(find_probe()) if item.suite == "file")
    cell = Cell(
        kernel=kernel,
        setup=setup,
        suite="file",
        filesystem="tmpfs",
        user="root",
        instrument="exact",
        conditions=conditions,
        sampling=Sampling(whole_ppm=0),
        benchmarks=ids,
    )
    request = make_request(cell, seed)
    initrd = base(find_probe().path.read_bytes()) + archive({"request": request.to_bytes()})
    guest = counted_guest(kernel, setup, conditions, seed)
    guest = replace(guest, cmdline=change(guest.cmdline))
    capture = asyncio.run(run_guest(guest, initrd, Limits()))
    session = parse_session(capture.results, request)
    return {
        item.benchmark: mode(counts(np.asarray(item.values)))
        for item in session.samples
        if item.values
    }


def main() -> None:
    """Print the table."""
    kernel = resolve(sys.argv[1] if len(sys.argv) > 1 else "debian:6.1")
    before = measure(kernel, DEFAULT, as_it_is, SEED)
    print("| condition | benchmarks that move | by, instructions (median) | most |")
    print("|---|---:|---:|---|")
    for name, (conditions, change) in CHANGES.items():
        after = measure(kernel, conditions, change, SEED + name.startswith("another"))
        moved = {key: after[key] - before[key] for key in before.keys() & after.keys()}
        moved = {key: by for key, by in moved.items() if by and not key.startswith("exit")}
        if not moved:
            print(f"| `{name}` | 0 of {len(before)} | | |")
            continue
        most = max(moved, key=lambda key: (abs(moved[key]), key))
        middle = int(np.median(list(moved.values())))
        print(
            f"| `{name}` | {len(moved)} of {len(before)} | {middle:+d} "
            f"| `{most}` {before[most]:,} → {after[most]:,} |"
        )


if __name__ == "__main__":
    main()
