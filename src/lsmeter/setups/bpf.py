# SPDX-License-Identifier: GPL-2.0-or-later
"""BPF LSM switched on with no program attached: what having it in the list costs."""

from lsmeter.model import Setup
from lsmeter.setup import SetupDefinition

SETUP = SetupDefinition(
    Setup(
        name="bpf",
        title="BPF LSM without programs",
        lsms=("bpf",),
        needs_config=("BPF_LSM",),
        note="no program attached: this measures hooking, not policy enforcement",
    )
)
