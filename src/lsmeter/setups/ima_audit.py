# SPDX-License-Identifier: GPL-2.0-or-later
"""IMA writes the hashes of all files that are opened for reading to the audit log."""

from lsmeter.model import Setup
from lsmeter.setup import Values, with_parameters
from lsmeter.setups._integrity import AUDIT, RULES, ima


def _configure(values: Values) -> Setup:
    return ima("ima-audit", AUDIT.title, (AUDIT,), values)


SETUP = with_parameters((RULES,), _configure)
