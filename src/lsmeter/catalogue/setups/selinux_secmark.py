# SPDX-License-Identifier: GPL-2.0-or-later
"""SELinux with SECMARK: nftables mark every packet with a context, which is checked."""

from lsmeter.catalogue.setups import _guest as guest
from lsmeter.catalogue.setups._labelled import NFTABLES, over_selinux, peers
from lsmeter.core.model.setup import Expectation

_CONTEXT = "system_u:object_r:client_packet_t:s0"

SETUPS = (
    over_selinux(
        name="selinux-secmark",
        title="packets marked by nftables (SECMARK)",
        step=guest.do("secmark", _CONTEXT, title="SECMARK set up"),
        expect=(
            *peers("none", "loopback", "veth"),
            Expectation("net.secmark", "counted", "the rules have to see packets at both ends"),
        ),
        needs=("NETWORK_SECMARK", "NF_TABLES", "NF_TABLES_INET"),
        modules=NFTABLES,
        note="one rule for what comes in and one for what goes out, in both namespaces; "
        "marks stay on this host, and no peer is labelled by them",
    ),
)
