# SPDX-License-Identifier: GPL-2.0-or-later
"""IMA measures, appraises and audits at once, by one policy: any kernel with IMA takes one."""

from lsmeter.model import Setup
from lsmeter.setup import Values, with_parameters
from lsmeter.setups._integrity import APPRAISE, AUDIT, MEASURE, RULES, ima


def _configure(values: Values) -> Setup:
    return ima("ima", "IMA measuring, appraising and auditing", (MEASURE, APPRAISE, AUDIT), values)


SETUP = with_parameters((RULES,), _configure)
