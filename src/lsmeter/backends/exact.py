# SPDX-License-Identifier: GPL-2.0-or-later
"""The exact instrument: guest instructions, counted by QEMU's TCG under -icount."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from lsmeter.backend import Backend, Capture, OnResults
from lsmeter.guest.boot_image import FILESYSTEMS, initramfs_for
from lsmeter.guest.probe import find_probe
from lsmeter.limits import Limits
from lsmeter.model import BootProtocol, Cell, Conditions, Instrument, Setup
from lsmeter.plan import PlannedBoot
from lsmeter.qemu.command import Channels, GuestStart, exact_arguments, kernel_cmdline
from lsmeter.qemu.program import qemu_version, run_qemu


class ExactBackend(Backend):
    """Runs guests on TCG with one virtual CPU whose clock is its instruction count."""

    name = "exact"
    title = "guest instructions, counted under emulation (QEMU TCG, -icount): free of noise"
    instrument = Instrument.EXACT

    def identity(self) -> Mapping[str, str]:
        """Name QEMU, the probe, and how guests are started apart from what a cell says."""
        return {
            "qemu": qemu_version(),
            "probe": find_probe().sha256,
            "start": hashlib.sha256(" ".join(_plain_start()).encode()).hexdigest(),
        }

    def filesystems(self) -> tuple[str, ...]:
        """Name the file systems that the guest can make."""
        return FILESYSTEMS

    def command(self, cell: Cell) -> tuple[str, ...]:
        """Return the QEMU command of a cell, with words in place of what changes by boot."""
        return guest_arguments(cell, 0, Channels("CONSOLE", "RESULTS", "INITRD"))

    async def run(self, boot: PlannedBoot, limits: Limits, on_results: OnResults) -> Capture:
        """Run one guest with an initramfs of its own."""
        return await run_qemu(
            lambda channels: guest_arguments(boot.cell, boot.seed, channels),
            initramfs_for(boot.cell, boot.seed, limits.benchmark_ms),
            limits,
            on_results,
            units=boot.cell.units,
        )


def guest_arguments(cell: Cell, seed: int, channels: Channels, plugin: str = "") -> tuple[str, ...]:
    """Return the QEMU command of a cell; plugin is what QEMU's -plugin takes."""
    guest = GuestStart(
        boot_protocol=cell.kernel.boot_protocol,
        image=str(cell.kernel.image),
        cmdline=kernel_cmdline(cell.setup, cell.conditions),
        conditions=cell.conditions,
        seed=seed,
        disk=str(cell.image.file) if cell.image else "",
        plugin=plugin,
    )
    return exact_arguments(guest, channels)


def _plain_start() -> tuple[str, ...]:
    """Return the command of a guest without a kernel or setup: what all guests share."""
    setup = Setup(name="", title="", lsms=None)
    cmdline = kernel_cmdline(setup, Conditions())
    guest = GuestStart(BootProtocol.PVH, "KERNEL", cmdline, Conditions(), 0)
    return exact_arguments(guest, Channels("CONSOLE", "RESULTS", "INITRD"))


BACKEND = ExactBackend()
