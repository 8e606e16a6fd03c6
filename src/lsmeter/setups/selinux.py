# SPDX-License-Identifier: GPL-2.0-or-later
"""SELinux switched on with no policy: every hook is called, and finds all allowed.

Most hooks ask the AVC without a policy too. It holds what the security server says as long as there
is none: that everything is allowed (security/selinux/ss/services.c, security_compute_av).
"""

from lsmeter.model import Expectation, Setup
from lsmeter.policy import StateFile
from lsmeter.setup import HOOKS_ONLY, SetupDefinition

SETUP = SetupDefinition(
    Setup(
        name="selinux",
        title="SELinux without a policy",
        lsms=("selinux",),
        # Debian's kernels have the parameter only up to 6.1; where it is unknown it is ignored.
        cmdline=("selinux=1", "enforcing=0"),
        expect=(
            Expectation("selinux.enforce", "0", "a policy that is enforced is another setup"),
            Expectation("selinux.policy_loaded", "0", "this setup measures hooks only"),
        ),
        needs_config=("SECURITY_SELINUX",),
        counters=(StateFile("avc", "/sys/fs/selinux/avc/cache_stats"),),
        note=f"{HOOKS_ONLY}; hooks ask the access vector cache all the same",
    )
)
