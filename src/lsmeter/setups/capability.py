# SPDX-License-Identifier: GPL-2.0-or-later
"""Capabilities only: the smallest set of hooks a kernel with CONFIG_SECURITY has."""

from lsmeter.model import Setup
from lsmeter.setup import SetupDefinition

SETUP = SetupDefinition(
    Setup(
        name="capability",
        title="capabilities only, every other module off",
        lsms=("capability",),
        needs_config=("SECURITY",),
        over="dac",
        note="the baseline: no module but capabilities (and what the kernel cannot switch off)",
    )
)
