# SPDX-License-Identifier: GPL-2.0-or-later
"""No security modules at all: the study's true baseline, on a kernel built for it."""

from lsmeter.model import Setup
from lsmeter.setup import SetupDefinition

SETUP = SetupDefinition(
    Setup(
        name="dac",
        title="no LSM at all, a kernel with CONFIG_SECURITY=n",
        lsms=(),
        over="",
        layer=None,
        note="another kernel image than the other setups': same source, CONFIG_SECURITY=n",
    ),
    stackable=False,
)
