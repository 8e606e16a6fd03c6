# SPDX-License-Identifier: GPL-2.0-or-later
"""BPF programs whose checks take a chosen time, for kernels that cannot be rebuilt."""

from lsmeter.model import Expectation, Setup
from lsmeter.setup import SetupDefinition

SETUP = SetupDefinition(
    Setup(
        name="tunable-bpf",
        title="waiting BPF programs on inode_permission and file_permission",
        lsms=("bpf",),
        expect=(
            Expectation(
                "policy.control",
                "tunable-bpf",
                "the BPF programs must be attached, and called by the kernel",
            ),
        ),
        guest=(("bpf.tunable", "1"),),
        needs_config=("BPF_LSM", "DEBUG_INFO_BTF"),
        note="every call that consults the policy takes one reading of the clock; "
        "`lsmeter slopes` sets other delays",
    )
)
