# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels by path: a bzImage, a vmlinux, or a package file (Debian's or an RPM)."""

from __future__ import annotations

import re
from pathlib import Path

from lsmeter.core.errors import UsageError
from lsmeter.core.model import Kernel
from lsmeter.core.model.arch import ARCHES, X86_64
from lsmeter.core.storage import reading
from lsmeter.sources.kernels import tree
from lsmeter.sources.kernels.entry import kernel_of_packages, kernel_of_tree
from lsmeter.sources.kernels.package import is_package, rpms_beside
from lsmeter.sources.kernels.resolve import KernelSource, Request


class PathSource(KernelSource):
    """Any image or package that the user has as a file."""

    name, shown = "path", "PATH"
    title = "an image (bzImage, vmlinux, Image) or a package (.deb, .rpm), by path"
    examples = ("./vmlinux", f"../linux/arch/{X86_64.tree}/boot/bzImage", "./kernel-core.rpm")

    def matches(self, spec: str) -> bool:
        """Take what has a slash before any colon, and a file in the current directory."""
        return "/" in spec.partition(":")[0] or Path(spec).is_file()

    def resolve(self, spec: str, request: Request) -> Kernel:
        """Return the kernel in the file `spec`; UsageError when it is none or not there."""
        path = Path(spec).expanduser()
        if not path.is_file():
            what = "is no regular file" if path.exists() else "does not exist"
            what = "is a directory, not a kernel image" if path.is_dir() else what
            raise UsageError(f"kernel {spec} {what}", hint=f"for example: {self.examples[1]}")
        with reading(f"kernel {spec}"):
            packed = is_package(path)
        if packed:
            return kernel_of_packages(spec, rpms_beside(path), request)
        found = beside(path.absolute())
        return kernel_of_tree(spec, found, f"file {path.absolute()}", request)


def beside(path: Path) -> tree.KernelTree:
    """Find what belongs to the image `path`: by its name in a boot directory, or a build tree."""
    suffix = path.name.partition("-")[2]
    above = path.parents
    for depth, release in (
        (1, suffix),  # boot/vmlinuz-RELEASE
        (3, path.parent.name),  # lib/modules/RELEASE/vmlinuz
        (4, path.parent.name),  # usr/lib/modules/RELEASE/vmlinuz
    ):
        if depth < len(above) and re.match(r"\d+\.", release):
            found = tree.find(above[depth], release)
            if found.image and found.image.samefile(path):
                return found
    homes = [path.parent]
    if path.parts[-4:-1] in {("arch", arch.tree, "boot") for arch in ARCHES.values()}:
        homes.append(path.parents[3])  # the top of the kernel's build tree

    def file(*names: str) -> Path | None:
        return tree.first(*(home / name for home in homes for name in names))

    return tree.KernelTree(
        release="unknown",
        image=path,
        config=file(f"config-{suffix}", "config", ".config"),
        system_map=tree.real_system_map(file(f"System.map-{suffix}", "System.map")),
    )


SOURCE = PathSource()
