# SPDX-License-Identifier: GPL-2.0-or-later
"""SELinux with CIPSO: NetLabel puts sensitivity and categories into each IPv4 packet.

The type does not travel: who receives sees netlabel_peer_t with the sender's level.
"""

from lsmeter.model.setup import Expectation
from lsmeter.setups import _guest as guest
from lsmeter.setups._labelled import over_selinux, peers

_PEER = "system_u:object_r:netlabel_peer_t:s0"
_CIPSO = "134"  # IPOPT_CIPSO

SETUPS = (
    over_selinux(
        name="selinux-cipso",
        title="IPv4 packets labelled by CIPSO",
        step=guest.do("cipso", title="CIPSO set up"),
        expect=(
            *peers(_PEER, "loopback", "veth"),
            *(
                Expectation(f"net.option.{link}", _CIPSO, "each packet has to have the option")
                for link in ("loopback", "veth")
            ),
        ),
        needs=("NETLABEL",),
        modules=(),
        note="CIPSO passes on sensitivity and categories (tag 1); IPv6 has no label",
    ),
)
