# SPDX-License-Identifier: GPL-2.0-or-later
"""Modules that come with lsmeter: the example, and access checks that take a chosen time.

These are a module (kernel/tunable) and BPF programs, for kernels that cannot be rebuilt; both have
the least delay here.
"""

from lsmeter.catalogue.setups.bpf import ATTACHED
from lsmeter.core.model import Expectation, Setup

_OTHER = "other delays are other setups"
_NOTE = (
    "every call that consults the policy takes one reading of the clock; "
    "`lsmeter slopes` sets other delays"
)

SETUPS = (
    Setup(
        name="example",
        title="the example module of kernel/example-lsm",
        lsms=("example",),
        needs_config=("SECURITY_EXAMPLE",),
        note="no policy in force: it counts two permission checks and grants everything",
    ),
    Setup(
        name="tunable",
        title="tunable security module, labels and no policy",
        lsms=("tunable",),
        expect=(
            Expectation("tunable.inode_delay_ns", "0", _OTHER),
            Expectation("tunable.file_delay_ns", "0", _OTHER),
        ),
        needs_config=("SECURITY_TUNABLE",),
        note=_NOTE,
    ),
    Setup(
        name="tunable-bpf",
        title="waiting BPF programs on inode_permission and file_permission",
        lsms=("bpf",),
        expect=(Expectation("policy.control", "tunable-bpf", ATTACHED),),
        guest=(("bpf.tunable", "1"),),
        needs_config=("BPF_LSM", "DEBUG_INFO_BTF"),
        note=_NOTE,
    ),
)
