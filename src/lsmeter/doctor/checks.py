# SPDX-License-Identifier: GPL-2.0-or-later
"""Every check of doctor, in the order in which it shows them."""

from __future__ import annotations

import os
import platform
import re
import shutil
from collections.abc import Callable

from lsmeter import host, storage
from lsmeter.doctor.check import Finding, State
from lsmeter.doctor.kvm import check_kvm
from lsmeter.errors import LsmeterError
from lsmeter.guest.probe import catalogue, find_probe
from lsmeter.image import programs
from lsmeter.qemu.program import qemu_version

_NEEDED_MEMORY_MIB = 1024
_NEEDED_DISK_MIB = 2048
_OLDEST_QEMU = (7, 2)


def check_machine() -> Finding:
    """Look at the architecture: guests and probe are x86-64."""
    machine = platform.machine()
    if machine == "x86_64":
        return Finding("machine", State.OK, f"{host.processor()}, {host.cores()} core(s)")
    return Finding("machine", State.MISSING, f"{machine}: only x86_64 is supported")


def check_qemu() -> Finding:
    """Look for QEMU, and for a version that the exact instrument was measured with."""
    try:
        version = qemu_version()
    except LsmeterError as error:
        return Finding("QEMU", State.MISSING, error.title, error.hint)
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if numbers < _OLDEST_QEMU:
        return Finding(
            "QEMU", State.LIMITED, f"{version} is older than 7.2", "results may not repeat"
        )
    return Finding("QEMU", State.OK, version)


def check_probe() -> Finding:
    """Look for the probe, and run it."""
    try:
        count = len(catalogue(find_probe()))
    except LsmeterError as error:
        return Finding("probe", State.MISSING, error.title, error.hint)
    return Finding("probe", State.OK, f"{count} benchmarks")


def check_programs() -> Finding:
    """Look for the small programs that kernels and guests are prepared with."""
    packages = {
        "apt-get": "apt",
        "dpkg-deb": "dpkg",
        "mke2fs": "e2fsprogs",
        "setpriv": "util-linux",
    }
    missing = [name for name in packages if shutil.which(name) is None]
    if not missing:
        return Finding("programs", State.OK, ", ".join(packages))
    wanted = " ".join(packages[name] for name in missing)
    return Finding(
        "programs", State.MISSING, f"not found: {', '.join(missing)}", f"apt-get install {wanted}"
    )


def check_compiler() -> Finding:
    """Look for a C compiler; only building (the probe, kernels) needs it."""
    path = shutil.which("cc")
    if path is None:
        return Finding(
            "compiler",
            State.LIMITED,
            "no cc: the probe and kernels cannot be built",
            "apt-get install gcc libc6-dev make",
        )
    return Finding("compiler", State.OK, path)


def check_image_builder() -> Finding:
    """Look for what builds guest images; only setups with a policy need them."""
    try:
        programs.need_to_build()
    except LsmeterError as error:
        return Finding("images", State.LIMITED, error.title, error.hint)
    how = "as root" if os.geteuid() == 0 else "in a user namespace"
    return Finding("images", State.OK, f"can be built, {how}")


def check_memory() -> Finding:
    """Look whether a guest for each core fits into memory."""
    free = host.memory_bytes() >> 20
    state = State.OK if free >= _NEEDED_MEMORY_MIB else State.LIMITED
    hint = "" if state is State.OK else "use --jobs 1"
    return Finding("memory", state, f"{free} MiB available", hint)


def check_disk() -> Finding:
    """Look whether kernels and results fit where they are kept."""
    free = min(host.free_bytes(path) for path in (storage.cache_dir(), storage.data_dir())) >> 20
    state = State.OK if free >= _NEEDED_DISK_MIB else State.LIMITED
    hint = "" if state is State.OK else "set LSMETER_CACHE and LSMETER_DATA to a larger disk"
    return Finding("disk", state, f"{free} MiB free for the cache", hint)


CHECKS: tuple[Callable[[], Finding], ...] = (
    check_machine,
    check_qemu,
    check_probe,
    check_programs,
    check_compiler,
    check_image_builder,
    check_memory,
    check_disk,
    check_kvm,
)
