# SPDX-License-Identifier: GPL-2.0-or-later
"""SELinux with labelled IPsec between two network namespaces: the whole context travels.

On the loopback device the kernel uses no IPsec.
"""

from lsmeter.catalogue.setups import _guest as guest
from lsmeter.catalogue.setups._labelled import IPSEC, VETH, over_selinux, peers
from lsmeter.core.model.setup import Expectation, Setup

_DOMAIN = "unconfined_u:unconfined_r:unconfined_t:s0"
_POLICY = "system_u:object_r:ipsec_spd_t:s0"
_USED = Expectation("net.ipsec", "counted", "packets have to leave both ends protected")
_NEEDS = ("XFRM_USER", "INET_ESP", "INET6_ESP", "CRYPTO_NULL", "CRYPTO_AUTHENC")
_NULL = "ESP in transport mode with a cipher and a digest that do nothing"

_LABELLED = over_selinux(
    name="selinux-ipsec",
    title="labelled IPsec between two network namespaces",
    step=guest.do("ipsec", _DOMAIN, _POLICY, title="IPsec set up"),
    expect=(*peers("none", "loopback"), *peers(_DOMAIN, "veth"), _USED),
    needs=(*_NEEDS, "SECURITY_NETWORK_XFRM"),
    modules=IPSEC,
    note=f"{_NULL}: compare with `ipsec`; benchmarks with path=veth only",
)
_PLAIN = Setup(
    name="ipsec",
    title="IPsec without labels between two network namespaces",
    lsms=("capability",),
    expect=(*peers("none", "loopback", "veth"), _USED),
    needs_config=("SECURITY", "VETH", *_NEEDS),
    modules=(*VETH, *IPSEC),
    steps=(guest.do("ipsec"),),
    layer=_LABELLED.layer,
    note=f"{_NULL}, and no module but capabilities: what selinux-ipsec is to be compared with",
)

SETUPS = (_LABELLED, _PLAIN)
