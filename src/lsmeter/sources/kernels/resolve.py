# SPDX-License-Identifier: GPL-2.0-or-later
"""From what a user calls a kernel to one that a guest can boot; the base class of its sources."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from lsmeter.core import registry
from lsmeter.core.errors import InfrastructureError, UsageError
from lsmeter.core.model import Kernel
from lsmeter.core.progress import SILENT, Progress

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


@dataclass(frozen=True)
class Request:
    """How a kernel is wanted."""

    modules: tuple[str, ...] = DEFAULT_MODULES  # that guests need, if the kernel has such
    offline: bool = False  # use only what is cached
    refresh: bool = False  # look for a newer release now
    progress: Progress = SILENT


ANY = Request()


def not_cached(what: str) -> InfrastructureError:
    """Build the error for what an offline request does not find."""
    return InfrastructureError(
        f"{what} is not cached, and the network is not to be used",
        hint="allow the network once; after that the cache is enough",
    )


def not_fetched(what: str, error: InfrastructureError) -> InfrastructureError:
    """Build the error for what is not cached and could not be fetched."""
    return InfrastructureError(
        f"{what} is not cached and cannot be fetched: {error.title}",
        hint=error.hint,
        log_tail=error.log_tail,
    )


class KernelSource(ABC):
    """One place that kernels come from; a file in `kernels.sources` offers one as SOURCE."""

    name: ClassVar[str]  # the prefix of its names, or the whole name: debian, host, path
    shown: ClassVar[str]  # what stands for all of its names, where they cannot be listed
    title: ClassVar[str]  # one line
    examples: ClassVar[tuple[str, ...]]  # names to show in help and errors

    def matches(self, spec: str) -> bool:
        """Say whether `spec` is meant for this source, also when it is malformed."""
        return spec.partition(":")[0] == self.name

    @abstractmethod
    def resolve(self, spec: str, request: Request) -> Kernel:
        """Return the kernel that `spec` names, fetched or built if it is not cached.

        Raises UsageError for a malformed or unknown name, and InfrastructureError when it
        is not available here and now.
        """

    def expand(self, pattern: str, request: Request) -> tuple[str, ...]:
        """Return the names that a pattern (debian:6.12.*) stands for, the oldest kernel first."""
        del request  # of use to a source that has patterns
        raise UsageError(
            f"kernel {pattern}: only Debian's kernels can be named by a pattern",
            hint="name each kernel, or a pattern as debian:6.12.*",
        )

    def listing(self) -> tuple[KernelListing, ...]:
        """Return the names that a user can give, without the network."""
        return (KernelListing(self.shown, self.title),)


def sources() -> tuple[KernelSource, ...]:
    """Return every source of kernels."""
    return registry.members(
        "lsmeter.sources.kernels.sources",
        "SOURCE",
        KernelSource,  # type: ignore[type-abstract]  # only compared with, never made
    )


def is_pattern(spec: str) -> bool:
    """Say whether `spec` stands for several kernels; a path may have any character."""
    return "*" in spec and "/" not in spec


def expand(specs: Iterable[str], request: Request = ANY) -> tuple[str, ...]:
    """Return the names of kernels with each pattern among them replaced by what it stands for."""
    found: dict[str, None] = {}
    for spec in specs:
        several = _source(spec).expand(spec, request) if is_pattern(spec) else (spec,)
        found |= dict.fromkeys(several)
    return tuple(found)


def resolve(spec: str, request: Request = ANY) -> Kernel:
    """Return the kernel that `spec` names (debian:6.1, host, ./vmlinux), cached or fetched."""
    return _source(spec).resolve(spec, request)


def _source(spec: str) -> KernelSource:
    for source in sources():
        if source.matches(spec):
            return source
    # Not the examples of what was never built.
    names = {listing.name for listing in listings()} | {"host", "./vmlinux"}
    raise registry.unknown("kernel", spec, names, where="--kernel")


def listings() -> tuple[KernelListing, ...]:
    """Return all names that can be given, without the network."""
    return tuple(listing for source in sources() for listing in source.listing())
