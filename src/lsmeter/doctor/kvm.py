# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether KVM truly works: a tiny guest has to run its one instruction before a deadline.

On some machines /dev/kvm exists and opens, and a guest on it hangs for ever; only a guest that
ends proves anything.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from lsmeter.doctor.check import Finding, State
from lsmeter.qemu.command import PROGRAM

DEADLINE_S = 5.0
_DEVICE = Path("/dev/kvm")
_BOOT_SECTOR_BYTES = 512
# A boot sector in 16-bit code: mov al, 0; out 0xf4, al (the exit device); hlt.
_CODE = bytes((0xB0, 0x00, 0xE6, 0xF4, 0xF4))
# isa-debug-exit ends QEMU with (value << 1) | 1.
_EXIT_CODE = 1


def kvm_arguments(disk: str) -> tuple[str, ...]:
    """Return the QEMU command of the proof; pure."""
    return (
        *(PROGRAM, "-accel", "kvm", "-M", "pc", "-m", "16"),
        *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *("-device", "isa-debug-exit,iobase=0xf4,iosize=0x04"),
        *("-drive", f"file={disk},format=raw,if=ide"),
    )


def boot_sector() -> bytes:
    """Return a disk whose boot sector tells QEMU to exit."""
    return _CODE.ljust(_BOOT_SECTOR_BYTES - 2, b"\0") + b"\x55\xaa"


def check_kvm(deadline_s: float = DEADLINE_S) -> Finding:
    """Boot a guest on KVM under a deadline and say how that went."""
    if not _DEVICE.exists():
        return _limited("there is no /dev/kvm", "not needed for the exact instrument")
    if not os.access(_DEVICE, os.R_OK | os.W_OK):
        return _limited("/dev/kvm may not be opened", "add yourself to the group kvm")
    with tempfile.TemporaryDirectory(prefix="lsmeter-kvm-") as directory:
        disk = Path(directory) / "disk"
        disk.write_bytes(boot_sector())
        try:
            done = subprocess.run(
                kvm_arguments(str(disk)),
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=deadline_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return _limited(
                f"/dev/kvm opens, but a guest on it hangs (no end within {deadline_s:g} s)",
                "nested virtualisation is broken here; the exact instrument does not need KVM",
            )
        except OSError as error:
            return _limited(f"QEMU does not start: {error}", "apt-get install qemu-system-x86")
    if done.returncode == _EXIT_CODE:
        return Finding("KVM", State.OK, "a guest ran on it and ended")
    said = done.stderr.decode(errors="replace").strip().splitlines()
    reason = said[-1][:120] if said else f"exit code {done.returncode}"
    return _limited(f"a guest on it failed: {reason}", "the exact instrument does not need KVM")


def _limited(text: str, hint: str) -> Finding:
    return Finding("KVM", State.LIMITED, text, hint)
