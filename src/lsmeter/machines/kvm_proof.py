# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether KVM works here: shown by guests that end within a deadline, and remembered for a while.

On some machines /dev/kvm exists and opens, and a guest on it hangs, at once or in a kernel's boot;
only guests that end show that it works.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path

from lsmeter.core import process
from lsmeter.core.entries import read_facts, write_facts
from lsmeter.core.errors import InfrastructureError, LsmeterError
from lsmeter.core.model import BootProtocol, Conditions, Kernel, Setup
from lsmeter.core.model.arch import GUEST
from lsmeter.core.scratch import scratch
from lsmeter.core.storage import cache_dir
from lsmeter.machines.description import counted_guest, in_real_time, qemu_command
from lsmeter.machines.qemu import qemu_version
from lsmeter.sources.kernels.resolve import Request, resolve

DEVICE = Path("/dev/kvm")
DEADLINE_S = 10.0
_BOOTS = 2
_KERNELS = ("debian:6.1", "host")  # what is measured unless another is named
# A guest that ended once does so again until something is updated; one that hung may have met a
# host that was too busy.
_GOOD_S, _BAD_S = 24 * 3600.0, 3600.0
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class Proof:
    """What was seen of KVM: said is one line, hint what to do where it does not work.

    subject names what it holds for (this boot of the host, QEMU, the kernel), taken_s when it was
    taken, in seconds since 1970.
    """

    said: str
    works: bool = True
    hint: str = ""
    subject: str = ""
    taken_s: float = 0.0
    known: bool = False  # from the cache

    def is_fresh(self, subject: str, now_s: float) -> bool:
        """Say whether it still stands for `subject`; a clock that was put back voids it."""
        age_s = now_s - self.taken_s
        return subject == self.subject and 0 <= age_s < (_GOOD_S if self.works else _BAD_S)


class _NoKvmError(InfrastructureError):
    """Why KVM cannot be used."""


def prove_kvm(*, fresh: bool = False, deadline_s: float = DEADLINE_S) -> Proof:
    """Boot guests on KVM, each under a deadline; take what the cache says where that still stands.

    fresh: boot them whatever is known. A device that is missing or closed to this user is looked
    at each time. Never raises for what KVM does.
    """
    now_s = time.time()
    try:
        _need_device()
    except _NoKvmError as error:
        return Proof(error.title, works=False, hint=error.hint)
    kernel = cached_kernel()
    subject = " ".join((_boot_id(), qemu_version(), kernel.image_sha256 if kernel else "no kernel"))
    known = read_facts(_file(), Proof)
    if known is not None and known.is_fresh(subject, now_s) and not fresh:
        return replace(known, known=True)
    try:
        proof = Proof(_boot_guests(kernel, deadline_s), subject=subject, taken_s=now_s)
    except _NoKvmError as error:
        proof = Proof(error.title, works=False, hint=error.hint, subject=subject, taken_s=now_s)
    # A full disk costs a proof of the next run, no more.
    with contextlib.suppress(LsmeterError):
        write_facts(_file(), proof)
    return proof


def cached_kernel() -> Kernel | None:
    """Return a kernel that can be booted without the network."""
    for name in _KERNELS:
        with contextlib.suppress(LsmeterError):
            return resolve(name, Request(offline=True))
    return None


def _file() -> Path:
    return cache_dir() / "kvm.json"


def _boot_id() -> str:
    with contextlib.suppress(OSError):
        return _BOOT_ID.read_text(encoding="ascii").strip()
    return ""


def _need_device() -> None:
    if not DEVICE.exists():
        raise _NoKvmError(f"there is no {DEVICE}", hint="load kvm_intel or kvm_amd")
    if not os.access(DEVICE, os.R_OK | os.W_OK):
        raise _NoKvmError(f"{DEVICE} may not be opened", hint="add yourself to the group kvm")
    if process.find(GUEST.program) is None:
        raise _NoKvmError("QEMU is not installed", hint=f"apt-get install {GUEST.package}")


def _boot_guests(kernel: Kernel | None, deadline_s: float) -> str:
    """Boot a guest of one instruction, then the kernel; return what was seen."""
    with scratch("kvm") as directory:
        disk, initrd = directory / "disk", directory / "initrd"
        disk.write_bytes(GUEST.exit_sector)
        initrd.touch()
        command = (
            *(GUEST.program, "-accel", "kvm", "-M", GUEST.boards[BootProtocol.BZIMAGE].machine),
            *("-m", "256", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
            *("-device", GUEST.exit_device, "-drive", f"file={disk},format=raw,if=ide"),
        )
        _boot("a guest of one instruction", command, GUEST.exit_code, deadline_s)
        if kernel is None:
            return "guests of one instruction ended; no kernel is here to boot"
        # Without a root file system it panics at the end of its boot, and is not started again.
        plain = counted_guest(kernel, Setup("", "", lsms=None), Conditions())
        guest = in_real_time(plain, "kvm", "host")
        places = {"console": "/dev/null", "results": "/dev/null", "initrd": str(initrd)}
        _boot(kernel.name, qemu_command(replace(guest, **places)), 0, deadline_s)  # type: ignore[arg-type]
    return f"{kernel.name} booted {_BOOTS} times"


def _boot(what: str, command: tuple[str, ...], status: int, deadline_s: float) -> None:
    for number in range(_BOOTS):
        try:
            # No guest is left behind, whatever happens to lsmeter.
            done = process.run((*process.DIES_WITH_US, *command), deadline_s=deadline_s)
        except InfrastructureError as error:
            said = f"{what} hangs on it (boot {number + 1}: no end within {deadline_s:g} s)"
            hint = "nested virtualisation may be broken here"
            raise _NoKvmError(said, hint=hint) from error
        if done.returncode != status:
            raise _NoKvmError(f"{what} failed on it: {process.last_words(done)[:120]}")
