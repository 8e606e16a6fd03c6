# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernels that tests share: a whole one takes minutes, and what has one name is built once.

The names are of the tests' own: kernels of the user's stay as they are.
"""

from __future__ import annotations

from pathlib import Path

from lsmeter.core.model import Kernel
from lsmeter.sources.kernels.build.builder import build_kernel

SOURCE = "debian-source:6.1"
PLAIN, LACKING = "test-tiny", "test-lacking"
_LACKING = Path(__file__).with_name("lacking.config")


def plain() -> Kernel:
    """Return `tiny` as it is.

    To be asked for before any kernel that is `tiny` and a module: the compiler's cache finds
    objects again under the same configuration only, so this one has to come first to be of use to
    a bisection, which builds it in another tree.
    """
    return build_kernel(SOURCE, ["tiny"], name=PLAIN)


def lacking() -> Kernel:
    """Return the one with sockets and SELinux, and without much else."""
    return build_kernel(SOURCE, ["tiny", str(_LACKING)], name=LACKING)
