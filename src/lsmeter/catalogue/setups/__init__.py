# SPDX-License-Identifier: GPL-2.0-or-later
"""Security setups: a TOML file for each or for a family of them, found by its presence.

The files whose names begin with an underscore turn what a user says into a Setup: names with
parameters and stacks, and setup files of the user's own. See `lsmeter help adding-things`.
"""

from lsmeter.catalogue.setups._definition import definitions, for_command, one_each, parse_setup
from lsmeter.catalogue.setups._family import SetupDefinition
from lsmeter.catalogue.setups._file import read_setup
from lsmeter.catalogue.setups._parameters import Choice, Word

__all__ = [
    "Choice",
    "SetupDefinition",
    "Word",
    "definitions",
    "for_command",
    "one_each",
    "parse_setup",
    "read_setup",
]
