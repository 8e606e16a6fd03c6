# SPDX-License-Identifier: GPL-2.0-or-later
"""Landlock: the probe restricts itself with rules that allow all that it does."""

from collections.abc import Mapping

from lsmeter.model import Expectation, Setup
from lsmeter.setup import Parameter, SetupDefinition, canonical_name

_NOTE = "the probe restricts itself by rules that allow all it does: hooks and rule look-up"


def _configure(values: Mapping[str, int]) -> Setup:
    layers, rules = values["layers"], values["rules"]
    default = (layers, rules) == (1, 1)
    return Setup(
        name="landlock" if default else canonical_name("landlock", values),
        title=f"Landlock, layers: {layers}, rules in each: {rules}, all operations allowed",
        lsms=("landlock",),
        expect=(
            Expectation("landlock.layers", str(layers), "every worker has to be restricted"),
            Expectation("landlock.rules", str(rules), "the look-up costs by the number of rules"),
        ),
        guest=(("landlock.layers", str(layers)), ("landlock.rules", str(rules))),
        needs_config=("SECURITY_LANDLOCK",),
        note=_NOTE,
    )


SETUP = SetupDefinition(
    setup=_configure({"layers": 1, "rules": 1}),
    parameters=(
        Parameter("layers", "stacked rulesets", default=1, minimum=1, maximum=16),
        Parameter("rules", "rules in each ruleset", default=1, minimum=1, maximum=1024),
    ),
    configure=_configure,
)
