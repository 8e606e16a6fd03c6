# SPDX-License-Identifier: GPL-2.0-or-later
"""Seccomp filters that allow all, of a number and a length that are asked for: a known cost."""

from lsmeter.catalogue.setups._definition import Parameter, SetupDefinition, Values
from lsmeter.core.model.setup import Expectation, Layer, Setup

_PARAMETERS = (
    Parameter("filters", "filters, each run on every system call", 1, (1, 16)),
    Parameter("length", "instructions of each filter", 10, (2, 2000)),
)


def _configure(values: Values) -> Setup:
    filters, length = values["filters"], values["length"]
    asked = {"filters": str(filters), "length": str(length)}
    why = "the cost follows from number and length"
    return Setup(
        name=values.name("seccomp", always=("filters", "length")),
        title=f"seccomp, filters: {filters}, instructions in each: {length}, all calls allowed",
        lsms=("capability",),
        expect=tuple(Expectation(f"seccomp.{key}", value, why) for key, value in asked.items()),
        guest=tuple((f"seccomp.{key}", value) for key, value in asked.items()),
        needs_config=("SECCOMP_FILTER",),
        layer=Layer.POLICY,
        live=True,
        every_call=True,
        note="a control: each filter looks at an argument, so that the kernel runs all of it at "
        "every system call",
    )


SETUPS = (SetupDefinition(_configure, _PARAMETERS),)
