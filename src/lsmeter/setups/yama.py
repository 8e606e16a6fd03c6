# SPDX-License-Identifier: GPL-2.0-or-later
"""Yama: ptrace restrictions; it has no file hooks, so it is a control of a kind."""

from lsmeter.model import Expectation, Setup
from lsmeter.setup import SetupDefinition

SETUP = SetupDefinition(
    Setup(
        name="yama",
        title="Yama, ptrace scope as the kernel sets it",
        lsms=("yama",),
        expect=(
            Expectation("yama.ptrace_scope", "1", "the module's default; absent without Yama"),
        ),
        needs_config=("SECURITY_YAMA",),
        note="Yama has no policy to load and no hook on files",
    )
)
