# SPDX-License-Identifier: GPL-2.0-or-later
"""Smack with its built-in floor label and no rule: no distribution's cloud kernel has it."""

from lsmeter.model import Expectation, Setup
from lsmeter.setup import HOOKS_ONLY, SetupDefinition

SETUP = SetupDefinition(
    Setup(
        name="smack",
        title="Smack without rules, everything labelled floor",
        lsms=("smack",),
        expect=(Expectation("smack.rules", "0", "this setup measures hooks only"),),
        needs_config=("SECURITY_SMACK",),
        note=HOOKS_ONLY + "; Smack checks its built-in rules all the same",
    )
)
