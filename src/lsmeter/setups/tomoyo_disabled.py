# SPDX-License-Identifier: GPL-2.0-or-later
"""TOMOYO with a policy in force whose profile is switched off: the domain is asked for its mode."""

from lsmeter.model import Setup
from lsmeter.policy import SECRET, Proof
from lsmeter.setup import Values, name_with, with_parameters
from lsmeter.setups._tomoyo import PARAMETERS, policy_setup


def _configure(values: Values) -> Setup:
    return policy_setup(
        name=name_with("tomoyo-disabled", values, PARAMETERS),
        title=f"TOMOYO with a policy in force, disabled, further rules: {values['rules']}",
        mode="disabled",
        values=values,
        proofs=(Proof("read-secret", "read", SECRET, denied=False),),
        note="no rule is looked at: only the mode of the worker's domain",
    )


SETUP = with_parameters(PARAMETERS, _configure)
