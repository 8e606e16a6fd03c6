# SPDX-License-Identifier: GPL-2.0-or-later
"""BPF LSM with a program that grants at once on each hook that file operations reach."""

from lsmeter.model import Expectation, Setup
from lsmeter.setup import SetupDefinition

SETUP = SetupDefinition(
    Setup(
        name="bpf-empty",
        title="an empty BPF program on each hook of file operations",
        lsms=("bpf",),
        expect=(
            Expectation(
                "bpf.empty", "called", "the programs must be attached, and called by the kernel"
            ),
        ),
        guest=(("bpf.empty", "1"),),
        needs_config=("BPF_LSM", "DEBUG_INFO_BTF"),
        over="bpf",
        note="programs that decide nothing: what calling them costs, not policy enforcement",
    )
)
