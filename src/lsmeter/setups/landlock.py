# SPDX-License-Identifier: GPL-2.0-or-later
"""Landlock: the probe restricts itself with rules that allow all that it does."""

from lsmeter.model import Expectation, Setup
from lsmeter.policy import TRY, WORK, WORK_DIRECTORY, Layer, Proof, Step
from lsmeter.setup import Parameter, SetupDefinition, Values, canonical_name

_NOTE = "the probe restricts itself by rules that allow all it does: hooks and rule look-up"
_INSIDE = f"{WORK_DIRECTORY}/inside"

_PROOFS = (
    Proof("read-outside", "read", "/proc/version", denied=True),
    Proof("create-outside", "create", "/outside", denied=True),
    Proof("read-inside", "read", _INSIDE, denied=False),
    Proof("write-inside", "write", _INSIDE, denied=False),
)


def _configure(values: Values) -> Setup:
    layers, rules, depth = values["layers"], values["rules"], values["depth"]
    return Setup(
        name=_name(layers, rules, depth),
        title=f"Landlock, layers: {layers}, rules in each: {rules}"
        + (f", rule {depth} directories higher" if depth else "")
        + ", all operations allowed",
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
        steps=(WORK, Step("file", (_INSIDE, "x")), TRY),
        proofs=_PROOFS,
        layer=Layer.POLICY,
        note=_NOTE,
    )


def _name(layers: int, rules: int, depth: int) -> str:
    if (layers, rules, depth) == (1, 1, 0):
        return "landlock"
    values = {"layers": layers, "rules": rules}
    return canonical_name("landlock", {**values, "depth": depth} if depth else values)


SETUP = SetupDefinition(
    setup=_configure(Values({"layers": 1, "rules": 1, "depth": 0})),
    parameters=(
        Parameter("layers", "stacked rulesets", default=1, minimum=1, maximum=16),
        Parameter("rules", "rules in each ruleset", default=1, minimum=1, maximum=1024),
        Parameter(
            "depth",
            "directories between the working directory and the rule's",
            default=0,
            minimum=0,
            maximum=16,
        ),
    ),
    configure=_configure,
)
