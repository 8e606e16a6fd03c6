# SPDX-License-Identifier: GPL-2.0-or-later
"""IMA keeps a list of the hashes of all files that are opened for reading."""

from lsmeter.model import Setup
from lsmeter.setup import Values, with_parameters
from lsmeter.setups._integrity import MEASURE, RULES, ima


def _configure(values: Values) -> Setup:
    return ima("ima-measure", MEASURE.title, (MEASURE,), values)


SETUP = with_parameters((RULES,), _configure)
