# SPDX-License-Identifier: GPL-2.0-or-later
"""The probe spins at the end of readings of time: a cost that is known, for `selftest timed`."""

from lsmeter.catalogue.setups._definition import Parameter, SetupDefinition, Values
from lsmeter.core.model.setup import Expectation, Setup

_PARAMETERS = (
    Parameter("ns", "nanoseconds that it spins at the end of a reading", 100, (1, 1_000_000)),
    Parameter("every", "readings of which one has it", 1, (1, 1000)),
)


def _configure(values: Values) -> Setup:
    asked = {"ns": str(values["ns"]), "every": str(values["every"])}
    often = "each reading" if values["every"] == 1 else f"one of {values['every']} readings"
    why = "what is spun is the whole difference"
    return Setup(
        name=values.name("spin", always=("ns",)),
        title=f"the probe spins {values['ns']} ns at the end of {often}",
        lsms=("capability",),
        expect=tuple(Expectation(f"spin.{key}", value, why) for key, value in asked.items()),
        guest=tuple((f"spin.{key}", value) for key, value in asked.items()),
        layer=None,
        live=True,
        every_call=True,
        note="for the selftest: no security module costs this, and the probe says what it spun; "
        "only readings of time have it",
    )


SETUPS = (SetupDefinition(_configure, _PARAMETERS),)
