# SPDX-License-Identifier: GPL-2.0-or-later
"""AppArmor with a profile that complains: it decides and logs, and refuses nothing."""

from lsmeter.setup import SetupDefinition
from lsmeter.setups._apparmor import COMPLAINT_PROOFS, confined_setup

SETUP = SetupDefinition(
    confined_setup(
        name="apparmor-complain",
        title="AppArmor with one profile in complain mode",
        profiles=("lsmeter-complain",),
        mode="complain",
        proofs=COMPLAINT_PROOFS,
        over="apparmor",
        note="the profile allows all that the suite does, so that nothing is logged",
    )
)
