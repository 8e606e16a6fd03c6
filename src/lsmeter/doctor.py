# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks of this machine, one function each: what is missing, and how to get it."""

from __future__ import annotations

import os
import platform
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from lsmeter.base import host, process, storage
from lsmeter.base.errors import InfrastructureError, LsmeterError
from lsmeter.guest.probe import catalogue, find_probe
from lsmeter.images.bootstrap import need_to_build
from lsmeter.machines.arch import ARCHES, GUEST
from lsmeter.machines.qemu import qemu_version
from lsmeter.model import BootProtocol

_NEEDED_MEMORY_MIB = 1024
_NEEDED_DISK_MIB = 2048
_OLDEST_QEMU = (7, 2)
_PROGRAMS = ("apt-get", "dpkg-deb", "mke2fs", "setpriv")
_KVM_DEADLINE_S = 5.0
_KVM = Path("/dev/kvm")


class State(StrEnum):
    """How a check went: what is missing stops lsmeter, what is limited only narrows it."""

    OK = "ok"
    LIMITED = "limited"
    MISSING = "missing"


@dataclass(frozen=True)
class Finding:
    """One line of doctor: what was looked at, how it is, and how to get what is missing."""

    name: str
    state: State
    text: str
    hint: str = ""


Found = tuple[State, str] | tuple[State, str, str]  # a Finding without its name


def _machine() -> Found:
    machine = platform.machine()
    if machine in ARCHES:
        return State.OK, f"{host.processor()}, {host.cores()} core(s)"
    return State.MISSING, f"{machine}: only {', '.join(ARCHES)} is supported"


def _qemu() -> Found:
    """Look for QEMU, and for a version that the exact instrument was measured with."""
    version = qemu_version()
    if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) < _OLDEST_QEMU:
        return State.LIMITED, f"{version} is older than 7.2", "results may not repeat"
    return State.OK, version


def _probe() -> Found:
    return State.OK, f"{len(catalogue(find_probe()))} benchmarks"


def _programs() -> Found:
    process.need(_PROGRAMS, "kernels and guests are prepared with it")
    return State.OK, ", ".join(_PROGRAMS)


def _compiler() -> Found:
    """Look for a C compiler; only building (the probe, kernels) needs it."""
    path = shutil.which("cc")
    if path is None:
        said = "no cc: the probe and kernels cannot be built"
        return State.LIMITED, said, "apt-get install gcc libc6-dev make"
    return State.OK, path


def _images() -> Found:
    """Look for what builds guest images; only setups with a policy need them."""
    need_to_build()
    how = "as root" if os.geteuid() == 0 else "in a user namespace"
    return State.OK, f"can be built, {how}"


def _memory() -> Found:
    """Look whether a guest for each core fits into memory."""
    free = host.memory_bytes() >> 20
    text = f"{free} MiB available"
    return (State.OK, text) if free >= _NEEDED_MEMORY_MIB else (State.LIMITED, text, "use --jobs 1")


def _disk() -> Found:
    """Look whether kernels and results fit where they are kept."""
    free = min(host.free_bytes(path) for path in (storage.cache_dir(), storage.data_dir())) >> 20
    text = f"{free} MiB free for the cache"
    if free >= _NEEDED_DISK_MIB:
        return State.OK, text
    return State.LIMITED, text, "set LSMETER_CACHE and LSMETER_DATA to a larger disk"


def _kvm() -> Found:
    """Boot a guest of one instruction on KVM under a deadline, and say how that went.

    On some machines /dev/kvm exists and opens, and a guest on it hangs for ever; only a guest
    that ends shows that it works.
    """
    if not _KVM.exists():
        return State.LIMITED, "there is no /dev/kvm", "not needed for the exact instrument"
    if not os.access(_KVM, os.R_OK | os.W_OK):
        return State.LIMITED, "/dev/kvm may not be opened", "add yourself to the group kvm"
    if process.find(GUEST.program) is None:
        return State.LIMITED, "QEMU is not installed", f"apt-get install {GUEST.package}"
    with tempfile.TemporaryDirectory(prefix="lsmeter-kvm-") as directory:
        disk = Path(directory) / "disk"
        disk.write_bytes(GUEST.exit_sector)
        words = [
            *(GUEST.program, "-accel", "kvm", "-M", GUEST.boards[BootProtocol.BZIMAGE].machine),
            *("-m", "16"),
            *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
            *("-device", GUEST.exit_device),
            *("-drive", f"file={disk},format=raw,if=ide"),
        ]
        try:
            done = process.run(words, deadline_s=_KVM_DEADLINE_S)
        except InfrastructureError:
            said = f"/dev/kvm opens, but a guest on it hangs (no end within {_KVM_DEADLINE_S:g} s)"
            hint = "nested virtualisation is broken here; the exact instrument does not need KVM"
            return State.LIMITED, said, hint
    if done.returncode == GUEST.exit_code:
        return State.OK, "a guest ran on it and ended"
    said = f"a guest on it failed: {process.last_words(done)[:120]}"
    return State.LIMITED, said, "the exact instrument does not need KVM"


# What is looked at, how, and how it is when that ends in an error.
_CHECKS: tuple[tuple[str, Callable[[], Found], State], ...] = (
    ("machine", _machine, State.MISSING),
    ("QEMU", _qemu, State.MISSING),
    ("probe", _probe, State.MISSING),
    ("programs", _programs, State.MISSING),
    ("compiler", _compiler, State.LIMITED),
    ("images", _images, State.LIMITED),
    ("memory", _memory, State.LIMITED),
    ("disk", _disk, State.LIMITED),
    ("KVM", _kvm, State.LIMITED),
)


def findings() -> Iterator[Finding]:
    """Check this machine, one thing after the other."""
    for name, look, failed in _CHECKS:
        try:
            yield Finding(name, *look())
        except LsmeterError as error:
            yield Finding(name, failed, error.title, error.hint)
