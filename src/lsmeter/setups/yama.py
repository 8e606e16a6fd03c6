# SPDX-License-Identifier: GPL-2.0-or-later
"""Yama: ptrace restrictions; it has no file hooks, so it is a control of a kind."""

from lsmeter.model import Expectation, Setup
from lsmeter.setup import SetupDefinition

SETUP = SetupDefinition(
    Setup(
        name="yama",
        title="Yama with ptrace scope 1",
        lsms=("yama",),
        # Debian's kernels start with 0, others with 1; the kernel applies this before init.
        cmdline=("sysctl.kernel.yama.ptrace_scope=1",),
        expect=(
            Expectation(
                "yama.ptrace_scope", "1", "the level that was asked for; absent without Yama"
            ),
        ),
        needs_config=("SECURITY_YAMA",),
        note="Yama has no policy to load and no hook on files",
    )
)
