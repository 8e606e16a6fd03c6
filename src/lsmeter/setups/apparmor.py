# SPDX-License-Identifier: GPL-2.0-or-later
"""AppArmor switched on with no profile: every task is unconfined."""

from lsmeter.model import Expectation, Setup
from lsmeter.setup import HOOKS_ONLY, SetupDefinition

SETUP = SetupDefinition(
    Setup(
        name="apparmor",
        title="AppArmor without a profile, every task unconfined",
        lsms=("apparmor",),
        cmdline=("apparmor=1",),
        expect=(
            Expectation("apparmor.enabled", "Y", "the module can be off although it is listed"),
            Expectation("apparmor.profiles", "0", "this setup measures hooks only"),
        ),
        needs_config=("SECURITY_APPARMOR",),
        note=HOOKS_ONLY,
    )
)
