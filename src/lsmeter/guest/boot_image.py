# SPDX-License-Identifier: GPL-2.0-or-later
"""Puts together what one guest starts from: probe, request, modules, file system image."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import replace
from pathlib import Path

from lsmeter.core.model import Cell, KernelModule
from lsmeter.core.model.arch import ARCHES
from lsmeter.core.model.commands import Command
from lsmeter.core.model.filesystems import FILESYSTEMS, RAM_DISK
from lsmeter.core.model.suites import SUITE_MODULES
from lsmeter.core.model.workload import disk_module
from lsmeter.guest.filesystem import disk_image, size_mib
from lsmeter.guest.given import TREE, given
from lsmeter.guest.initramfs import archive, base
from lsmeter.guest.probe import find_probe, find_program
from lsmeter.guest.request import Request
from lsmeter.measure.experiment.plan import boot_order, delay_order
from lsmeter.measure.instruments import find_instrument
from lsmeter.measure.tasks import find_task
from lsmeter.sources.commands import tree_path

# Modules that guests load for a link to another guest. What a kernel has built in is not among its
# modules.
_LINKED = ("virtio_mmio", "virtio_net")
# In a request 0 means that nothing varies; a boot with seed 0 varies as all others do. No other
# boot has this seed: those of experiments end at 2**31.
_VARY_FOR_SEED_0 = 2**32 - 1


def initramfs_for(cell: Cell, seed: int, benchmark_ms: int = 10_000) -> bytes:
    """Return the whole initramfs of one boot of `cell`, which may vary by its seed.

    benchmark_ms is the deadline of one benchmark in guest milliseconds.
    """
    files = {
        "request": make_request(cell, seed, benchmark_ms).to_bytes(),
        **{_guest_path(module): module.file.read_bytes() for module in _wanted_modules(cell)},
        **setup_files(cell),
    }
    if size_mib(cell):
        files["fs.img"] = disk_image(cell)
    command = cell.task.command
    tree = command_tree(command).read_bytes() if command else b""
    return base(find_probe(ARCHES[cell.kernel.arch]).path.read_bytes()) + archive(files) + tree


def command_tree(command: Command) -> Path:
    """Return the archive of a command's files."""
    return given(TREE) or tree_path(command.tree)


def setup_files(cell: Cell) -> dict[str, bytes]:
    """Return the files that the setup brings along, by their path in the guest."""
    files: dict[str, bytes] = {}
    for item in cell.setup.files:
        data = b64decode(item.base64) or item.text.encode()
        if item.artifact:
            data = cell.kernel.artifacts[item.artifact].file.read_bytes()
        if item.program:
            data = find_program(item.program, ARCHES[cell.kernel.arch]).path.read_bytes()
        files[f"/setup/{item.name}"] = data
    return files


def _wanted_modules(cell: Cell) -> tuple[KernelModule, ...]:
    """Return the modules that a guest loads, in their order."""
    wanted = {*FILESYSTEMS[cell.filesystem].modules, *cell.setup.modules}
    wanted |= set(SUITE_MODULES.get(cell.suite, ()))
    if size_mib(cell):
        wanted.add(_disk(cell)[0])
    if cell.image:
        workload = cell.task.workload
        arch = ARCHES[cell.kernel.arch]
        board = arch.boards[cell.kernel.boot_protocol]
        disk = arch.modules(find_task(cell.task.name).modules) or board.disk_modules
        wanted |= {cell.image.filesystem, *disk}
        wanted |= {*_LINKED} if workload and workload.client == "guest" else set()
    # Dependencies stand before what needs them.
    for module in reversed(cell.kernel.modules):
        wanted |= set(module.depends) if module.name in wanted else set()
    return tuple(module for module in cell.kernel.modules if module.name in wanted)


def _disk(cell: Cell) -> tuple[str, str]:
    """Return the module of the disk that a guest works on, and its parameters."""
    workload = cell.task.workload
    module = disk_module(workload)
    if workload is None or module == RAM_DISK:
        return module, f"rd_nr=1 rd_size={size_mib(cell) << 10}"  # one RAM disk, as its image
    # One request at a time, which ends by a timer (irqmode=2).
    queue = "submit_queues=1 hw_queue_depth=1 irqmode=2"
    took = f"completion_nsec={1000 * workload.disk_us}"
    return module, f"nr_devices=1 gb=1 bs=512 memory_backed=1 {queue} {took}"


def make_request(cell: Cell, seed: int, benchmark_ms: int = 10_000) -> Request:
    """Return what the probe is asked to do in the boot with this seed; pure."""
    timed = find_instrument(cell.instrument).ticks
    loaded = dict([_disk(cell)])
    request = Request(
        suite=cell.suite,
        benchmarks=boot_order(cell.benchmarks, seed),
        samples=cell.sampling.samples,
        warmup=cell.sampling.warmup,
        cold=cell.sampling.cold,
        vary=seed or _VARY_FOR_SEED_0,
        timed=timed,
        copies=cell.copies if cell.copies > 1 else 0,
        icount_shift=0 if timed else cell.conditions.icount_shift,
        filesystem=cell.filesystem,
        user=cell.user,
        benchmark_deadline_ms=benchmark_ms,
        modules=tuple(
            (_guest_path(item), loaded.get(item.name, "")) for item in _wanted_modules(cell)
        ),
        setup=cell.setup,
        root=cell.image.filesystem if cell.image else "",
        memcg=cell.conditions.memcg,
    )
    request = replace(request, **find_task(cell.task.name).request(cell))
    return replace(request, sweep_values_ns=delay_order(request.sweep_values_ns, seed))


def _guest_path(module: KernelModule) -> str:
    return f"/modules/{module.name}.ko"
