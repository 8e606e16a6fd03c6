# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest as like a host as can be: which kernel, and under which conditions; pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from lsmeter.core.model.series import series_of

# What of a guest's conditions is made like the host's.
ALIKE = ("mitigations", "init_on_alloc", "cpu", "memcg", "lsms")
# Modules that cost the same with or without others, as they need no policy, and their options.
_PLAIN = {"landlock": "SECURITY_LANDLOCK", "yama": "SECURITY_YAMA", "bpf": "BPF_LSM"}

# The last minor version of each major one: 6.19 was followed by 7.0.
_LAST_MINOR = {3: 19, 4: 20, 5: 19, 6: 19}
_FIRST_MAJOR = 3


def place_of(release: str) -> int | None:
    """Return where a release stands in the row of versions; None for what is no version."""
    found = series_of(release)
    if found is None:
        return None
    passed = (_LAST_MINOR.get(at, 19) + 1 for at in range(_FIRST_MAJOR, found.major))
    return found.minor + sum(passed)


def nearest_kernel(release: str, offered: Mapping[str, str]) -> str | None:
    """Return which of the kernels, whose versions are given by name, is nearest to a release.

    Of two that are as near the later one is: it has what the host's may have got since.
    """
    wanted = place_of(release)
    found = [
        (at, name) for name, version in offered.items() if (at := place_of(version)) is not None
    ]
    if wanted is None or not found:
        return None
    return min(found, key=lambda item: (abs(item[0] - wanted), -item[0]))[1]


def conditions(
    mitigations: Mapping[str, str],
    options: Mapping[str, str],
    command_line: str,
    flags: Collection[str] = (),
    cgroups: str = "",
) -> dict[str, str | bool]:
    """Return the conditions of a guest whose code is that of a host.

    mitigations are what the host's kernel says of each vulnerability, options those that it was
    built with, as far as they are known; flags what its processor can, cgroups /proc/self/cgroup.
    """
    words = dict(word.partition("=")[::2] for word in command_line.split())
    built = options.get("INIT_ON_ALLOC_DEFAULT_ON") == "y"
    cleared = words.get("init_on_alloc", "1" if built else "0")
    return {
        "mitigations": mitigations_of(mitigations),
        "init_on_alloc": cleared.lower() in {"1", "y", "on", "true"},
        # Copies are one instruction where these are, else a function.
        "cpu": ",".join(("max", *(f"-{flag}" for flag in ("erms", "fsrm") if flag not in flags))),
        # An allocation is charged to any group but the root.
        "memcg": re.search(r"^\d+:(\S*\bmemory\b\S*)?:/.", cgroups, re.MULTILINE) is not None,
    }


def lsms_beside(active: str, options: Mapping[str, str]) -> str:
    """Return which of a host's active modules a guest with these options can have as well."""
    has = [name for name in active.split(",") if options.get(_PLAIN.get(name, "")) == "y"]
    return ",".join(has)


def mitigations_of(said: Mapping[str, str]) -> str:
    """Return the condition whose kernel code is that of a host.

    What matters is code in the way of each call: thunks of indirect branches and of returns, and
    a page table of its own. A processor that is immune needs none of them.
    """
    if said and not any("Mitigation" in text for text in said.values()):
        return "off"
    thunks = "Retpoline" in said.get("spectre_v2", "")
    isolated = "PTI" in said.get("meltdown", "")
    returns = re.search("untrained|safe RET", said.get("retbleed", "")) is not None
    if returns:
        return "forced"
    if isolated:
        return "retpoline+pti"
    return "retpoline" if thunks else "immune"


def unlike(said: Mapping[str, str]) -> Iterable[str]:
    """Say what of a host's mitigations a guest under that condition has otherwise."""
    if mitigations_of(said) != "forced":
        return
    if "PTI" not in said.get("meltdown", ""):
        yield "the guest isolates page tables, the host does not"
    if "Retpoline" not in said.get("spectre_v2", ""):
        yield "the guest has thunks for indirect branches, the host has none"
