# SPDX-License-Identifier: GPL-2.0-or-later
"""The exact instrument with attribution: a QEMU plugin sees whose function each instruction is.

Counts are those of the exact instrument; its guests only take longer on the host.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from lsmeter.backend import Backend, Capture, OnResults
from lsmeter.backends.exact import BACKEND as EXACT
from lsmeter.backends.exact import guest_arguments
from lsmeter.guest.boot_image import initramfs_for
from lsmeter.hooks.attribution.kallsyms import kernel_symbols
from lsmeter.hooks.attribution.parse import MAX_BYTES
from lsmeter.hooks.attribution.plugin import build_plugin, plugin_argument, write_symbols
from lsmeter.limits import Limits
from lsmeter.model import Cell, Instrument
from lsmeter.plan import PlannedBoot
from lsmeter.qemu.command import Channels
from lsmeter.qemu.program import qemu_version, run_qemu


class AttributedBackend(Backend):
    """Runs guests as the exact instrument does, with the plugin; Capture.attribution is filled."""

    name = "attributed"
    title = "the exact instrument, with every instruction attributed to its function"
    instrument = Instrument.EXACT
    internal = True  # asked for by --attribute

    def identity(self) -> Mapping[str, str]:
        """Name what the exact instrument does, and the plugin."""
        return {**EXACT.identity(), "attribution": build_plugin(qemu_version()).sha256}

    def filesystems(self) -> tuple[str, ...]:
        """Name the file systems that the guest can make."""
        return EXACT.filesystems()

    def command(self, cell: Cell) -> tuple[str, ...]:
        """Return the QEMU command of a cell, with words in place of what changes by boot."""
        return guest_arguments(cell, 0, Channels("CONSOLE", "RESULTS", "INITRD"), "PLUGIN")

    async def run(self, boot: PlannedBoot, limits: Limits, on_results: OnResults) -> Capture:
        """Run one guest with an initramfs of its own, and read what its plugin wrote."""
        symbols = write_symbols(await kernel_symbols(boot.cell.kernel, limits))
        plugin = build_plugin(qemu_version())
        with tempfile.TemporaryDirectory(prefix="lsmeter-attribution-") as folder:
            output = Path(folder) / "out"
            given = plugin_argument(plugin, symbols, output)
            capture = await run_qemu(
                lambda channels: guest_arguments(boot.cell, boot.seed, channels, given),
                initramfs_for(boot.cell, boot.seed, limits.benchmark_ms),
                limits,
                on_results,
                units=boot.cell.units,
            )
            # QEMU may have been refused before it wrote anything; the capture says why.
            if not output.is_file():
                return capture
            with output.open("rb") as file:
                return replace(capture, attribution=file.read(MAX_BYTES + 1))


BACKEND = AttributedBackend()
