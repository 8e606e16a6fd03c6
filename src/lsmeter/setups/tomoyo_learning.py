# SPDX-License-Identifier: GPL-2.0-or-later
"""TOMOYO learning a policy: what no rule allows is allowed, and becomes a rule."""

from lsmeter.model import Setup
from lsmeter.setup import Choice, Values, name_with, with_parameters
from lsmeter.setups import _tomoyo
from lsmeter.setups._tomoyo import allowed_proofs, policy_setup

_PARAMETERS = (
    *_tomoyo.PARAMETERS,
    Choice(
        "learned",
        "all that the suite does has rules already, or nothing has",
        default="all",
        choices=("all", "nothing"),
    ),
)
_NOTES = {
    "all": "the rules allow all that the suite does: nothing is left to learn",
    "nothing": "each new name adds a rule, up to 2048 of them, so that later samples cost more",
}


def _configure(values: Values) -> Setup:
    learned = values.word("learned")
    return policy_setup(
        name=name_with("tomoyo-learning", values, _PARAMETERS),
        title=f"TOMOYO learning, learned before: {learned}, further rules: {values['rules']}",
        mode="learning",
        values=values,
        proofs=allowed_proofs("learning"),
        note=_NOTES[learned],
        needed=_tomoyo.NEEDED if learned == "all" else (),
    )


SETUP = with_parameters(_PARAMETERS, _configure)
