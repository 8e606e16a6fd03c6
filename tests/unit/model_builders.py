# SPDX-License-Identifier: GPL-2.0-or-later
"""Small models for tests that are not about the models."""

from __future__ import annotations

import math
from pathlib import Path

from lsmeter.core.model import (
    Benchmark,
    BootProtocol,
    Cell,
    Conditions,
    Kernel,
    Metric,
    Sampling,
    Setup,
)
from lsmeter.core.model.conclusion import Change
from lsmeter.tables.render import formats

INSNS = Metric("latency", "insns")
# The formats of text that every document has.
TEXT_FORMATS = tuple(item.name for item in formats() if not (item.binary or item.commands))


def kernel(name: str = "debian:6.1", **options: str) -> Kernel:
    return Kernel(
        name=name,
        release="6.1.0-56-cloud-amd64",
        version="6.1.192-2",
        origin="a test",
        image=Path("vmlinux"),
        image_sha256="ab" * 32,
        boot_protocol=BootProtocol.PVH,
        config={"SECURITY": "y", "SECURITY_SELINUX": "y", **options},
    )


def benchmark(operation: str = "open", *, suite: str = "file", **params: int | str) -> Benchmark:
    return Benchmark(
        suite=suite,
        operation=operation,
        params=tuple(params.items()),
        metric=INSNS,
        title=f"{operation} for a test",
        origin="lsmeter",
        control=operation == "empty",
    )


def cell(
    setup: Setup, *, of: Kernel | None = None, samples: int = 10, filesystem: str = "tmpfs"
) -> Cell:
    return Cell(
        kernel=of or kernel(),
        setup=setup,
        suite="file",
        filesystem=filesystem,
        user="root",
        instrument="exact",
        conditions=Conditions(),
        sampling=Sampling(samples=samples),
        benchmarks=("open depth=1", "open depth=2"),
        identity=(("probe", "00"), ("qemu", "7.2")),
    )


def change(before: float, after: float, half: float = 0.0) -> Change:
    """Build the change of one number, known to within half."""
    difference = after - before
    low, high = difference - half, difference + half
    share = (lambda item: item / before) if before else (lambda _: math.nan)
    return Change(
        baseline_value=before,
        value=after,
        difference=difference,
        low=low,
        high=high,
        overhead=share(difference),
        overhead_low=share(low),
        overhead_high=share(high),
    )
