# SPDX-License-Identifier: GPL-2.0-or-later
"""Puts together what one guest starts from: probe, request, modules, file system image."""

from __future__ import annotations

from base64 import b64decode
from functools import lru_cache
from pathlib import Path

from lsmeter.errors import UsageError
from lsmeter.guest.filesystem import image_for
from lsmeter.guest.initramfs import base, guest_files
from lsmeter.guest.probe import find_probe
from lsmeter.guest.programs import find_program
from lsmeter.guest.request import Request
from lsmeter.model import Cell, KernelModule
from lsmeter.order import boot_order
from lsmeter.policy import ordered

# Each file system with the modules that it, and no other, has to load. What a kernel has built
# in is not among its modules.
FILESYSTEM_MODULES: dict[str, frozenset[str]] = {
    "tmpfs": frozenset(),
    "ext4": frozenset({"ext4"}),
}
FILESYSTEMS = tuple(FILESYSTEM_MODULES)

_ALL_FILESYSTEM_MODULES = frozenset({"ext4", "xfs"})
_RAM_DISK_MODULES = frozenset({"brd"})
# What the disk of an image takes, apart from its file system.
DISK_MODULES = frozenset({"virtio_mmio", "virtio_blk"})

# In a request 0 means that nothing varies; a boot with seed 0 varies as all others do. No other
# boot has this seed: those of experiments end at 2**31.
_VARY_FOR_SEED_0 = 2**32 - 1
# One RAM disk, of the size of the images that lsmeter.guest.filesystem makes.
_PARAMETERS = {"brd": "rd_nr=1 rd_size=65536"}


def initramfs_for(cell: Cell, seed: int, benchmark_ms: int) -> bytes:
    """Return the whole initramfs of one boot of `cell`, which may vary by its seed.

    benchmark_ms is the deadline of one benchmark in guest milliseconds.
    """
    modules = wanted_modules(
        cell.kernel.modules, cell.filesystem, cell.image.filesystem if cell.image else ""
    )
    request = make_request(cell, modules, seed, benchmark_ms)
    files = tuple((_guest_path(module), module.file.read_bytes()) for module in modules)
    image = image_for(cell.filesystem) if cell.filesystem != "tmpfs" else None
    return _base(find_probe().path) + guest_files(
        request.to_bytes(), (*files, *setup_files(cell)), image
    )


def setup_files(cell: Cell) -> tuple[tuple[str, bytes], ...]:
    """Return the files that the setup brings along, by their path in the guest.

    Raises UsageError when the kernel has not got one of them, BuildError when lsmeter has not.
    """
    files: list[tuple[str, bytes]] = []
    for item in cell.setup.files:
        data = item.text.encode()
        if item.artifact:
            artifact = cell.kernel.artifacts.get(item.artifact)
            if artifact is None:
                raise UsageError(
                    f"{cell.kernel.name} has no {item.artifact}, which {cell.setup.name} needs",
                    hint="build the kernel: lsmeter kernel build debian-source:6.1 "
                    "--config lsm-all",
                )
            data = artifact.file.read_bytes()
        if item.program:
            data = find_program(item.program).path.read_bytes()
        if item.base64:
            data = b64decode(item.base64)
        files.append((f"/setup/{item.name}", data))
    return tuple(files)


def wanted_modules(
    modules: tuple[KernelModule, ...], filesystem: str, root: str = ""
) -> tuple[KernelModule, ...]:
    """Return the modules that a guest loads, in their order; pure.

    filesystem is that of the benchmarks, root that of an image ("" where there is none).
    """
    if filesystem == "tmpfs" and not root:
        return ()
    wanted = FILESYSTEM_MODULES[filesystem] | FILESYSTEM_MODULES.get(root, frozenset())
    unwanted = set(_ALL_FILESYSTEM_MODULES - wanted)
    if not root:
        unwanted |= DISK_MODULES
    if filesystem == "tmpfs":
        unwanted |= _RAM_DISK_MODULES
    return tuple(module for module in modules if module.name not in unwanted)


def make_request(
    cell: Cell, modules: tuple[KernelModule, ...], seed: int, benchmark_ms: int
) -> Request:
    """Return what the probe is asked to do in the boot with this seed; pure."""
    count = cell.count_hooks or cell.read_counters
    return Request(
        suite=cell.suite,
        benchmarks=boot_order(cell.benchmarks, seed),
        samples=cell.sampling.samples,
        warmup=cell.sampling.warmup,
        cold=cell.sampling.cold,
        # What earlier readings left to be freed in the background runs hooks as well.
        quiet=count,
        whole_ppm=_whole_ppm(cell),
        vary=seed or _VARY_FOR_SEED_0,
        icount_shift=cell.conditions.icount_shift,
        filesystem=cell.filesystem,
        user=cell.user,
        benchmark_deadline_ms=benchmark_ms,
        modules=tuple(
            (_guest_path(module), _PARAMETERS.get(module.name, "")) for module in modules
        ),
        guest=cell.setup.guest,
        sweep_control=cell.sweep.control if cell.sweep else "",
        sweep_values_ns=cell.sweep.delays_ns if cell.sweep else (),
        count=count,
        root=cell.image.filesystem if cell.image else "",
        steps=ordered(cell.setup.steps, cell.setup.proofs),
        confine=cell.setup.confine,
        proofs=cell.setup.proofs,
        states=cell.setup.states,
        counters=cell.setup.counters if cell.read_counters else (),
        before=cell.setup.before,
        reads=cell.setup.reads,
    )


def _whole_ppm(cell: Cell) -> int:
    """Return the precision of the whole cost, 0 where cycles cannot follow each other plainly."""
    count = cell.count_hooks or cell.read_counters
    alone = cell.sampling.cold or count or cell.sweep or cell.setup.before
    return 0 if alone else cell.sampling.whole_ppm


def _guest_path(module: KernelModule) -> str:
    return f"/modules/{module.name}.ko"


@lru_cache(maxsize=2)
def _base(probe: Path) -> bytes:
    return base(probe.read_bytes())
