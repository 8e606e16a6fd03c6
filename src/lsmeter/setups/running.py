# SPDX-License-Identifier: GPL-2.0-or-later
"""A machine as it runs: the baseline where nothing is booted."""

from lsmeter.model import Expectation, Setup

SETUPS = (
    Setup(
        name="running",
        title="the machine as it runs, with nothing added",
        lsms=None,
        expect=(Expectation("landlock.layers", "0", "nothing may be added"),),
        over="",
        layer=None,
        live=True,
        note="the modules and policies that the machine runs are in every number of it",
    ),
)
