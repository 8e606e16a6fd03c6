# SPDX-License-Identifier: GPL-2.0-or-later
"""EVM keeps an HMAC over a file's security labels, owner and mode."""

from lsmeter.setup import SetupDefinition
from lsmeter.setups._integrity import evm

SETUP = SetupDefinition(evm())
