# SPDX-License-Identifier: GPL-2.0-or-later
"""What other setups are compared with: no module at all, capabilities alone, the kernel's default.

dac is the true baseline of the published study; distribution has no policy loaded.
"""

from lsmeter.catalogue.setups._definition import HOOKS_ONLY
from lsmeter.core.model import Setup

SETUPS = (
    Setup(
        name="dac",
        title="no LSM at all, a kernel with CONFIG_SECURITY=n",
        lsms=(),
        over="",
        layer=None,
        note="another kernel image than the other setups': same source, CONFIG_SECURITY=n",
    ),
    Setup(
        name="capability",
        title="capabilities only, every other module off",
        lsms=("capability",),
        needs_config=("SECURITY",),
        over="dac",
        note="the baseline: no module but capabilities (and what the kernel cannot switch off)",
    ),
    Setup(
        name="distribution",
        title="the kernel's own default stack (CONFIG_LSM)",
        lsms=None,
        needs_config=("SECURITY",),
        note=HOOKS_ONLY,
    ),
)
