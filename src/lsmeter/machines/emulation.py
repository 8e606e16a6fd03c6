# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU's emulator, counting: the guest's clock is its instruction count, on any host.

A boot that asks for it runs with a plugin that sees whose function each instruction is. Its
counts are the same; it only takes longer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from lsmeter.base.limits import Limits
from lsmeter.experiment.plan import PlannedBoot
from lsmeter.guest.boot_image import initramfs_for
from lsmeter.guest.capture import Capture
from lsmeter.guest.probe import find_probe
from lsmeter.machines import Machine, OnResults
from lsmeter.machines.description import Description, Plugin, counted_guest, qemu_words
from lsmeter.machines.plugin import build_plugin, kernel_symbols, write_symbols
from lsmeter.machines.qemu import qemu_version, run_guest
from lsmeter.machines.replay import record
from lsmeter.model import BootProtocol, Cell, Conditions, Kernel, Setup
from lsmeter.tasks import find_task

ATTRIBUTION = "attribution"  # in Capture.outputs


class Emulation(Machine):
    """Runs guests on TCG with one virtual CPU."""

    name = "emulation"
    title = "QEMU's emulator, which counts instructions: no root, no KVM, any host"

    def identity(self, *, attribute: bool = False) -> Mapping[str, str]:
        """Name QEMU, the probe, how guests are started apart from what a cell says, the plugin."""
        plugin = {ATTRIBUTION: build_plugin(qemu_version()).sha256} if attribute else {}
        return {
            "qemu": qemu_version(),
            "probe": find_probe().sha256,
            "start": hashlib.sha256(" ".join(plain_start()).encode()).hexdigest(),
            **plugin,
        }

    def command(self, cell: Cell) -> tuple[str, ...]:
        """Return the QEMU command of a cell, with words in place of what changes by boot."""
        plugin = Plugin("PLUGIN") if find_task(cell.task.name).plugin else None
        return qemu_words(replace(guest_of(cell), plugin=plugin))

    async def run(self, planned: PlannedBoot, limits: Limits, on_results: OnResults) -> Capture:
        """Run one guest with an initramfs of its own."""
        cell = planned.cell
        guest = guest_of(cell, planned.seed)
        if find_task(cell.task.name).plugin:
            guest = replace(guest, plugin=await attribution_plugin(cell.kernel, limits))
        initrd = initramfs_for(cell, planned.seed, limits.benchmark_ms)
        capture = await run_guest(guest, initrd, limits, on_results, cell.units)
        record(planned, capture)
        return capture


async def attribution_plugin(kernel: Kernel, limits: Limits) -> Plugin:
    """Make the plugin and the kernel's symbols ready; limits as in kernel_symbols."""
    symbols = write_symbols(await kernel_symbols(kernel, limits))
    return Plugin(
        file=str(build_plugin(qemu_version()).path),
        arguments=(("syms", str(symbols)),),
        outputs=((ATTRIBUTION, "out"),),
    )


def guest_of(cell: Cell, seed: int = 0) -> Description:
    """Describe a guest of `cell`."""
    guest = counted_guest(cell.kernel, cell.setup, cell.conditions, seed)
    return replace(guest, disks=(str(cell.image.file),)) if cell.image else guest


def plain_start() -> tuple[str, ...]:
    """Return the command of a guest without a kernel or setup: what all guests share."""
    kernel = Kernel("", "", "", "", Path("KERNEL"), "", BootProtocol.PVH)
    return qemu_words(counted_guest(kernel, Setup("", "", lsms=None), Conditions()))


MACHINE = Emulation()
