# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks of this machine, one function each: what is missing, and how to get it."""

from __future__ import annotations

import os
import platform
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
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
from lsmeter.tables.model import Document, Kind, Section, Shown, Table, Tone, columns, rows

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


class _LimitedError(LsmeterError):
    """What a check ends with when lsmeter works all the same, if not for everything."""


def _machine() -> str:
    machine = platform.machine()
    if machine in ARCHES:
        return f"{host.processor()}, {host.cores()} core(s)"
    raise InfrastructureError(f"{machine}: only {', '.join(ARCHES)} is supported")


def _qemu() -> str:
    """Look for QEMU, and for a version that the exact instrument was measured with."""
    version = qemu_version()
    if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) < _OLDEST_QEMU:
        raise _LimitedError(f"{version} is older than 7.2", hint="results may not repeat")
    return version


def _probe() -> str:
    return f"{len(catalogue(find_probe()))} benchmarks"


def _programs() -> str:
    process.need(_PROGRAMS, "kernels and guests are prepared with it")
    return ", ".join(_PROGRAMS)


def _compiler() -> str:
    """Look for a C compiler; only building (the probe, kernels) needs it."""
    if path := shutil.which("cc"):
        return path
    said = "no cc: the probe and kernels cannot be built"
    raise _LimitedError(said, hint="apt-get install gcc libc6-dev make")


def _images() -> str:
    """Look for what builds guest images; only setups with a policy need them."""
    try:
        need_to_build()
    except LsmeterError as error:
        raise _LimitedError(error.title, hint=error.hint) from error
    return "can be built, " + ("as root" if os.geteuid() == 0 else "in a user namespace")


def _memory() -> str:
    """Look whether a guest for each core fits into memory."""
    free = host.memory_bytes() >> 20
    return _enough(free, _NEEDED_MEMORY_MIB, f"{free} MiB available", "use --jobs 1")


def _disk() -> str:
    """Look whether kernels and results fit where they are kept."""
    free = min(host.free_bytes(path) for path in (storage.cache_dir(), storage.data_dir())) >> 20
    hint = "set LSMETER_CACHE and LSMETER_DATA to a larger disk"
    return _enough(free, _NEEDED_DISK_MIB, f"{free} MiB free for the cache", hint)


def _enough(found: int, needed: int, text: str, hint: str) -> str:
    if found < needed:
        raise _LimitedError(text, hint=hint)
    return text


def _kvm() -> str:
    """Boot a guest of one instruction on KVM under a deadline, and say how that went.

    On some machines /dev/kvm exists and opens, and a guest on it hangs for ever; only a guest
    that ends shows that it works.
    """
    if not _KVM.exists():
        raise _LimitedError("there is no /dev/kvm", hint="not needed for the exact instrument")
    if not os.access(_KVM, os.R_OK | os.W_OK):
        raise _LimitedError("/dev/kvm may not be opened", hint="add yourself to the group kvm")
    if process.find(GUEST.program) is None:
        hint = f"apt-get install {GUEST.package}"
        raise _LimitedError("QEMU is not installed", hint=hint)
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
        except InfrastructureError as error:
            said = f"/dev/kvm opens, but a guest on it hangs (no end within {_KVM_DEADLINE_S:g} s)"
            hint = "nested virtualisation is broken here; the exact instrument does not need KVM"
            raise _LimitedError(said, hint=hint) from error
    if done.returncode == GUEST.exit_code:
        return "a guest ran on it and ended"
    said = f"a guest on it failed: {process.last_words(done)[:120]}"
    raise _LimitedError(said, hint="the exact instrument does not need KVM")


_CHECKS: dict[str, Callable[[], str]] = {
    "machine": _machine,
    "QEMU": _qemu,
    "probe": _probe,
    "programs": _programs,
    "compiler": _compiler,
    "images": _images,
    "memory": _memory,
    "disk": _disk,
    "KVM": _kvm,
}


def findings() -> Iterator[Finding]:
    """Check this machine, one thing after the other."""
    for name, look in _CHECKS.items():
        try:
            yield Finding(name, State.OK, look())
        except _LimitedError as error:
            yield Finding(name, State.LIMITED, error.title, error.hint)
        except LsmeterError as error:
            yield Finding(name, State.MISSING, error.title, error.hint)


def doctor_document(found: Iterable[Finding]) -> Document:
    """Make the table of what was found; pure."""
    tones = {State.OK: Tone.BETTER, State.LIMITED: Tone.WARNING, State.MISSING: Tone.WORSE}
    heads = (*columns(Kind.NAME, "state", "what"), *columns(Kind.PROSE, "found", "what to do"))
    cells = rows(
        (Shown(one.state.value, one.state.value, tones[one.state]), one.name, one.text, one.hint)
        for one in found
    )
    section = Section("", tables=(Table("checks", "", heads, cells),))
    return Document("lsmeter-doctor", 1, "This machine", sections=(section,))
