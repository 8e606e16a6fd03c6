# SPDX-License-Identifier: GPL-2.0-or-later
"""Benchmarks whose true weights are known."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from lsmeter.questions.time.calibration import Calibration, Counted, Host, calibrate
from lsmeter.questions.time.fit import CYCLES, Observation

CYCLE_NS = 0.4
# In cycles; some are far from what is expected, and one event costs nothing.
TRUTH = {**CYCLES, "plain_insns": 0.25, "locked": 25.0, "stlb_misses": 900.0, "l1d_misses": 0.0}
HOST = Host("A processor", "0x1", "6.18.0", {"spectre_v2": "Mitigation: Retpolines"})
COUNTED = Counted("debian:7.2", "7.2.12", {"mitigations": "auto"})

_A_CALL = {
    "plain_insns": 2000,
    "string_steps": 100,
    "loads": 500,
    "stores": 300,
    "returns": 60,
    "indirect_calls": 3,
    "indirect_jumps": 1,
    "locked": 8,
    "cmpxchg": 4,
    "if_switches": 4,
    "popf": 1,
    "smap_switches": 3,
    "serialising": 3,
    "divides": 1,
    "l1i_misses": 60,
    "l1d_misses": 10,
    "l2_misses": 1,
    "itlb_misses": 2,
    "dtlb_misses": 8,
    "stlb_misses": 0.3,
    "branch_misses": 6,
    "return_misses": 0.5,
    "indirect_misses": 0.5,
}


def events(draw: np.random.Generator, size: float) -> dict[str, float]:
    """Draw the events of a call of about this size."""
    found = {
        name: float(draw.poisson(size * most * draw.uniform(0.3, 1.7)))
        for name, most in _A_CALL.items()
    }
    return {**found, "mode_switches": 2.0}


def cost_ns(counts: Mapping[str, float]) -> float:
    """Return what a call truly takes."""
    return CYCLE_NS * sum(TRUTH[name] * count for name, count in counts.items())


def known(
    *, operations: int = 14, variants: int = 4, noise: float = 0.0, seed: int = 1
) -> list[Observation]:
    """Return benchmarks; noise is the standard deviation of what is measured, as a share."""
    draw = np.random.default_rng(seed)
    found = []
    for operation in range(operations):
        size = float(draw.choice([0.2, 0.5, 1.0, 2.0, 10.0]))
        for variant in range(variants):
            counts = events(draw, size * (1 + variant / 3))
            measured = cost_ns(counts) * float(np.exp(draw.normal(0, noise)))
            name = f"op{operation}"
            found.append(Observation("file", name, f"{name} variant={variant}", counts, measured))
    return found


def calibration(**more: object) -> Calibration:
    """Return the calibration of such benchmarks."""
    words: dict[str, object] = {"noise": 0.02, **more}
    make = partial(
        Calibration,
        name="synthetic",
        created="2026-11-20T10:00:00+00:00",
        lsmeter_version="1",
        host=HOST,
        counted=COUNTED,
        blocks=8,
    )
    return calibrate(known(**words), make)  # type: ignore[arg-type]
