# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels in the cache: made of packages or of files on this host, described by kernel.json."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from lsmeter.core.entries import Entries, drop_entry, new_entry
from lsmeter.core.errors import InfrastructureError, UsageError
from lsmeter.core.model import BootProtocol, Kernel, KernelModule
from lsmeter.core.model.arch import ARCHES, X86_64
from lsmeter.core.progress import shown
from lsmeter.core.storage import known_sha256, locked, prove, sha256_of, write_atomic, writing
from lsmeter.sources.kernels import package, tree, vmlinux
from lsmeter.sources.kernels.resolve import Request
from lsmeter.sources.kernels.tree import ModuleInfo, canonical, load_order, parse_config

UNUSED_S = 30 * 86_400

# Kept with every kernel, so that another file system or device needs no second download.
KEPT_MODULES = (
    *("brd", "loop", "ext2", "ext4", "xfs", "btrfs", "overlay", "squashfs", "9p", "9pnet_virtio"),
    *("virtio_blk", "virtio_console", "virtio_mmio", "virtio_net", "virtio_pci", "virtio_rng"),
    *("nd_pmem", "nd_e820", "veth", "tun", "sctp", "xfrm_user", "af_key", "esp4", "esp6"),
    *("authenc", "crypto_null", "nf_tables", "nft_objref", "of_pmem", "null_blk"),
)


# What a kernel's numbers are read with; an entry need not have all.
OTHERS = ("config", "System.map")


@dataclass(frozen=True)
class _Module:
    name: str
    sha256: str
    depends: tuple[str, ...]


@dataclass(frozen=True)
class _Facts:
    """What kernel.json says; files are named relative to it, or absolutely if outside."""

    release: str
    version: str
    origin: str
    image: str
    image_bytes: int
    image_sha256: str
    boot_protocol: BootProtocol
    modules: tuple[_Module, ...]
    considered: tuple[str, ...]  # names looked for; one that is not in modules is not needed
    packages: tuple[tuple[str, str], ...]  # file name and SHA-256 of what it was taken from
    others: tuple[tuple[str, str], ...] = ()  # further files of the entry: name and SHA-256
    arch: str = X86_64.name
    format: Literal[1] = 1


KERNELS = Entries("kernels", "kernel.json", _Facts)


def kernel_of_tree(name: str, found: tree.KernelTree, origin: str, request: Request) -> Kernel:
    """Return the kernel of files that stay where they are, unpacked into the cache once."""
    if found.image:
        vmlinux.check(found.image)  # before all of it is read
    what = found.image.name if found.image else found.release
    fill = partial(create, found=found, origin=origin, modules=request.modules)
    return fill_entry(f"file-{_fingerprint(found)}", name, what, request, fill)


def kernel_of_packages(name: str, paths: Sequence[Path], request: Request) -> Kernel:
    """Return the kernel of package files, unpacked into the cache once; the first has its image."""
    files = {path: known_sha256(path) for path in paths}
    digest = hashlib.sha256("".join(files.values()).encode()).hexdigest()
    digest = digest if len(files) > 1 else files[paths[0]]
    origin = f"package file {paths[0].absolute()}"
    fill = partial(fill_from_packages, debs=files, origin=origin, modules=request.modules)
    return fill_entry(f"deb-{digest[:16]}", name, paths[0].name, request, fill)


def fill_entry(
    entry: str, name: str, what: str, request: Request, fill: Callable[[Path], None]
) -> Kernel:
    """Return the kernel of a cache entry, filled if it is not there; what: the file unpacked."""
    home = KERNELS.home / entry
    with shown(request.progress, f"unpack {what}"), locked(entry):
        if load(home, name, request.modules) is None:
            _prune()
            with new_entry(home) as new:
                fill(new)
        with suppress(OSError):
            os.utime(home)  # when it was used last
        return loaded(home, name, request.modules)


def _prune() -> None:
    """Remove the kernels of files, which have new entries when they change, that nobody uses."""
    kinds = ("file", "deb", "rpm")
    for home in [path for kind in kinds for path in KERNELS.home.glob(f"{kind}-*")]:
        # Who uses one holds its lock; what cannot be looked at stays.
        with suppress(InfrastructureError, OSError):
            if _is_unused(home):
                with locked(home.name, 0):
                    if _is_unused(home):
                        drop_entry(home)


def _is_unused(home: Path) -> bool:
    return home.stat().st_mtime < time.time() - UNUSED_S


def loaded(home: Path, name: str, modules: tuple[str, ...]) -> Kernel:
    """Return the kernel that was just put into `home`; it is only absent by another's doing."""
    kernel = load(home, name, modules)
    if kernel is None:
        raise InfrastructureError(
            f"the cache entry {home} was changed while it was made", hint="try again"
        )
    return kernel


def fill_from_packages(
    new: Path, debs: Mapping[Path, str], origin: str, modules: tuple[str, ...]
) -> None:
    """Fill the new cache entry with the one kernel in these packages (path: SHA-256)."""
    root = new / "files"
    root.mkdir()
    for deb in debs:
        package.extract(deb, root, tree.is_wanted)
    found = tree.releases(root)
    if len(found) != 1:
        names = ", ".join(deb.name for deb in debs)
        raise UsageError(
            f"{names} has {len(found) or 'no'} kernel image{'s' if len(found) > 1 else ''}",
            hint="Debian's are in linux-binary-…, before Linux 7 in linux-image-…; "
            "Fedora's in kernel-core-…",
        )
    create(new, tree.find(root, found[0]), origin, modules, debs)
    shutil.rmtree(root)


def create(
    entry: Path,
    found: tree.KernelTree,
    origin: str,
    modules: tuple[str, ...],
    debs: Mapping[Path, str] = MappingProxyType({}),
) -> None:
    """Fill the new directory `entry` with the kernel of `found`; debs: what it was taken from."""
    if found.image is None:
        raise UsageError(
            f"no image of kernel {found.release} was found", hint="give the path of its image"
        )
    prepared = vmlinux.prepare(found.image, entry / "vmlinux")
    booted = prepared.path
    with writing(entry):
        if debs and booted.parent != entry:
            booted = Path(shutil.copyfile(booted, entry / "image"))
        if found.system_map:
            shutil.copyfile(found.system_map, entry / "System.map")
    config = tree.read_text(found.config) or vmlinux.embedded_config(booted)
    write_atomic(entry / "config", config.encode())
    wanted = prepared.arch.modules((*KEPT_MODULES, *modules))
    considered = tuple(dict.fromkeys(map(canonical, wanted)))
    files = tree.needed_modules(found, considered, entry / "modules")
    facts = _Facts(
        release=prepared.release or found.release,
        version=package.version_of(next(iter(debs))) if debs else "",
        origin=origin,
        image=booted.name if booted.parent == entry else str(booted.absolute()),
        image_bytes=booted.stat().st_size,
        image_sha256=sha256_of(booted),
        boot_protocol=prepared.boot_protocol,
        arch=prepared.arch.name,
        modules=tuple(_Module(file.stem, sha256_of(file), needs) for file, needs in files.items()),
        considered=considered,
        packages=tuple((deb.name, digest) for deb, digest in debs.items()),
        others=tuple(
            (name, sha256_of(entry / name)) for name in OTHERS if (entry / name).is_file()
        ),
    )
    KERNELS.write(entry, facts)


def load(entry: Path, name: str, modules: tuple[str, ...]) -> Kernel | None:
    """Return the cached kernel in `entry` under the user's `name`.

    None when it is not there, is cut off, or `modules` has one that was not looked for. A file
    whose content is not what was put there is an InfrastructureError.
    """
    said = KERNELS.read(entry)
    if said is None:
        return None
    arch = ARCHES[said.arch]
    wanted = tuple(map(canonical, arch.modules(modules)))
    if set(wanted) - set(said.considered):
        return None
    # Those of the board that it will run on; all are among the modules that are kept.
    board = arch.boards[said.boot_protocol]
    wanted = tuple(dict.fromkeys((*wanted, *board.disk_modules)))
    booted, by_name = entry / said.image, {module.name: module for module in said.modules}
    files = {name: entry / "modules" / f"{name}.ko" for name in by_name}
    try:
        whole = booted.stat().st_size == said.image_bytes
        config = (entry / "config").read_text(errors="replace")
    except OSError:
        return None
    if not (whole and all(file.is_file() for file in files.values())):
        return None
    # What a module needs is kept with it, or is built in, or was a soft wish not fulfilled.
    order = load_order(
        wanted, frozenset(by_name), frozenset(), lambda n: ModuleInfo(softdeps=by_name[n].depends)
    )
    made = [(booted, said.image_sha256), *((files[item], by_name[item].sha256) for item in order)]
    for path, digest in (*made, *((entry / other, digest) for other, digest in said.others)):
        prove(path, digest, f"remove it all: rm -r {entry}; the next run makes it again")
    return Kernel(
        name=name,
        release=said.release,
        version=said.version,
        origin=said.origin,
        image=booted,
        image_sha256=said.image_sha256,
        boot_protocol=said.boot_protocol,
        arch=said.arch,
        config=parse_config(config),
        modules=tuple(
            KernelModule(item, files[item], by_name[item].sha256, by_name[item].depends)
            for item in order
        ),
        system_map=tree.real_system_map(entry / "System.map"),
    )


def _fingerprint(found: tree.KernelTree) -> str:
    """Name a kernel tree in 16 hex digits: the image by content, the rest by size and time."""
    parts = [known_sha256(found.image) if found.image else "", str(found.image)]
    for path in filter(None, (found.config, found.system_map, *found.module_files.values())):
        status = path.stat()
        parts.append(f"{path} {status.st_size} {status.st_mtime_ns}")
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
