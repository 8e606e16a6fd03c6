# SPDX-License-Identifier: GPL-2.0-or-later
"""Smack with SECMARK: nftables mark every packet with a label, which is what the receiver checks.

The mark stands in for a label in the packet: nothing travels, and a peer has the label of the mark.
The worker's label is the ambient one, so that IPv4 packets have no CIPSO option as well.
"""

from dataclasses import replace

from lsmeter.catalogue.setups import _guest as guest
from lsmeter.catalogue.setups._labelled import NFTABLES, VETH, peers
from lsmeter.catalogue.setups.smack import ENFORCING, SMACKFS
from lsmeter.core.model.setup import Expectation, Layer, SetupFile

_MARK = "Marked"
_RULES = (f"{_MARK} Worker rwx", f"Worker {_MARK} rwx")
_WHY = "the mark has to be the only label of a packet"
_FILE = ENFORCING.files[0]

SETUPS = (
    replace(
        ENFORCING,
        name="smack-secmark",
        title="Smack with labelled files and rules, packets marked by nftables (SECMARK)",
        files=(SetupFile(_FILE.name, "\n".join((_FILE.text.rstrip(), *_RULES, ""))),),
        steps=(
            *ENFORCING.steps[:-1],
            guest.do("secmark", _MARK, title="SECMARK set up"),
            guest.do("write", f"{SMACKFS}/ambient", "Worker"),
            ENFORCING.steps[-1],
        ),
        expect=(
            *(item for item in ENFORCING.expect if item.fact != "smack.rules"),
            Expectation(
                "smack.rules",
                str(len(_FILE.text.split("\n")) - 1 + len(_RULES)),
                "every rule must be there",
            ),
            *peers(_MARK, "loopback", "veth"),
            *(Expectation(f"net.option.{link}", "none", _WHY) for link in ("loopback", "veth")),
            Expectation("net.secmark", "counted", "the rules have to see packets at both ends"),
        ),
        needs_config=(
            *ENFORCING.needs_config,
            "VETH",
            "NETWORK_SECMARK",
            "NF_TABLES",
            "NF_TABLES_INET",
        ),
        modules=(*VETH, *NFTABLES),
        over="smack-enforcing",
        layer=Layer.NETWORK,
        note="one rule for what comes in and one for what goes out, in both namespaces; "
        "marks stay on this host",
    ),
)
