# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel modules that a suite's benchmarks need, where a kernel has them as modules; frozen.

A guest loads all of its suite, whatever benchmarks it runs: what a module registers with the kernel
is in the way of others, and a benchmark's count may not depend on its company. What a kernel lacks
is skipped, and says so.
"""

from __future__ import annotations

from collections.abc import Mapping

SUITE_MODULES: Mapping[str, tuple[str, ...]] = {  # those that they need left out
    # A pair of devices between two namespaces, TUN devices, IPsec, the packet filter, SCTP.
    "net": (
        *("veth", "tun", "xfrm_user", "esp4", "authenc", "crypto_null"),
        *("nf_tables", "nft_objref", "sctp"),
    ),
    "syscall": ("overlay",),
}
