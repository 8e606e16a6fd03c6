# SPDX-License-Identifier: GPL-2.0-or-later
"""Puts together what one guest starts from: probe, request, modules, file system image."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import replace

from lsmeter.experiment.plan import boot_order
from lsmeter.guest.filesystem import ext4_image
from lsmeter.guest.initramfs import archive, base
from lsmeter.guest.probe import find_probe, find_program
from lsmeter.guest.request import Request
from lsmeter.model import Cell, KernelModule
from lsmeter.tasks import find_task

# Modules that only some guests load, and what for: a file system, the RAM disk that has it, the
# disk of an image, or memory in its place. What a kernel has built in is not among its modules.
_FOR = {
    "ext4": "ext4",
    "xfs": "xfs",
    "brd": "RAM disk",
    "virtio_mmio": "bus",
    "virtio_blk": "disk",
    **dict.fromkeys(("failover", "net_failover", "virtio_net"), "network"),
    **dict.fromkeys(("libnvdimm", "nd_btt", "nd_pmem", "nd_e820"), "memory disk"),
    "veth": "link",
}
# In a request 0 means that nothing varies; a boot with seed 0 varies as all others do. No other
# boot has this seed: those of experiments end at 2**31.
_VARY_FOR_SEED_0 = 2**32 - 1
# One RAM disk, of the size of the images that lsmeter.guest.filesystem makes.
_PARAMETERS = {"brd": "rd_nr=1 rd_size=65536"}


def initramfs_for(cell: Cell, seed: int, benchmark_ms: int = 10_000) -> bytes:
    """Return the whole initramfs of one boot of `cell`, which may vary by its seed.

    benchmark_ms is the deadline of one benchmark in guest milliseconds.
    """
    files = {
        "request": make_request(cell, seed, benchmark_ms).to_bytes(),
        **{_guest_path(module): module.file.read_bytes() for module in _wanted_modules(cell)},
        **setup_files(cell),
    }
    if cell.filesystem != "tmpfs":
        files["fs.img"] = ext4_image()
    return base(find_probe().path.read_bytes()) + archive(files)


def setup_files(cell: Cell) -> dict[str, bytes]:
    """Return the files that the setup brings along, by their path in the guest."""
    files: dict[str, bytes] = {}
    for item in cell.setup.files:
        data = b64decode(item.base64) or item.text.encode()
        if item.artifact:
            data = cell.kernel.artifacts[item.artifact].file.read_bytes()
        if item.program:
            data = find_program(item.program).path.read_bytes()
        files[f"/setup/{item.name}"] = data
    return files


def _wanted_modules(cell: Cell) -> tuple[KernelModule, ...]:
    """Return the modules that a guest loads, in their order."""
    wanted = {cell.filesystem, "RAM disk"} if cell.filesystem != "tmpfs" else set()
    if cell.image:
        wanted |= {cell.image.filesystem}
        disk = {"bus", "disk"}
        workload = cell.task.workload
        wanted |= {"memory disk", "link"} if workload else disk
        wanted |= {"bus", "network"} if workload and workload.client == "guest" else set()
    modules = cell.kernel.modules if wanted else ()
    return tuple(item for item in modules if _FOR.get(item.name) in {None, *wanted})


def make_request(cell: Cell, seed: int, benchmark_ms: int = 10_000) -> Request:
    """Return what the probe is asked to do in the boot with this seed; pure."""
    request = Request(
        suite=cell.suite,
        benchmarks=boot_order(cell.benchmarks, seed),
        samples=cell.sampling.samples,
        warmup=cell.sampling.warmup,
        cold=cell.sampling.cold,
        vary=seed or _VARY_FOR_SEED_0,
        icount_shift=cell.conditions.icount_shift,
        filesystem=cell.filesystem,
        user=cell.user,
        benchmark_deadline_ms=benchmark_ms,
        modules=tuple(
            (_guest_path(item), _PARAMETERS.get(item.name, "")) for item in _wanted_modules(cell)
        ),
        setup=cell.setup,
        root=cell.image.filesystem if cell.image else "",
    )
    return replace(request, **find_task(cell.task.name).request(cell))


def _guest_path(module: KernelModule) -> str:
    return f"/modules/{module.name}.ko"
