# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's own default stack, as its packager configured it, with no policy loaded."""

from lsmeter.model import Setup
from lsmeter.setup import HOOKS_ONLY, SetupDefinition

SETUP = SetupDefinition(
    Setup(
        name="distribution",
        title="the kernel's own default stack (CONFIG_LSM)",
        lsms=None,
        needs_config=("SECURITY",),
        note=HOOKS_ONLY,
    ),
    stackable=False,
)
