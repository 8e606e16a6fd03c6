# SPDX-License-Identifier: GPL-2.0-or-later
"""The module whose checks take a chosen time (kernel/tunable), here with the least delay."""

from lsmeter.model import Expectation, Setup
from lsmeter.setup import SetupDefinition

SETUP = SetupDefinition(
    Setup(
        name="tunable",
        title="tunable security module, labels and no policy",
        lsms=("tunable",),
        expect=(
            Expectation("tunable.inode_delay_ns", "0", "other delays are other setups"),
            Expectation("tunable.file_delay_ns", "0", "other delays are other setups"),
        ),
        needs_config=("SECURITY_TUNABLE",),
        note="every call that consults the policy takes one reading of the clock; "
        "`lsmeter slopes` sets other delays",
    )
)
