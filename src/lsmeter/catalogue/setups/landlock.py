# SPDX-License-Identifier: GPL-2.0-or-later
"""Landlock: the probe restricts itself with rules that allow all that it does."""

from lsmeter.catalogue.setups import _guest as guest
from lsmeter.catalogue.setups._definition import Parameter, SetupDefinition, Values
from lsmeter.core.model.setup import Expectation, Layer, Setup

_INSIDE = f"{guest.WORK_DIRECTORY}/inside"
_PARAMETERS = (
    Parameter("layers", "stacked rulesets", 1, (1, 16)),
    Parameter("rules", "rules in each ruleset", 1, (1, 1024)),
    Parameter("depth", "directories between the working directory and the rule's", 0, (0, 16)),
)


# What is asked of the guest, and why it must report the same.
_ASKED = {
    "layers": "every worker has to be restricted",
    "rules": "the look-up costs by the number of rules",
    "depth": "the look-up goes up to the rule",
}


def _configure(values: Values) -> Setup:
    layers, rules, depth = values["layers"], values["rules"], values["depth"]
    higher = f", rule {depth} directories higher" if depth else ""
    asked = {name: (f"landlock.{name}", str(values[name])) for name in _ASKED}
    return Setup(
        name=values.name("landlock", always=("layers", "rules")),
        title=f"Landlock, layers: {layers}, rules in each: {rules}{higher}, all operations allowed",
        lsms=("landlock",),
        expect=tuple(Expectation(*asked[name], why) for name, why in _ASKED.items()),
        guest=tuple(pair for name, pair in asked.items() if depth or name != "depth"),
        needs_config=("SECURITY_LANDLOCK",),
        steps=(guest.WORK, guest.do("file", _INSIDE, "x"), guest.TRY),
        checks=(
            guest.denies("read-outside", "read", "/proc/version"),
            guest.denies("create-outside", "create", "/outside"),
            guest.allows("read-inside", "read", _INSIDE),
            guest.allows("write-inside", "write", _INSIDE),
        ),
        layer=Layer.POLICY,
        live=True,
        note="the probe restricts itself by rules that allow all it does: hooks and rule look-up",
    )


SETUPS = (SetupDefinition(_configure, _PARAMETERS),)
