# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU with KVM: guests in real time, for the timed instrument; and whether KVM works here.

On some machines /dev/kvm exists and opens, and a guest on it hangs, at once or in a kernel's boot;
only guests that end show that it works. What was seen is remembered for a while.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import textwrap
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from lsmeter.core import process
from lsmeter.core.entries import read_facts, write_facts
from lsmeter.core.errors import InfrastructureError, LsmeterError
from lsmeter.core.limits import Limits
from lsmeter.core.model import BootProtocol, Cell, Conditions, Kernel, Setup
from lsmeter.core.model.arch import X86_64, Arch
from lsmeter.core.scratch import scratch
from lsmeter.core.storage import cache_dir
from lsmeter.guest.capture import Capture, Ending
from lsmeter.guest.probe import host_command
from lsmeter.guest.request import Request
from lsmeter.guest.session import parse_session
from lsmeter.machines import OnResults, refuse_arch, refuse_plugins
from lsmeter.machines.description import (
    Description,
    counted_guest,
    guest_of,
    in_real_time,
)
from lsmeter.machines.emulation import Emulation
from lsmeter.machines.journal import value_of
from lsmeter.machines.qemu import command_here, qemu_version
from lsmeter.measure.experiment.plan import PlannedBoot
from lsmeter.measure.instruments.timed import HUNG
from lsmeter.sources.kernels import resolve as kernels

DEVICE = Path("/dev/kvm")
DEADLINE_S = 10.0
_BOOTS = 2
_MOST_CHARS = 120  # of what a guest that failed said last
_KERNELS = ("debian:6.1", "host")  # what is measured unless another is named
# A guest that ended once does so again until something is updated; one that hung may have met a
# host that was too busy.
_GOOD_S, _BAD_S = 24 * 3600.0, 3600.0
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_FACTS_S = 20.0
_NOTHING = Request("", (), samples=1, warmup=0, icount_shift=0)  # what facts alone answer


@dataclass(frozen=True)
class Proof:
    """What was seen of KVM."""

    said: str  # one line
    works: bool = True
    hint: str = ""  # what to do where it does not work
    subject: str = ""  # what it holds for: this boot of the host, QEMU, the kernel
    taken_s: float = 0.0  # since 1970
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
    now_s, subject = time.time(), ""
    try:
        _need_device()
        kernel = cached_kernel()
        image = kernel.image_sha256 if kernel else "no kernel"
        subject = " ".join((value_of(_BOOT_ID), qemu_version(), image))
        known = read_facts(_file(), Proof)
        if known is not None and known.is_fresh(subject, now_s) and not fresh:
            return replace(known, known=True)
        proof = Proof(_boot_guests(kernel, deadline_s), subject=subject, taken_s=now_s)
    except _NoKvmError as error:
        proof = Proof(error.title, works=False, hint=error.hint, subject=subject, taken_s=now_s)
    if not subject:
        return proof
    # A full disk costs a proof of the next run, no more.
    with contextlib.suppress(LsmeterError):
        write_facts(_file(), proof)
    return proof


def cached_kernel() -> Kernel | None:
    """Return a kernel that can be booted without the network."""
    for name in _KERNELS:
        with contextlib.suppress(LsmeterError):
            return kernels.resolve(name, kernels.Request(offline=True))
    return None


def _file() -> Path:
    return cache_dir() / "kvm.json"


def _need_device() -> None:
    if not DEVICE.exists():
        raise _NoKvmError(f"there is no {DEVICE}", hint="load kvm_intel or kvm_amd")
    if not os.access(DEVICE, os.R_OK | os.W_OK):
        raise _NoKvmError(f"{DEVICE} may not be opened", hint="add yourself to the group kvm")
    if process.find(X86_64.program) is None:
        raise _NoKvmError("QEMU is not installed", hint=f"apt-get install {X86_64.package}")


def _boot_guests(kernel: Kernel | None, deadline_s: float) -> str:
    """Boot a guest of one instruction, then the kernel; return what was seen."""
    with scratch("kvm") as directory:
        disk, initrd = directory / "disk", directory / "initrd"
        disk.write_bytes(X86_64.exit_sector)
        initrd.touch()
        command = (
            *(X86_64.program, "-accel", "kvm", "-M", X86_64.boards[BootProtocol.BZIMAGE].machine),
            *("-m", "256", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
            *("-device", X86_64.exit_device, "-drive", f"file={disk},format=raw,if=ide"),
        )
        _boot("a guest of one instruction", command, X86_64.exit_code, deadline_s)
        if kernel is None:
            return "guests of one instruction ended; no kernel is here to boot"
        # Without a root file system it panics at the end of its boot, and is not started again.
        plain = counted_guest(kernel, Setup("", "", lsms=None), Conditions())
        guest = in_real_time(plain, "kvm", "host")
        places = {"console": "/dev/null", "results": "/dev/null", "initrd": str(initrd)}
        _boot(kernel.name, command_here(replace(guest, **places)), 0, deadline_s)  # type: ignore[arg-type]
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
            words = textwrap.shorten(process.last_words(done), _MOST_CHARS, placeholder=" ...")
            raise _NoKvmError(f"{what} failed on it: {words}")


class RealTime(Emulation):
    """Runs guests whose time is the host's: nothing is counted, nothing repeats to the digit."""

    accelerator: str
    cpu: str  # where the conditions leave it open

    def identity_of(self, arch: Arch, plugins: Iterable[str] = ()) -> Mapping[str, str]:
        """Name QEMU, the probe, and how guests are started."""
        refuse_arch(self, arch)
        refuse_plugins(self, plugins)
        return super().identity_of(arch)

    def guest(self, cell: Cell, seed: int = 0) -> Description:
        """Describe a guest of `cell` in real time."""
        asked = cell.conditions.cpu
        cpu = self.cpu if asked == Conditions.cpu else asked
        return in_real_time(guest_of(cell, seed), self.accelerator, cpu)

    async def run(self, planned: PlannedBoot, limits: Limits, on_results: OnResults) -> Capture:
        """Run one guest, and say what the host was like before and after.

        In real time a kernel's boot can hang where the next one does not: seen once, with two
        processors on a busy host. A guest that was silent before its probe started has measured
        nothing: it is started once more, and the fact `boot.hung` says so.
        """
        before = await _host_facts("host")
        capture = await super().run(planned, limits, on_results)
        hung: dict[str, str] = {}
        if capture.ending is Ending.SILENT and not capture.results:
            hung[HUNG] = f"silent before the probe started; ended after {capture.wall_s:.0f} s"
            said = f"a first start was {hung[HUNG]}; its console:\n{capture.console_end}\n"
            capture = await super().run(planned, limits, on_results)
            capture = replace(capture, stderr=said + capture.stderr)
        return replace(capture, facts={**before, **hung, **await _host_facts("host.after")})

    def plain_guest(self, arch: Arch = X86_64) -> Description:
        """Describe a guest without a kernel or setup: what all guests share."""
        return in_real_time(super().plain_guest(arch), self.accelerator, self.cpu)


async def _host_facts(prefix: str) -> dict[str, str]:
    """Return what the probe says of this machine."""
    done = await asyncio.to_thread(process.run_bytes, host_command(prefix), deadline_s=_FACTS_S)
    return dict(parse_session(done.stdout, _NOTHING).facts)


class Kvm(RealTime):
    """Runs guests on KVM, once some have been seen to end there."""

    name = "kvm"
    title = "QEMU with KVM: guests in real time, where `lsmeter doctor` saw some end"
    accelerator = "kvm"
    cpu = X86_64.host_cpu

    def prepare(self, cells: Iterable[Cell]) -> None:
        """See whether KVM works, which may take guests; InfrastructureError where it does not."""
        proof = prove_kvm()
        if not proof.works:
            raise InfrastructureError(
                f"--machine kvm cannot be used: {proof.said}",
                hint="--machine here measures this host as it runs; lsmeter doctor --fresh looks "
                "at KVM again",
            )
        super().prepare(cells)


MACHINE = Kvm()
