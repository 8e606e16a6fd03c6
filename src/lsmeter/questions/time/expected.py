# SPDX-License-Identifier: GPL-2.0-or-later
"""What a processor of today takes for each event, in cycles: where a fit starts from; pure.

Only the ratios matter: a fit finds the length of a cycle first. They are rounded from published
tables (Fog, "Instruction tables" and "The microarchitecture of Intel, AMD and VIA CPUs"; Abel and
Reineke, uops.info; Intel's optimisation manual) and hold for cores that are several instructions
wide and hide part of what they wait for. How far a fit goes from them is decided by how well it
then tells operations that it has not seen.
"""

from __future__ import annotations

from collections.abc import Mapping

# Events that are not here (distinct lines and pages, calls beside returns) say nothing of time
# that these do not say.
CYCLES: Mapping[str, float] = {
    "mode_switches": 60.0,  # syscall and sysret, with what the entry code waits for
    "plain_insns": 0.15,  # string steps left out: a processor moves whole lines
    "string_steps": 0.05,
    "loads": 0.1,
    "stores": 0.1,
    "returns": 2.0,  # a call with its frame
    "indirect_calls": 5.0,
    "indirect_jumps": 5.0,
    "locked": 15.0,
    "cmpxchg": 10.0,
    "if_switches": 5.0,
    "popf": 15.0,
    "smap_switches": 5.0,
    "serialising": 15.0,
    "divides": 15.0,
    "l1i_misses": 4.0,
    "l1d_misses": 4.0,
    "l2_misses": 120.0,
    "itlb_misses": 5.0,
    "dtlb_misses": 6.0,
    "stlb_misses": 1500.0,  # with the lines of a page of objects that was long not used
    "branch_misses": 12.0,
    "return_misses": 20.0,
    "indirect_misses": 20.0,
}


def vector(events: Mapping[str, float], empty: Mapping[str, float]) -> dict[str, float]:
    """Return the events of a call as a fit takes them, without those of an empty region."""
    found = {name: max(0.0, value - empty.get(name, 0.0)) for name, value in events.items()}
    found["plain_insns"] = max(0.0, found.get("insns", 0.0) - found.get("string_steps", 0.0))
    return {name: found.get(name, 0.0) for name in CYCLES}
