# SPDX-License-Identifier: GPL-2.0-or-later
"""Audit switched on without a rule: every system call is entered and left the long way."""

from lsmeter.model import Expectation, Setup
from lsmeter.policy import Layer
from lsmeter.setup import SetupDefinition

SETUP = SetupDefinition(
    Setup(
        name="audit",
        title="audit on, no rules",
        lsms=("capability",),
        cmdline=("audit=1",),
        expect=(
            Expectation("audit.enabled", "1", "it is what is measured"),
            Expectation("audit.rules", "0", "rules are another setup"),
        ),
        needs_config=("AUDIT", "AUDITSYSCALL"),
        layer=Layer.AUDIT,
        note="audit is in every system call: getppid and the like cost more as well",
    )
)
