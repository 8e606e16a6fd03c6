# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel that this host runs, from where its distribution installed it."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from lsmeter.core.errors import InfrastructureError, UsageError
from lsmeter.core.model import Kernel
from lsmeter.core.registry import nearest
from lsmeter.sources.kernels import tree
from lsmeter.sources.kernels.entry import kernel_of_tree
from lsmeter.sources.kernels.resolve import KernelListing, KernelSource, Request


class HostSource(KernelSource):
    """The kernel of this host. `root` and `release` are only set by tests."""

    name = "host"
    title = "the kernel that this host runs, where its image is readable"
    examples = ("host",)

    def __init__(self, root: Path = Path("/"), release: str | None = None) -> None:
        self.root = root
        self.release = release or platform.release()

    def resolve(self, spec: str, request: Request) -> Kernel:
        """Return the running kernel; InfrastructureError when its image is missing."""
        if spec != "host":
            raise UsageError(
                f"kernel '{spec}' takes nothing after the name{nearest(spec, ['host'])}",
                hint="use --kernel host",
            )
        found = tree.find(self.root, self.release)
        if found.image is None:
            raise InfrastructureError(
                f"this host's kernel {self.release} has no image in "
                f"{self.root / 'boot'} or {self.root / 'usr/lib/modules'}",
                hint="in a container the image is not inside; use debian:6.1, or an image's path",
            )
        if not os.access(found.image, os.R_OK):
            raise InfrastructureError(
                f"this host's kernel image {found.image} is readable only by root",
                hint=f"copy it: sudo install -m 644 {found.image} . and give the copy's path",
            )
        return kernel_of_tree(spec, found, f"this host's {found.image}", request)

    def listing(self) -> tuple[KernelListing, ...]:
        """Return the one name."""
        return (KernelListing("host", f"{self.title} ({self.release})"),)


SOURCE = HostSource()
