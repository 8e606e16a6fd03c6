# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels built with `lsmeter kernel build`: built:NAME."""

from __future__ import annotations

from lsmeter.kernels.build import store
from lsmeter.kernels.source import DEFAULT_MODULES, KernelListing, KernelSource
from lsmeter.model import Kernel
from lsmeter.progress import Progress


class BuiltSource(KernelSource):
    """The kernels in the store of builds; naming one never starts a build."""

    name = "built"
    title = "a kernel that you have built from source"
    examples = ("built:6.1-lsm-all", "built:6.1-dac")

    def matches(self, spec: str) -> bool:
        """Take `built` and all that begins with `built:`."""
        return spec == "built" or spec.startswith(store.PREFIX)

    def resolve(
        self,
        spec: str,
        *,
        progress: Progress,  # noqa: ARG002  (nothing here takes long)
        offline: bool = False,  # noqa: ARG002  (all is cached)
        refresh: bool = False,  # noqa: ARG002  (only a build renews it)
        modules: tuple[str, ...] = DEFAULT_MODULES,  # noqa: ARG002  (all is built in)
    ) -> Kernel:
        """Return the built kernel; raise UsageError with the nearest name if there is none."""
        return store.to_kernel(store.get_built(spec))

    def listing(self) -> tuple[KernelListing, ...]:
        """Return all built kernels."""
        return tuple(
            KernelListing(
                store.PREFIX + kernel.name, kernel.origin, cached=True, version=kernel.release
            )
            for kernel in store.list_built()
        )


SOURCE = BuiltSource()
