# SPDX-License-Identifier: GPL-2.0-or-later
"""Turns files on this host (packages, or a kernel's tree) into kernels in the cache."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from lsmeter.errors import InfrastructureError, UsageError
from lsmeter.kernels import entry, package, tree
from lsmeter.kernels.digest import sha256_of
from lsmeter.model import Kernel
from lsmeter.storage import locked, new_entry


def kernel_of_tree(
    name: str, found: tree.KernelTree, *, origin: str, modules: tuple[str, ...]
) -> Kernel:
    """Return the kernel of files that stay where they are, unpacked into the cache once."""
    home = entry.kernels_dir() / f"file-{entry.fingerprint(found)}"
    with locked(home.name):
        kernel = entry.load(home, name, modules)
        if kernel is None:
            with new_entry(home) as new:
                entry.create(
                    new, found, version="", origin=origin, modules=modules, copy_image=False
                )
            kernel = entry.load(home, name, modules)
    return loaded(kernel, home)


def kernel_of_deb(name: str, deb: Path, *, modules: tuple[str, ...]) -> Kernel:
    """Return the kernel of one package file, unpacked into the cache once."""
    digest = sha256_of(deb)
    home = entry.kernels_dir() / f"deb-{digest[:16]}"
    with locked(home.name):
        kernel = entry.load(home, name, modules)
        if kernel is None:
            with new_entry(home) as new:
                fill_from_packages(
                    new, {deb: digest}, origin=f"package file {deb.absolute()}", modules=modules
                )
            kernel = entry.load(home, name, modules)
    return loaded(kernel, home)


def fill_from_packages(
    new: Path, debs: Mapping[Path, str], *, origin: str, modules: tuple[str, ...]
) -> None:
    """Fill the new cache entry with the one kernel in these packages (path: SHA-256).

    Raises UsageError when there is no kernel image in them, or more than one.
    """
    root = new / "files"
    root.mkdir()
    for deb in debs:
        package.extract(deb, root, tree.is_wanted)
    found = tree.releases(root)
    if len(found) != 1:
        names = ", ".join(deb.name for deb in debs)
        raise UsageError(
            f"{names} has {len(found) or 'no'} kernel image{'s' if len(found) > 1 else ''}",
            hint="since Linux 7 Debian's images are in linux-binary-…, before in linux-image-…",
        )
    entry.create(
        new,
        tree.find(root, found[0]),
        version=package.field(next(iter(debs)), "Version"),
        origin=origin,
        modules=modules,
        packages=tuple((deb.name, digest) for deb, digest in debs.items()),
    )
    shutil.rmtree(root)


def loaded(kernel: Kernel | None, home: Path) -> Kernel:
    """Return the kernel that was just put into `home`; it is only absent by another's doing."""
    if kernel is None:
        raise InfrastructureError(
            f"the cache entry {home} was changed while it was made", hint="try again"
        )
    return kernel
