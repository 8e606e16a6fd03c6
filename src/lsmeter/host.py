# SPDX-License-Identifier: GPL-2.0-or-later
"""Facts of the machine that lsmeter itself runs on, for the manifest and for doctor."""

from __future__ import annotations

import os
import platform
import shutil
from pathlib import Path


def host_facts() -> tuple[tuple[str, str], ...]:
    """Return what a reader of results may ask of the machine: processor, memory, system."""
    return (
        ("processor", processor()),
        ("cores", str(cores())),
        ("memory_mib", str(memory_bytes() >> 20)),
        ("system", _pretty_name()),
        ("kernel", platform.release()),
        ("python", platform.python_version()),
    )


def cores() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0))


def processor() -> str:
    """Return the processor's model name, or the architecture where none is told."""
    for line in _lines("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def memory_bytes() -> int:
    """Return how much memory can be had now without swapping; 0 when it is not told."""
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    return 0


def free_bytes(path: Path) -> int:
    """Return the free space where `path` is, or will be made."""
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free


def _pretty_name() -> str:
    for line in _lines("/etc/os-release"):
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip().strip('"')
    return platform.system()


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
