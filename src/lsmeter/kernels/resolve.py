# SPDX-License-Identifier: GPL-2.0-or-later
"""From what a user calls a kernel to one that a guest can boot."""

from __future__ import annotations

from lsmeter import registry
from lsmeter.kernels.source import DEFAULT_MODULES, KernelListing, KernelSource
from lsmeter.model import Kernel
from lsmeter.progress import SILENT, Progress


def sources() -> tuple[KernelSource, ...]:
    """Return every source of kernels."""
    return registry.members(
        "lsmeter.kernels.sources",
        "SOURCE",
        KernelSource,  # type: ignore[type-abstract]  # only compared with, never made
    )


def resolve(
    spec: str,
    *,
    progress: Progress = SILENT,
    offline: bool = False,
    refresh: bool = False,
    modules: tuple[str, ...] = DEFAULT_MODULES,
) -> Kernel:
    """Return the kernel that `spec` names (debian:6.1, host, ./vmlinux), cached or fetched.

    offline: use only what is cached. refresh: look for a newer release now. modules: what the
    guest needs, by name. Raises UsageError for a name that no source knows, or what the source
    raises.
    """
    for source in sources():
        if source.matches(spec):
            return source.resolve(
                spec, progress=progress, offline=offline, refresh=refresh, modules=modules
            )
    raise registry.unknown("kernel", spec, _names(), where="--kernel")


def listings() -> tuple[KernelListing, ...]:
    """Return all names that can be given, without the network."""
    return tuple(listing for source in sources() for listing in source.listing())


def _names() -> tuple[str, ...]:
    listed = {listing.name for listing in listings()}
    return tuple(listed | {example for source in sources() for example in source.examples})
