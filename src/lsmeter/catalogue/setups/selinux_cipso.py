# SPDX-License-Identifier: GPL-2.0-or-later
"""SELinux with NetLabel: sensitivity and categories in each packet.

IPv4 has them by CIPSO, IPv6 by CALIPSO.
The type does not travel: who receives sees netlabel_peer_t with the sender's level.
"""

from lsmeter.catalogue.setups import _guest as guest
from lsmeter.catalogue.setups._labelled import over_selinux, peers
from lsmeter.core.model.setup import Expectation

_PEER = "system_u:object_r:netlabel_peer_t:s0"
_WHY = "each packet has to have the option"
# IPOPT_CIPSO and IPV6_TLV_CALIPSO.
_MADE = (("CIPSO", "IPv4", "134", "(tag 1); IPv6"), ("CALIPSO", "IPv6", "7", "hop by hop; IPv4"))

SETUPS = tuple(
    over_selinux(
        name=f"selinux-{by.lower()}",
        title=f"{packets} packets labelled by {by}",
        step=guest.do(by.lower(), title=f"{by} set up"),
        expect=(
            *peers(_PEER, "loopback", "veth"),
            *(Expectation(f"net.option.{link}", option, _WHY) for link in ("loopback", "veth")),
        ),
        needs=("NETLABEL", *(("IPV6",) if packets == "IPv6" else ())),
        modules=(),
        note=f"{by} passes on sensitivity and categories {other} has no label",
    )
    for by, packets, option, other in _MADE
)
