# SPDX-License-Identifier: GPL-2.0-or-later
"""What setups with labelled packets have in common: SELinux's policy in force, and the network.

As soon as packets carry labels the kernel checks devices, addresses and peers, and Debian's policy
grants none of it: these setups load it with rules of our own (lsmeter-network.cil of the image).
The labels have to be there before the policy is enforced: making them is not what is measured.
"""

from dataclasses import replace

from lsmeter.catalogue.setups.selinux import network_enforcing
from lsmeter.core.model.setup import Expectation, Layer, Setup, Step

ENFORCING = network_enforcing()

VETH = ("veth",)
NFTABLES = ("nf_tables", "nft_objref")
IPSEC = ("xfrm_user", "esp4", "esp6", "authenc", "crypto_null")


def peers(label: str, *links: str) -> tuple[Expectation, ...]:
    """Return that the other end of a connection on each of these links has this label."""
    why = "packets have to carry labels, or none where nothing gives them one"
    return tuple(Expectation(f"net.peer.{link}", label, why) for link in links)


def over_selinux(
    *,
    name: str,
    title: str,
    step: Step,
    expect: tuple[Expectation, ...],
    needs: tuple[str, ...],
    modules: tuple[str, ...],
    note: str,
) -> Setup:
    """Return Debian's policy enforced, with a network that a step labels."""
    *before, enforce = ENFORCING.steps
    return replace(
        ENFORCING,
        name=name,
        title=f"SELinux enforcing, {title}",
        steps=(*before, step, enforce),
        expect=(*ENFORCING.expect, *expect),
        needs_config=(*ENFORCING.needs_config, "VETH", *needs),
        modules=(*VETH, *modules),
        policies=(),
        over="selinux-enforcing",
        layer=Layer.NETWORK,
        note=note,
    )
