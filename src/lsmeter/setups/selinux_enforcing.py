# SPDX-License-Identifier: GPL-2.0-or-later
"""SELinux with a policy that is enforced."""

from functools import partial

from lsmeter.setup import with_parameters
from lsmeter.setups._selinux import PARAMETERS, setup

SETUP = with_parameters(PARAMETERS, partial(setup, enforcing=True))
