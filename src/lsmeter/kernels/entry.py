# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels in the cache: one directory each, whole or absent, described by its kernel.json."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from lsmeter.errors import UsageError
from lsmeter.kernels import image, tree
from lsmeter.kernels.digest import sha256_of
from lsmeter.kernels.modinfo import read_modinfo
from lsmeter.kernels.modules import ModuleInfo, canonical, load_order, parse_config
from lsmeter.model import BootProtocol, Kernel, KernelModule
from lsmeter.storage import cache_dir, cannot_write, write_atomic

# Kept with every kernel, so that another file system or device needs no second download.
KEPT_MODULES = (
    *("brd", "loop", "ext2", "ext4", "xfs", "overlay", "squashfs", "9p", "9pnet_virtio"),
    *("virtio_blk", "virtio_console", "virtio_mmio", "virtio_net", "virtio_pci", "virtio_rng"),
)
_DESCRIPTION = "kernel.json"


class _Module(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    sha256: str
    depends: tuple[str, ...]


class _Description(BaseModel):
    """The content of kernel.json; files are named relative to it, or absolutely if outside."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[1] = 1
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


def kernels_dir() -> Path:
    """Return the cache's directory of kernels; it may not exist yet."""
    return cache_dir() / "kernels"


def create(
    entry: Path,
    found: tree.KernelTree,
    *,
    version: str,
    origin: str,
    modules: tuple[str, ...],
    packages: tuple[tuple[str, str], ...] = (),
    copy_image: bool = True,
) -> None:
    """Fill the new directory `entry` with the kernel of `found`, ready to boot.

    copy_image: also keep an image that is booted as it is; otherwise it is used where it lies.
    Raises UsageError when it is no kernel, InfrastructureError when it cannot be written.
    """
    if found.image is None:
        raise UsageError(
            f"no image of kernel {found.release} was found", hint="give the path of its image"
        )
    prepared = image.prepare(found.image, entry / "vmlinux")
    booted = prepared.path
    try:
        if copy_image and booted.parent != entry:
            booted = Path(shutil.copyfile(booted, entry / "image"))
        if found.system_map:
            shutil.copyfile(found.system_map, entry / "System.map")
    except OSError as error:
        raise cannot_write(entry, error) from error
    config = tree.read_text(found.config) or image.embedded_config(booted)
    write_atomic(entry / "config", config.encode())
    considered = tuple(dict.fromkeys(canonical(name) for name in (*KEPT_MODULES, *modules)))
    files = tree.needed_modules(found, considered, entry / "modules")
    description = _Description(
        release=prepared.release or found.release,
        version=version,
        origin=origin,
        image=booted.name if booted.parent == entry else str(booted.absolute()),
        image_bytes=booted.stat().st_size,
        image_sha256=sha256_of(booted),
        boot_protocol=prepared.boot_protocol,
        modules=tuple(_describe(file, tree.builtin_modules(found)) for file in files),
        considered=considered,
        packages=packages,
    )
    write_atomic(entry / _DESCRIPTION, description.model_dump_json(indent=1).encode())


def _describe(file: Path, builtin: frozenset[str]) -> _Module:
    content = file.read_bytes()
    info = read_modinfo(content)
    needs = tuple(need for need in (*info.depends, *info.softdeps) if need not in builtin)
    return _Module(name=file.stem, sha256=hashlib.sha256(content).hexdigest(), depends=needs)


def load(entry: Path, name: str, modules: tuple[str, ...]) -> Kernel | None:
    """Return the cached kernel in `entry` under the user's `name`.

    None when it is not there, is damaged, or `modules` has one that was not looked for.
    """
    try:
        text = (entry / _DESCRIPTION).read_bytes()
        said = _Description.model_validate_json(text)
        booted = entry / said.image
        whole = booted.stat().st_size == said.image_bytes
        config = (entry / "config").read_text(errors="replace")
    except (OSError, ValidationError):
        return None
    wanted = tuple(canonical(module) for module in modules)
    files = {module.name: entry / "modules" / f"{module.name}.ko" for module in said.modules}
    if not whole or set(wanted) - set(said.considered):
        return None
    if not all(file.is_file() for file in files.values()):
        return None
    return Kernel(
        name=name,
        release=said.release,
        version=said.version,
        origin=said.origin,
        image=booted,
        image_sha256=said.image_sha256,
        boot_protocol=said.boot_protocol,
        config=parse_config(config),
        modules=_in_order(said, wanted, files),
        system_map=tree.real_system_map(entry / "System.map"),
    )


def _in_order(
    said: _Description, wanted: tuple[str, ...], files: dict[str, Path]
) -> tuple[KernelModule, ...]:
    by_name = {module.name: module for module in said.modules}
    order = load_order(
        wanted,
        frozenset(by_name),
        frozenset(),
        # What a module needs is kept with it, or is built in, or was a soft wish not fulfilled.
        lambda name: ModuleInfo(softdeps=by_name[name].depends),
    )
    return tuple(KernelModule(name, files[name], by_name[name].sha256) for name in order)


def fingerprint(found: tree.KernelTree) -> str:
    """Name a kernel tree in 16 hex digits: the image by content, the rest by size and time."""
    others = [found.config, found.system_map, found.modules_dep, *found.module_files.values()]
    stats = [(str(path), path.stat()) for path in others if path]
    parts = [sha256_of(found.image) if found.image else "", str(found.image)]
    parts += [f"{path} {stat.st_size} {stat.st_mtime_ns}" for path, stat in stats]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def kernel_from_build(
    image_path: Path, config: Path, system_map: Path, name: str, origin: str
) -> Kernel:
    """Describe a kernel that was built here: a vmlinux with a PVH entry, no modules.

    Raises UsageError when the image is no such ELF.
    """
    prepared = image.prepare_elf(image_path)
    return Kernel(
        name=name,
        release=prepared.release,
        version="",
        origin=origin,
        image=image_path,
        image_sha256=sha256_of(image_path),
        boot_protocol=BootProtocol.PVH,
        config=parse_config(tree.read_text(config)),
        system_map=tree.real_system_map(system_map),
    )
