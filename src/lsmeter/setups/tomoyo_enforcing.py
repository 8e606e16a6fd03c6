# SPDX-License-Identifier: GPL-2.0-or-later
"""TOMOYO enforcing a policy of few or many rules."""

from lsmeter.model import Setup
from lsmeter.setup import Values, name_with, with_parameters
from lsmeter.setups._tomoyo import DENIED_PROOFS, PARAMETERS, policy_setup


def _configure(values: Values) -> Setup:
    return policy_setup(
        name=name_with("tomoyo-enforcing", values, PARAMETERS),
        title=f"TOMOYO enforcing, further rules: {values['rules']}",
        mode="enforcing",
        values=values,
        proofs=DENIED_PROOFS,
        note="the rules allow all that the suite does: what is measured are decisions to allow",
    )


SETUP = with_parameters(PARAMETERS, _configure)
