# SPDX-License-Identifier: GPL-2.0-or-later
"""AppArmor with profiles in force, of more or fewer rules, alone or stacked."""

from lsmeter.errors import UsageError
from lsmeter.model import Setup
from lsmeter.setup import Choice, Parameter, Values, name_with, with_parameters
from lsmeter.setups._apparmor import DENIED_PROOFS, confined_setup

_PARAMETERS = (
    Parameter("profiles", "profiles stacked upon each other", default=1, minimum=1, maximum=8),
    Choice(
        "rules",
        "further rules for paths in the first profile",
        default="0",
        choices=("0", "10", "100", "1000", "10000"),
    ),
    Choice(
        "place",
        "further rules for paths apart from those of the suite, or in the same directories",
        default="apart",
        choices=("apart", "near"),
    ),
)


# The image has this one in complain mode, too.
_SAME = "lsmeter-enforce"


def _first(rules: str, place: str) -> str:
    """Return the profile of the image that has so many further rules."""
    if rules == "0":
        return _SAME
    return f"lsmeter-{'near' if place == 'near' else 'rules'}-{rules}"


def _configure(values: Values) -> Setup:
    rules, place, count = values.word("rules"), values.word("place"), values["profiles"]
    if (place, rules) == ("near", "10000"):
        raise UsageError(
            "apparmor-enforcing: the image has no profile of 10000 rules near the suite's paths",
            hint="it takes minutes to compile; at most rules=1000,place=near",
        )
    stacked = (f"lsmeter-stack-{layer}" for layer in range(2, count + 1))
    where = " in the same directories" if place == "near" else ""
    return confined_setup(
        name=name_with("apparmor-enforcing", values, _PARAMETERS),
        title=f"AppArmor enforcing, profiles: {count}, further rules{where}: {rules}",
        profiles=(_first(rules, place), *stacked),
        mode="enforce",
        proofs=DENIED_PROOFS,
        over="apparmor-complain" if _first(rules, place) == _SAME and count == 1 else "apparmor",
        note="the profile allows all that the suite does: what is measured are decisions to allow",
    )


SETUP = with_parameters(_PARAMETERS, _configure)
