# SPDX-License-Identifier: GPL-2.0-or-later
"""Yama and lockdown: they restrict ptrace and what changes the kernel, and have no hook on files.

So they serve as controls.
"""

from lsmeter.core.model import Expectation, Setup

_ASKED = "the level that was asked for"

SETUPS = (
    Setup(
        name="yama",
        title="Yama with ptrace scope 1",
        lsms=("yama",),
        # Debian's kernels start with 0, others with 1; the kernel applies this before init.
        cmdline=("sysctl.kernel.yama.ptrace_scope=1",),
        expect=(Expectation("yama.ptrace_scope", "1", f"{_ASKED}; absent without Yama"),),
        needs_config=("SECURITY_YAMA",),
        note="Yama has no policy to load and no hook on files",
    ),
    Setup(
        name="lockdown",
        title="lockdown=integrity",
        lsms=("lockdown",),
        cmdline=("lockdown=integrity",),
        expect=(Expectation("lockdown", "integrity", _ASKED),),
        needs_config=("SECURITY_LOCKDOWN_LSM",),
        note="kernels that start lockdown early have the module, at level none, in every setup",
    ),
)
