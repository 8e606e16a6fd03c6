# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares how often modules decide with the least that POSIX needs (Table 7, column Min Hook).

Only modules that judge accesses to files are compared: those with a hook of FILE_JUDGES. Their
decisions are the runs of the interfaces that are decisions (see lsmeter.hooks.source.classes) and
that the module acts on.
"""

from __future__ import annotations

import csv
import importlib.resources
import re
from collections.abc import Iterable
from dataclasses import dataclass

from lsmeter.hooks.source.model import (
    Count,
    Mediation,
    Module,
    SyscallUse,
)
from lsmeter.hooks.source.syscalls import family_of

OVER_WORKED = "over-worked"
AS_NEEDED = "as needed"
FEWER = "fewer"
UNMEDIATED = "unmediated"
NONE_NEEDED = "none needed"

# A module that labels inodes has the first; one that judges paths has the others. IMA and IPE,
# which measure or verify some files, have none of them and are not asked to mediate all.
FILE_JUDGES = frozenset({"inode_permission", "path_mkdir", "path_unlink"})


@dataclass(frozen=True)
class Published:
    """A row of the study's Table 7: counts on 5.3, the most of each module."""

    syscall: str
    similar: str
    least: Count
    interface: str  # "" where the table has none
    counts: tuple[tuple[str, Count], ...]


def published_table7() -> tuple[Published, ...]:
    """Return the study's Table 7 from the package's reference data."""
    rows: list[Published] = []
    for row in reference_rows("asiaccs21-table7.csv"):
        counts = tuple(
            (name, parse_count(row[name])) for name in ("selinux", "apparmor", "smack", "tomoyo")
        )
        least = parse_count(row["least"])
        rows.append(Published(row["syscall"], row["similar"], least, row["interface"], counts))
    return tuple(rows)


def reference_rows(name: str) -> tuple[dict[str, str], ...]:
    """Read one CSV of the reference data; its first lines, which begin with #, name the source."""
    text = importlib.resources.files("lsmeter.reference").joinpath(name).read_text("utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return tuple(csv.DictReader(lines))


def parse_count(text: str) -> Count:
    """Read `3`, `d`, `6d` or `2d+4`."""
    found = re.fullmatch(r"(?:(\d*)d)?\+?(\d+)?", text.strip())
    if not found or not text.strip():
        raise ValueError(f"{text!r} is no count")
    per_component = 0 if found[1] is None else int(found[1] or "1")
    return Count(int(found[2] or "0"), per_component)


def judges(modules: Iterable[Module]) -> tuple[str, ...]:
    """Return the names of the modules that judge accesses to files."""
    return tuple(module.name for module in modules if _judges_files(module))


def mediate(syscalls: Iterable[SyscallUse]) -> tuple[Mediation, ...]:
    """Compare the decisions of each module with the least, where the table has one."""
    least = {row.syscall: row.least for row in published_table7()}
    return tuple(
        Mediation(
            use.syscall,
            use.filesystem,
            one.module,
            one.ordinary,
            one.most,
            needed,
            _verdict(one.ordinary, needed),
        )
        for use in syscalls
        if (needed := least.get(family_of(use.syscall))) is not None
        for one in use.decisions
    )


def _judges_files(module: Module) -> bool:
    return any(one.hook in FILE_JUDGES for one in module.implementations)


def _verdict(decisions: Count, least: Count) -> str:
    if decisions == least:
        return NONE_NEEDED if least == Count() else AS_NEEDED
    if decisions > least:
        return OVER_WORKED
    return UNMEDIATED if decisions == Count() else FEWER
