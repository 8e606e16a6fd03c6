# SPDX-License-Identifier: GPL-2.0-or-later
"""Facts of the machine that lsmeter itself runs on, for the manifest and for doctor."""

from __future__ import annotations

import os
import platform
import re
import resource
import shutil
from pathlib import Path


def host_facts() -> tuple[tuple[str, str], ...]:
    """Return what a reader of results may ask of the machine: processor, memory, system."""
    return (
        ("processor", processor()),
        ("cores", str(cores())),
        ("memory_mib", str(memory_bytes() >> 20)),
        ("system", _told("/etc/os-release", r"PRETTY_NAME=\"?([^\"\n]+)") or platform.system()),
        ("kernel", platform.release()),
        ("python", platform.python_version()),
    )


def cores() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0))


def processor() -> str:
    """Return the processor's model name, or the architecture where none is told."""
    return _told("/proc/cpuinfo", r"model name\s*: *(.*\S)") or platform.machine()


def microcode() -> str:
    """Return the revision of the processor's microcode, "" where none is told."""
    return _told("/proc/cpuinfo", r"microcode\s*: *(.*\S)")


def command_line() -> str:
    """Return what the kernel was booted with, "" where it is not told."""
    return _told("/proc/cmdline", r"(.*)")


def flags() -> tuple[str, ...]:
    """Return the names of what the processor can."""
    return tuple(_told("/proc/cpuinfo", r"flags\s*: *(.*\S)").split())


def cgroups() -> str:
    """Return which control groups this process is in, "" where it is not told."""
    return _told("/proc/self/cgroup", r"((?:.*\n)*)")


def vulnerabilities() -> dict[str, str]:
    """Return what the kernel says it does about each vulnerability of the processor."""
    folder = Path("/sys/devices/system/cpu/vulnerabilities")
    found = {path.name: _told(str(path), r"(.*\S)") for path in sorted(folder.glob("*"))}
    return {name: text for name, text in found.items() if text}


def memory_bytes() -> int:
    """Return how much memory is available without swapping; 0 when it is not told."""
    return int(_told("/proc/meminfo", r"MemAvailable:\s*(\d+)") or 0) << 10


def limit_mib(*kinds: int) -> int | None:
    """Return the least of what a process may take by limits such as RLIMIT_AS; None without one."""
    soft = [resource.getrlimit(kind)[0] for kind in kinds]
    return min((most >> 20 for most in soft if most != resource.RLIM_INFINITY), default=None)


def free_bytes(path: Path) -> int:
    """Return the free space where `path` is, or will be made."""
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free


def _told(path: str, line: str) -> str:
    """Return the first group of the first line in a file that begins like `line`, or ""."""
    found = re.search(f"^{line}", text_of(Path(path)), re.MULTILINE)
    return found[1] if found else ""


def text_of(path: Path) -> str:
    """Return what is in a file, "" where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
