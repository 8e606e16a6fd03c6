# SPDX-License-Identifier: GPL-2.0-or-later
"""What a source of kernels offers: the base class of everything in `kernels.sources`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from lsmeter.model import Kernel
from lsmeter.progress import Progress

# What the file-access suite and the disk of an image need beside what a kernel has built in;
# dependencies are added.
DEFAULT_MODULES = ("brd", "loop", "ext4", "xfs", "virtio_mmio", "virtio_blk")


@dataclass(frozen=True)
class KernelListing:
    """One name that a user can give, for `lsmeter list kernels`."""

    name: str  # debian:6.1
    title: str
    cached: bool = False
    version: str = ""  # of what is cached, "" when nothing is


class KernelSource(ABC):
    """One place that kernels come from; a file in `kernels.sources` offers one as SOURCE."""

    name: ClassVar[str]  # the prefix of its names, or the whole name: debian, host, path
    title: ClassVar[str]  # one line
    examples: ClassVar[tuple[str, ...]]  # names to show in help and errors

    @abstractmethod
    def matches(self, spec: str) -> bool:
        """Say whether `spec` is meant for this source, also when it is malformed."""

    @abstractmethod
    def resolve(
        self,
        spec: str,
        *,
        progress: Progress,
        offline: bool = False,
        refresh: bool = False,
        modules: tuple[str, ...] = DEFAULT_MODULES,
    ) -> Kernel:
        """Return the kernel that `spec` names, fetched or built if it is not cached.

        offline: use only what is cached. refresh: look for a newer release now. modules: names
        of those the guest needs; a name that is built in, or that this kernel does not have,
        adds nothing. Raises UsageError for a malformed or unknown name, and InfrastructureError
        when it cannot be had here and now.
        """

    @abstractmethod
    def listing(self) -> tuple[KernelListing, ...]:
        """Return the names that a user can give, without the network."""
