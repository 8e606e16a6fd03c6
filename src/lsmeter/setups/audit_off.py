# SPDX-License-Identifier: GPL-2.0-or-later
"""Audit switched off for good: by default it waits for a daemon, and logs denials until then."""

from lsmeter.model import Expectation, Setup
from lsmeter.policy import Layer
from lsmeter.setup import SetupDefinition

SETUP = SetupDefinition(
    Setup(
        name="audit-off",
        title="audit off (audit=0)",
        lsms=("capability",),
        cmdline=("audit=0",),
        expect=(Expectation("audit.enabled", "none", "it can be switched on otherwise"),),
        needs_config=("AUDIT",),
        layer=Layer.AUDIT,
        note="modules cannot log what they deny: no stack with a policy whose denials are proved",
    )
)
