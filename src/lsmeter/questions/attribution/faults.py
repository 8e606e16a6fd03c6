# SPDX-License-Identifier: GPL-2.0-or-later
"""What the plugin of call trees says that it missed, and what of a boot is left then; pure.

A reading that it missed may be any one: where some are missing no tree is known to be that of the
typical reading, and the benchmark has none of that boot.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lsmeter.core.errors import GuestError
from lsmeter.core.model import BenchmarkStatus, Boot, BootStatus
from lsmeter.questions.attribution.profile import Profile, Region
from lsmeter.tables.values import many


def without_faults(profile: Profile, boot: Boot) -> tuple[Profile, tuple[str, ...]]:
    """Return a profile with the regions that can be used, and a line for each that cannot.

    GuestError when nothing can be used.
    """
    if profile.stray_ends:
        raise GuestError(f"{many(profile.stray_ends, 'end marker')} without a beginning")
    said = []
    if profile.refused_samples:
        said.append(f"{many(profile.refused_samples, 'sample')} found no room in the plugin")
    if boot.status is BootStatus.OK and not profile.whole:
        said.append("the plugin's output has no end")
    bad = dict(_bad_regions(profile, boot))
    # Whole costs have a reason of their own why there is none.
    kept = tuple(item for item in profile.regions if item.sum or item.id not in bad)
    return replace(profile, regions=kept), (*said, *bad.values())


def _bad_regions(profile: Profile, boot: Boot) -> Iterator[tuple[int, str]]:
    """Yield each region that is not as it must be, by its number."""
    for place, samples in enumerate(boot.samples):
        if samples.status is not BenchmarkStatus.OK or not samples.values:
            continue
        if missed := fault(profile.region(place), len(samples.values)):
            yield place, f"{samples.benchmark}: {missed}"
        if samples.whole is None or samples.whole.status is not BenchmarkStatus.OK:
            continue
        for region in filter(None, profile.cycles(place)):
            if missed := fault(region, 0):
                yield region.id, f"the whole cost of {samples.benchmark}: {missed}"


def fault(region: Region | None, least: int) -> str:
    """Say what is missing of a region that has at least so many samples; "" if nothing is."""
    if region is None:
        return "the plugin saw nothing of it"
    counts = {
        "hit a limit of the plugin": region.damaged,
        "did not end": region.aborted,
        "found no room": region.uncounted,
        "missing": max(0, least - region.samples),
    }
    said = (f"{many(count, 'sample')} {text}" for text, count in counts.items() if count)
    return ", ".join(said)
