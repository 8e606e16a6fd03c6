# SPDX-License-Identifier: GPL-2.0-or-later
"""The example module that comes with lsmeter: what a module of a developer's own is measured as."""

from lsmeter.model import Setup
from lsmeter.setup import SetupDefinition

SETUP = SetupDefinition(
    Setup(
        name="example",
        title="the example module of kernel/example-lsm",
        lsms=("example",),
        needs_config=("SECURITY_EXAMPLE",),
        note="no policy in force: it counts two permission checks and grants everything",
    )
)
