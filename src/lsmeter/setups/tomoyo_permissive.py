# SPDX-License-Identifier: GPL-2.0-or-later
"""TOMOYO with a policy that decides and refuses nothing."""

from lsmeter.model import Setup
from lsmeter.setup import Values, name_with, with_parameters
from lsmeter.setups._tomoyo import PARAMETERS, allowed_proofs, policy_setup


def _configure(values: Values) -> Setup:
    return policy_setup(
        name=name_with("tomoyo-permissive", values, PARAMETERS),
        title=f"TOMOYO permissive, further rules: {values['rules']}",
        mode="permissive",
        values=values,
        proofs=allowed_proofs("permissive"),
        note="the rules allow all that the suite does, so that nothing is logged",
    )


SETUP = with_parameters(PARAMETERS, _configure)
