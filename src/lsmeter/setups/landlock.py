# SPDX-License-Identifier: GPL-2.0-or-later
"""Landlock: the probe restricts itself with rules that allow all that it does."""

from lsmeter.model.setup import Expectation, Layer, Setup
from lsmeter.setups import _guest as guest
from lsmeter.setups._definition import Parameter, SetupDefinition, Values

_INSIDE = f"{guest.WORK_DIRECTORY}/inside"
_PARAMETERS = (
    Parameter("layers", "stacked rulesets", 1, (1, 16)),
    Parameter("rules", "rules in each ruleset", 1, (1, 1024)),
    Parameter("depth", "directories between the working directory and the rule's", 0, (0, 16)),
)


def _configure(values: Values) -> Setup:
    layers, rules, depth = values["layers"], values["rules"], values["depth"]
    higher = f", rule {depth} directories higher" if depth else ""
    return Setup(
        name=values.name("landlock", always=("layers", "rules")),
        title=f"Landlock, layers: {layers}, rules in each: {rules}{higher}, all operations allowed",
        lsms=("landlock",),
        expect=(
            Expectation("landlock.layers", str(layers), "every worker has to be restricted"),
            Expectation("landlock.rules", str(rules), "the look-up costs by the number of rules"),
            Expectation("landlock.depth", str(depth), "the look-up goes up to the rule"),
        ),
        guest=(
            ("landlock.layers", str(layers)),
            ("landlock.rules", str(rules)),
            *((("landlock.depth", str(depth)),) if depth else ()),
        ),
        needs_config=("SECURITY_LANDLOCK",),
        steps=(guest.WORK, guest.file(_INSIDE), guest.TRY),
        checks=(
            guest.denies("read-outside", "read", "/proc/version"),
            guest.denies("create-outside", "create", "/outside"),
            guest.allows("read-inside", "read", _INSIDE),
            guest.allows("write-inside", "write", _INSIDE),
        ),
        layer=Layer.POLICY,
        note="the probe restricts itself by rules that allow all it does: hooks and rule look-up",
    )


SETUPS = (SetupDefinition(_configure, _PARAMETERS),)
