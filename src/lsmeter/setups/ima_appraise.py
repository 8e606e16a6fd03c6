# SPDX-License-Identifier: GPL-2.0-or-later
"""IMA refuses files whose content does not fit the hash in their label."""

from lsmeter.model import Setup
from lsmeter.setup import Values, with_parameters
from lsmeter.setups._integrity import APPRAISE, RULES, ima


def _configure(values: Values) -> Setup:
    return ima("ima-appraise", APPRAISE.title, (APPRAISE,), values)


SETUP = with_parameters((RULES,), _configure)
