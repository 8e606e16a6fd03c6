# SPDX-License-Identifier: GPL-2.0-or-later
"""Joins the bulk windows that the plugin saw with what the boots measured; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lsmeter.hooks.attribution.profile import Profile, Region
from lsmeter.hooks.attribution.whole import WholeCost, idle_cost, mean_cost, whole_cost
from lsmeter.model import BenchmarkStatus, Samples


@dataclass(frozen=True)
class AttributedBoot:
    """What one boot measured, in the order in which it did, and what its plugin saw."""

    samples: Sequence[Samples]
    profile: Profile

    def place(self, benchmark: str) -> int | None:
        """Return the place of a benchmark among those of the boot."""
        for place, item in enumerate(self.samples):
            if item.benchmark == benchmark:
                return place
        return None


def cell_wholes(boots: Iterable[AttributedBoot]) -> tuple[dict[str, WholeCost], dict[str, str]]:
    """Return the whole cost of each benchmark, the mean over boots, and why there is none."""
    found: dict[str, list[WholeCost]] = {}
    missing: dict[str, str] = {}
    for boot in boots:
        windows = boot.profile.idle()
        idle = idle_cost(windows.trees) if windows else None
        for place, samples in enumerate(boot.samples):
            if samples.status is not BenchmarkStatus.OK or samples.whole is None:
                continue
            region = boot.profile.bulk(place)
            reason = _unusable(samples, region) if idle else "the idle guest was not watched"
            if reason or region is None or region.sum is None:
                missing[samples.benchmark] = reason
                continue
            operations = sum(item.operations for item in samples.whole.rounds)
            cost = whole_cost(region.sum, operations, idle)
            found.setdefault(samples.benchmark, []).append(cost)
    costs = {name: mean_cost(items) for name, items in found.items()}
    return costs, {name: reason for name, reason in missing.items() if name not in costs}


def _unusable(samples: Samples, region: Region | None) -> str:
    """Say why the windows of a benchmark cannot be used; "" if they can."""
    whole = samples.whole
    if whole is None or whole.status is not BenchmarkStatus.OK:
        return "its whole cost was not measured"
    if region is None or region.sum is None:
        return "the plugin saw no bulk window of it"
    if region.damaged or region.aborted:
        return "a limit of the plugin was hit in a bulk window of it"
    if not region.summed == region.samples == len(whole.rounds):
        return f"the plugin saw {region.summed} of its {len(whole.rounds)} bulk windows"
    return ""
