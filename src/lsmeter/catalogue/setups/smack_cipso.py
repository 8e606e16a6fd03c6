# SPDX-License-Identifier: GPL-2.0-or-later
"""Smack's labels in packets, and the same without: Smack labels IPv4 by CIPSO of its own accord.

A label other than the ambient one travels as categories, so the network of smack-enforcing is
labelled already; smack-ambient makes the worker's label the ambient one.
"""

from dataclasses import replace

from lsmeter.catalogue.setups import _guest as guest
from lsmeter.catalogue.setups._labelled import peers
from lsmeter.catalogue.setups.smack import ENFORCING, SMACKFS
from lsmeter.core.model.setup import Expectation, Layer

_WHY = "the worker's label has to travel as CIPSO exactly where it is not the ambient one"
_MADE = (("smack-cipso", "134", "labelled by CIPSO"), ("smack-ambient", "none", "unlabelled"))

SETUPS = tuple(
    replace(
        ENFORCING,
        name=name,
        title=f"Smack with labelled files and rules, IPv4 packets {what}",
        steps=(
            guest.do("network"),
            *ENFORCING.steps[:-1],
            *((guest.do("write", f"{SMACKFS}/ambient", "Worker"),) if option == "none" else ()),
            ENFORCING.steps[-1],
        ),
        expect=(
            *ENFORCING.expect,
            *peers("Worker", "loopback"),
            Expectation("net.option.loopback", option, _WHY),
        ),
        needs_config=(*ENFORCING.needs_config, "NETLABEL"),
        modules=("veth",),
        over="smack-enforcing",
        layer=Layer.NETWORK,
    )
    for name, option, what in _MADE
)
