# SPDX-License-Identifier: GPL-2.0-or-later
"""Lockdown in integrity mode: refuses what would let root change the running kernel."""

from lsmeter.model import Expectation, Setup
from lsmeter.setup import SetupDefinition

SETUP = SetupDefinition(
    Setup(
        name="lockdown",
        title="lockdown=integrity",
        lsms=("lockdown",),
        cmdline=("lockdown=integrity",),
        expect=(Expectation("lockdown", "integrity", "the level that was asked for"),),
        needs_config=("SECURITY_LOCKDOWN_LSM",),
        note="kernels that start lockdown early have the module, at level none, in every setup",
    )
)
