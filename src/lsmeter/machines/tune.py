# SPDX-License-Identifier: GPL-2.0-or-later
"""What --tune changes on this machine so that readings vary less; nothing is changed without it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from lsmeter.core.errors import UsageError
from lsmeter.machines.journal import ROOT, Change, changed, root, value_of

CGROUP = "LSMETER_CGROUP"  # tells the probe which group to enter
_CPUS = "sys/devices/system/cpu"
_CGROUPS = "sys/fs/cgroup"


@contextmanager
def tuned(tell: Callable[[str], None]) -> Iterator[tuple[Change, ...]]:
    """Tune this machine for the length of the block, and tell what is changed and what is not."""
    if os.geteuid() and ROOT not in os.environ:
        raise UsageError("--tune: only root can change this machine", hint="leave it out")
    changes = tuning(root())
    with changed(changes, needed=False) as refused:
        titles = dict.fromkeys(change.title for change in changes)
        tell(f"tuned until the end: {', '.join(titles) or 'nothing that is not so already'}")
        for text in refused:
            tell(f"not tuned: {text}")
        yield changes


def tuning(top: Path) -> tuple[Change, ...]:
    """Return what can be changed on the machine whose /sys and /proc are beneath `top`."""
    return (*_governors(top), *_turbo(top), *_aslr(top), *_isolation(top))


def cgroup(changes: tuple[Change, ...]) -> str:
    """Return the group that the probe has a CPU of its own in, "" where there is none."""
    return next((change.path for change in changes if change.directory), "")


def _governors(top: Path) -> Iterator[Change]:
    for path in sorted((top / _CPUS).glob("cpu[0-9]*/cpufreq/scaling_governor")):
        offered = value_of(path.with_name("scaling_available_governors")).split()
        now = value_of(path)
        if now and now != "performance" and "performance" in offered:
            cpu = path.parent.parent.name
            yield Change(str(path), now, "performance", f"the frequency governor of {cpu}")


def _turbo(top: Path) -> Iterator[Change]:
    """Off: how fast it lets a CPU go depends on what the others do, and on heat."""
    for name, on, off in (("intel_pstate/no_turbo", "0", "1"), ("cpufreq/boost", "1", "0")):
        path = top / _CPUS / name
        if value_of(path) == on:
            yield Change(str(path), on, off, "turbo")
            return


def _aslr(top: Path) -> Iterator[Change]:
    path = top / "proc/sys/kernel/randomize_va_space"
    if (now := value_of(path)) not in {"", "0"}:
        yield Change(str(path), now, "0", "address space randomisation")


def _isolation(top: Path) -> Iterator[Change]:
    """Keep other tasks off the last CPU, by a partition of cgroup v2 (Linux 6.1)."""
    home = top / _CGROUPS
    cpu = _last_cpu(value_of(top / _CPUS / "online"))
    if "cpuset" not in value_of(home / "cgroup.controllers").split() or not cpu:
        return
    control = home / "cgroup.subtree_control"
    if "cpuset" not in value_of(control).split():
        yield Change(str(control), "-cpuset", "+cpuset", "the cpuset controller")
    group = home / f"lsmeter-{os.getpid()}"
    yield Change(str(group), "", "", "a group with a CPU of its own")
    yield Change(str(group / "cpuset.cpus"), "", cpu, f"the CPU of the group: {cpu}")
    kind = group / "cpuset.cpus.partition"
    yield Change(str(kind), "member", "isolated", "the isolation of that CPU")


def _last_cpu(online: str) -> str:
    """Return the last CPU of a list such as 0-3, "" where there is only one."""
    last = online.rpartition(",")[2].rpartition("-")[2]
    return last if last.isdecimal() and last != "0" else ""
