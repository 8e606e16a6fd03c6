# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel of the selftest: the smallest one that runs the probe, with the module `inject`."""

from __future__ import annotations

from lsmeter.kernels.build.builder import build_kernel
from lsmeter.kernels.build.shipped import shipped_lsm
from lsmeter.model import Kernel
from lsmeter.progress import SILENT, Progress

SOURCE = "debian-source:6.1"
FRAGMENTS = ("tiny",)
MODULE = "inject-lsm"
NAME = "selftest"


def selftest_kernel(
    progress: Progress = SILENT, *, source: str = SOURCE, offline: bool = False
) -> Kernel:
    """Return the kernel of the selftest, `built:selftest`, built if it was not yet.

    source: as `lsmeter kernel build` takes it. The first build takes a minute or two, and minutes
    more where the source has to be fetched; later ones read the cache. Raises UsageError,
    BuildError or InfrastructureError.
    """
    return build_kernel(source, FRAGMENTS, (shipped_lsm(MODULE),), NAME, progress, offline=offline)
