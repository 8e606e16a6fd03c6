# SPDX-License-Identifier: GPL-2.0-or-later
"""TOMOYO switched on with no policy: its hooks look up a domain that allows all."""

from lsmeter.model import Expectation, Setup
from lsmeter.setup import HOOKS_ONLY, SetupDefinition

SETUP = SetupDefinition(
    Setup(
        name="tomoyo",
        title="TOMOYO without a policy",
        lsms=("tomoyo",),
        expect=(Expectation("tomoyo.policy_loaded", "0", "this setup measures hooks only"),),
        needs_config=("SECURITY_TOMOYO",),
        note=HOOKS_ONLY,
    )
)
