# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU's emulator, counting: the guest's clock is its instruction count, on any host.

A boot that asks for it runs with a plugin that sees whose function each instruction is. Its
counts are the same; it only takes longer.
"""

from __future__ import annotations

import asyncio
import hashlib
import shlex
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from lsmeter.core.limits import Limits
from lsmeter.core.model import Cell, Conditions, Kernel, Setup
from lsmeter.core.model.arch import ARCHES, X86_64, Arch
from lsmeter.core.scratch import scratch
from lsmeter.core.storage import prove, write_atomic
from lsmeter.guest.boot_image import command_tree, initramfs_for
from lsmeter.guest.capture import Capture
from lsmeter.guest.filesystem import disk_image, size_mib
from lsmeter.guest.probe import find_probe, find_program
from lsmeter.machines import BootsByHand, EmulatesArches, Machine, OnResults, Prepares
from lsmeter.machines.description import (
    Description,
    Network,
    Plugin,
    counted_guest,
    guest_of,
    qemu_command,
)
from lsmeter.machines.plugin import build_plugin, kallsyms_init, kernel_symbols
from lsmeter.machines.qemu import Waits, command_here, qemu_version, run_guest
from lsmeter.machines.replay import record
from lsmeter.measure.experiment.plan import PlannedBoot, programs_of
from lsmeter.measure.tasks import find_task
from lsmeter.measure.tasks.serve import serving
from lsmeter.measure.tasks.tally import PLUGIN


class Emulation(Machine, Prepares, BootsByHand, EmulatesArches):
    """Runs guests on TCG with one virtual CPU."""

    name = "emulation"
    title = "QEMU's emulator, which counts instructions: no root, no KVM, any host"

    def guest(self, cell: Cell, seed: int = 0) -> Description:
        """Describe a guest of `cell`."""
        return guest_of(cell, seed)

    def plain_guest(self, arch: Arch = X86_64) -> Description:
        """Describe a guest without a kernel or setup: what all guests share."""
        protocol = next(iter(arch.boards))
        kernel = Kernel("", "", "", "", Path("KERNEL"), "", protocol, arch=arch.name)
        return counted_guest(kernel, Setup("", "", lsms=None), Conditions(cpu=arch.cpu))

    def identity(self, plugins: Iterable[str] = ()) -> Mapping[str, str]:
        """Name what can change results of guests of x86-64."""
        return self.identity_of(X86_64, plugins)

    def identity_of(self, arch: Arch, plugins: Iterable[str] = ()) -> Mapping[str, str]:
        """Name QEMU, the probe, how guests are started apart from what a cell says, plugins."""
        version = qemu_version(arch)
        return {
            "qemu": version,
            "probe": find_probe(arch).sha256,
            "start": hashlib.sha256(
                " ".join(qemu_command(self.plain_guest(arch))).encode()
            ).hexdigest(),
            **{name: build_plugin(name, version, build=False).sha256 for name in plugins},
        }

    def command(self, cell: Cell) -> tuple[str, ...]:
        """Return the QEMU command of a cell, with placeholders for what changes by boot."""
        plugin = Plugin("PLUGIN") if find_task(cell.task.name).plugin else None
        return command_here(replace(self.guest(cell), plugin=plugin))

    def prepare(self, cells: Iterable[Cell]) -> None:
        """Make plugins, the file system that guests work on, and what lists a kernel's symbols."""
        for cell in cells:
            if size_mib(cell):
                disk_image(cell)
            if plugin := find_task(cell.task.name).plugin:
                build_plugin(plugin, qemu_version(ARCHES[cell.kernel.arch]))
                if cell.kernel.system_map is None:
                    kallsyms_init(ARCHES[cell.kernel.arch])

    def write_boot_files(self, planned: PlannedBoot, folder: Path) -> str:
        """Write the guest's initramfs, and a script that boots it with its console shown."""
        paths = {"console": "/dev/stdout", "results": "results", "initrd": "initramfs"}
        command = command_here(replace(self.guest(planned.cell, planned.seed), **paths))  # type: ignore[arg-type]
        script = f'#!/bin/sh\ncd "$(dirname "$0")" && exec {shlex.join(command)}\n'
        write_atomic(folder / "initramfs", initramfs_for(planned.cell, planned.seed))
        write_atomic(folder / "boot.sh", script.encode())
        return shlex.join(["sh", str(folder / "boot.sh")])

    async def run(self, planned: PlannedBoot, limits: Limits, on_results: OnResults) -> Capture:
        """Run one guest with an initramfs of its own."""
        cell = planned.cell
        prove_files(cell)
        guest = self.guest(cell, planned.seed)
        task = find_task(cell.task.name)
        if task.plugin:
            plugin = await make_plugin(
                task.plugin, cell.kernel, limits, task.also, memory_mib=guest.memory_mib
            )
            guest = replace(guest, plugin=plugin)
        initrd = initramfs_for(cell, planned.seed, limits.benchmark_ms)
        waits = Waits()

        async def run(*networks: Network) -> Capture:
            linked = replace(guest, networks=networks)
            return await run_guest(linked, initrd, limits, on_results, cell.units, waits)

        linked = bool(guest.networks)
        capture = await (self._with_client(planned, limits, run, waits) if linked else run())
        prove_files(cell)
        record(planned, capture)
        return capture

    async def _with_client(
        self,
        planned: PlannedBoot,
        limits: Limits,
        run: Callable[[Network], Awaitable[Capture]],
        waits: Waits,
    ) -> Capture:
        """Run a guest and, joined to it by a link, the guest that has the clients of its cell."""
        other, seed = serving(planned.cell), planned.seed
        with scratch("link") as folder:
            own, peer = (Network(f"{folder}/link", end) for end in (0, 1))
            guest = replace(self.guest(other, seed), networks=(peer,))
            # It says nothing while it works; the other guest's limits end both.
            limits = replace(limits, boot_s=limits.most_s)
            initrd = initramfs_for(other, seed)
            client = asyncio.create_task(run_guest(guest, initrd, limits, waits=waits))
            try:
                capture = await run(own)
            finally:
                client.cancel()
                await asyncio.wait([client])
        if client.cancelled():
            return capture
        left = client.result()
        said = f"the client's guest ended first ({left.ending}); its console:\n"
        return replace(capture, stderr=capture.stderr + said + left.console_end)


def prove_files(cell: Cell) -> None:
    """Raise InfrastructureError if a file that a guest is made of is not the one planned."""
    kernel, known = cell.kernel, dict(cell.identity)
    files = {kernel.image: kernel.image_sha256}
    files |= {item.file: item.sha256 for item in kernel.modules}
    files |= {item.file: item.sha256 for item in kernel.artifacts.values()}
    files |= {cell.image.file: cell.image.sha256} if cell.image else {}
    arch, command = ARCHES[kernel.arch], cell.task.command
    files |= {find_program(name, arch).path: known[name] for name in programs_of(cell.setup)}
    files |= {command_tree(command): command.tree} if command else {}
    files |= {find_probe(arch).path: known["probe"]} if "probe" in known else {}
    for path, sha256 in files.items():
        prove(path, sha256, "fetch or build it again; what was measured before is kept")


async def make_plugin(
    name: str, kernel: Kernel, limits: Limits, also: Iterable[str] = (), *, memory_mib: int
) -> Plugin:
    """Make a plugin and the kernel's symbols ready; also: outputs, named as its arguments.

    memory_mib: of the guest, in one block from address 0 on.
    """
    symbols, avc_stats = await kernel_symbols(kernel, limits)
    arguments = [("syms", str(symbols))]
    if name == PLUGIN and avc_stats is not None:
        arguments.append(("avc", f"{avc_stats:x}"))
    if name == PLUGIN:
        arguments.append(("memory", f"{memory_mib << 20:x}"))
    return Plugin(
        file=str(build_plugin(name, qemu_version(ARCHES[kernel.arch])).path),
        arguments=tuple(arguments),
        outputs=((name, "out"), *((item, item) for item in also)),
    )


MACHINE = Emulation()
